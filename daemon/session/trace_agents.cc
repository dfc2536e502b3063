// What the agents of a trace's processes record, and the channels that make way for it.
#include <algorithm>
#include <utility>

#include "daemon/session/after.h"
#include "daemon/session/trace.h"

namespace profd::session {

void Trace::StartAgents(std::function<void()> done) {
  setup_.recordings->OnVerdicts([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->JudgeAgents();
  });
  setup_.recordings->OnLateKinds([weak = weak_from_this()](pid_t target, std::function<void()> go_on) {
    if (const auto self = weak.lock()) {
      self->MakeWay(target, std::move(go_on));
    } else {
      go_on();
    }
  });
  const auto judge = [self = shared_from_this(), done = std::move(done)] {
    self->JudgeAgents();
    for (const base::Status& refusal : self->setup_.recordings->Refusals()) {
      if (self->refused_.ok()) self->refused_ = refusal;
      if (self->held_.ok() && IsHeld(refusal.code())) self->held_ = refusal;
    }
    done();
  };
  setup_.recordings->Move({setup_.id, writer_->drain},
                          [recordings = setup_.recordings, judge] { recordings->WhenBegun(judge); });
}

void Trace::JudgeAgents() {
  if (setup_.recordings == nullptr) return;  // it is being discarded
  for (const AgentStart& start : setup_.plan.agents) {
    for (const size_t index : start.kind_index) {
      if (index == kNoKind) continue;
      KindState& kind = setup_.plan.kinds[index];
      const AgentVerdict verdict = setup_.recordings->VerdictOf(start.pid, kind.kind);
      kind.verdict = verdict.verdict;
      kind.reason = verdict.reason;
    }
  }
}

// A driver's channel has one holder: the process's own library opens it as soon as its kinds begin.
void Trace::MakeWay(pid_t target, std::function<void()> go_on) {
  std::vector<Channel*> leaving;
  for (Channel& channel : channels_) {
    const auto& to = channel.start.gives_way;
    if (channel.subscribed && std::ranges::find(to, target) != to.end()) leaving.push_back(&channel);
  }
  const auto one_left = After(leaving.size(), std::move(go_on));
  for (Channel* channel : leaving) {
    channel->reason = "made way for agent-kernel of process " + std::to_string(target) + ", which says more";
    StopChannel(*channel, one_left);
  }
  Settle();
}

// In a later directory of the session: the kinds it makes way for record already.
bool Trace::HasGivenWay(const Channel& channel) const {
  return setup_.recordings != nullptr && std::ranges::any_of(channel.start.gives_way, [this](pid_t target) {
           return setup_.recordings->VerdictOf(target, "agent-kernel").verdict == Verdict::kStarted;
         });
}

}  // namespace profd::session
