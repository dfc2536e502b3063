// What the agents of a trace's processes record, and the channels that make way for it.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "daemon/base/after.h"
#include "daemon/session/life/trace.h"

namespace profd::session {

void Trace::StartAgents(std::function<void()> done) {
  setup_.recordings->OnVerdicts([weak = weak_from_this()](bool settled) {
    const auto self = weak.lock();
    if (self) self->JudgeAgents();
    if (self && settled && self->writer_ && self->sealed_.state.empty())
      self->RefreshManifest(self->setup_.manifest.degraded);
  });
  setup_.recordings->OnLateKinds(
      [weak = weak_from_this()](pid_t target, std::function<void()> go_on) {
        if (const auto self = weak.lock()) {
          self->MakeWay(target, std::move(go_on));
        } else {
          go_on();
        }
      },
      [weak = weak_from_this()](pid_t target) {
        if (const auto self = weak.lock()) self->TakeBack(target);
      });
  const auto judge = [self = shared_from_this(), done = std::move(done)] {
    self->JudgeAgents();
    for (const base::Status& refusal : self->setup_.recordings->Refusals()) {
      if (self->refused_.ok()) self->refused_ = refusal;
      if (self->held_.ok() && IsHeld(refusal.code())) self->held_ = refusal;
    }
    done();
  };
  setup_.recordings->Move({setup_.id, writer_->drain, std::strtod(host_facts_.cpu_mhz.c_str(), nullptr)},
                          [recordings = setup_.recordings, judge] { recordings->WhenBegun(judge); });
}

void Trace::JudgeAgents() {
  if (setup_.recordings == nullptr) return;  // it is being discarded
  for (const AgentStart& start : setup_.plan->agents) {
    for (const size_t index : start.kind_index) {
      if (index == kNoKind) continue;
      KindState& kind = progress_[index];
      const AgentVerdict verdict = setup_.recordings->VerdictOf(start.pid, kind.kind);
      kind.verdict = verdict.verdict;
      kind.reason = verdict.reason;
      // How it begins may be known from the plan on.
      const KindState& planned = setup_.plan->kinds[index];
      const bool as_planned = kind.verdict == Verdict::kStarted && planned.verdict == Verdict::kStarted;
      if (as_planned && kind.reason.empty()) kind.reason = planned.reason;
    }
  }
}

// A driver's channel has one holder: the process's own library opens it as soon as its kinds begin.
void Trace::MakeWay(pid_t target, std::function<void()> go_on) {
  made_way_for_.insert(target);
  std::vector<Channel*> leaving;
  for (Channel& channel : channels_) {
    const auto& to = channel.start.gives_way;
    const bool is_open = channel.subscribed || channel.starting;
    if (is_open && std::ranges::find(to, target) != to.end()) leaving.push_back(&channel);
  }
  const auto one_left = base::After(leaving.size(), std::move(go_on));
  for (Channel* channel : leaving) {
    const auto leave = [self = shared_from_this(), channel, target, one_left] {
      if (!channel->subscribed) return one_left();  // it never began
      channel->reason =
          "made way for agent-kernel of process " + std::to_string(target) + ", which says more";
      self->StopChannel(*channel, one_left);
    };
    if (channel->starting) {
      channel->on_answer.emplace_back(leave);
    } else {
      leave();
    }
  }
  Settle();
}

// The process records no kernels after all: its library is missing, or somebody else's.
void Trace::TakeBack(pid_t target) {
  if (made_way_for_.erase(target) == 0 || sources_to_ns_ != 0) return;
  for (Channel& channel : channels_) {
    const auto& to = channel.start.gives_way;
    if (std::ranges::find(to, target) == to.end() || HasGivenWay(channel)) continue;
    if (channel.subscribed || channel.starting) continue;
    const auto settle = [self = shared_from_this()] { self->Settle(); };
    if (!channel.leaving) {
      StartChannel(channel, settle);
      continue;
    }
    channel.on_left.emplace_back([self = shared_from_this(), &channel, settle] {
      if (self->sources_to_ns_ == 0) self->StartChannel(channel, settle);
    });
  }
}

// Before it has begun: of the session's later directories, too, in which the agent records already.
bool Trace::HasGivenWay(const Channel& channel) const {
  return setup_.recordings != nullptr && std::ranges::any_of(channel.start.gives_way, [this](pid_t target) {
           return made_way_for_.contains(target) ||
                  setup_.recordings->VerdictOf(target, format::Kind::kAgentKernel).verdict ==
                      Verdict::kStarted;
         });
}

}  // namespace profd::session
