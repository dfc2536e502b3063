// host-pthread: the pthread calls of the session's processes, by breakpoints of the kernel in their own C
// library. Each costs the thread that makes it microseconds, so those that are called most rest when all
// together are called too often.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "daemon/host/probes/probe.h"
#include "daemon/host/probes/row_text.h"
#include "daemon/host/pthread_hooks.h"
#include "format/os_call_line.h"

namespace profd::host {

namespace {

using base::Status;

// Of a second at most, before a group of functions rests.
constexpr uint64_t kMostCallsPerSecond = 10'000;
constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr uint64_t kRestNs = 9 * kSecondNs;
constexpr uint64_t kFirstLimitNs = 100'000'000;
constexpr size_t kMaxDepth = 16, kMaxThreads = 1 << 16, kMaxAddresses = 1 << 20;

class PthreadProbe final : public Probe {
 public:
  PthreadProbe(const ProbeOptions& options, const ProbeContext& context)
      : family_(*context.family),
        usual_pid_(context.targets.front()),
        stream_(context.output.AddStream("host", std::string(format::kPthreadCallFile), options.stats)) {
    const Status status = Open();
    if (options.outcome) {
      options.outcome->status = status;
      options.outcome->note =
          "where more than " + std::to_string(kMostCallsPerSecond) +
          " calls a second are made, those of locks or of signals, whichever are more, are "
          "watched for a part of the time; of the others a lower bound is counted as lost";
    }
    if (!status.ok()) hooks_.reset();
  }

  void Sample(const Tick& tick) override {
    if (!hooks_) return;
    now_ = tick;
    TakeInMembers();
    Drain();
    Govern();
  }
  // The ring has kept what was to be had.
  void Miss(const Tick&, uint64_t, uint64_t) override {}
  void Finish(const Tick& tick) override {
    if (!hooks_) return;
    now_ = tick;
    Drain();
    for (Group& group : groups_)
      if (group.resting_since_ns != 0) Estimate(group);
    hooks_.reset();
  }

 private:
  struct Function {
    std::string name;
    PthreadGroup group{};
  };
  struct Group {
    uint64_t calls = 0;             // in this second
    uint64_t resting_since_ns = 0;  // 0: it does not rest
    uint64_t estimated_to_ns = 0;   // while it rests
    double calls_per_ns = 0;        // before it rested
  };
  struct Frame {
    uint64_t stack, begin_ns;
    const Function* function;
  };

  Status Open() {
    auto uprobes = Uprobes::Claim();
    if (!uprobes.ok()) return uprobes.status();
    hooks_.emplace(std::move(uprobes).value());
    lost_before_ = hooks_->uprobes().lost();
    now_ = {.number = 0, .raw_ns = base::RawNs(), .mono_ns = base::MonotonicNs()};
    drained_at_ns_ = second_begin_ns_ = now_.raw_ns;
    TakeInMembers();
    const Status first = hooks_->First(kFirstLimitNs);
    return first.code() == base::Code::kDeadlineExceeded ? Status::Ok() : first;
  }

  // Once a second also those that had no such library: it may have come.
  void TakeInMembers() {
    const bool again = now_.raw_ns - asked_at_ns_ >= kSecondNs;
    if (again) {
      asked_at_ns_ = now_.raw_ns;
      asked_.clear();
    }
    for (const auto& process : family_.members()) {
      if (process->running() && asked_.insert(process->pid()).second) hooks_->TakeIn(process->pid());
    }
  }

  void Drain() {
    for (PthreadFunction& found : hooks_->Found()) {
      if (functions_.size() < kMaxAddresses)
        functions_[found.address] = {.name = std::move(found.name), .group = found.group};
    }
    const uint64_t begin_ns = base::RawNs();
    CompareClocks();
    hooks_->uprobes().Drain([this](const UprobeHit& hit) { Take(hit); });
    if (const uint64_t lost = Lost(); lost > 0)
      stream_.Lose(format::Loss::Where::kSampler, drained_at_ns_, begin_ns, lost);
    drained_at_ns_ = begin_ns;
  }

  // A call is lost when its return was, or when its begin was and the return came. Other returns without a
  // begin are those that older kernels tell of more than once.
  uint64_t Lost() {
    const Uprobes::Lost lost = hooks_->uprobes().lost(), before = std::exchange(lost_before_, lost);
    lost_begins_ += lost.begins - before.begins;
    const uint64_t of_lost_begins = std::min(std::exchange(strange_returns_, 0), lost_begins_);
    lost_begins_ -= of_lost_begins;
    return lost.returns - before.returns + of_lost_begins;
  }

  // The kernel's programs know no other clock than CLOCK_MONOTONIC.
  void CompareClocks() {
    uint64_t least_ns = UINT64_MAX;
    for (int i = 0; i < 3; ++i) {
      const uint64_t before_ns = base::MonotonicNs(), raw_ns = base::RawNs(), after_ns = base::MonotonicNs();
      if (after_ns - before_ns >= least_ns) continue;
      least_ns = after_ns - before_ns;
      raw_ahead_ns_ = raw_ns - before_ns - least_ns / 2;
    }
  }

  void Take(const UprobeHit& hit) {
    if (open_.size() == kMaxThreads) {  // most of them are gone
      for (const auto& [tid, frames] : open_) lost_begins_ += frames.size();
      open_.clear();
    }
    std::vector<Frame>& frames = open_[hit.tid];
    // Frames below this one were left without a return: by longjmp(), or as the thread was cancelled.
    while (!frames.empty() && frames.back().stack < hit.stack) frames.pop_back();
    const bool known = !frames.empty() && frames.back().stack == hit.stack;
    if (hit.function != 0) {
      if (known) frames.pop_back();
      const auto function = functions_.find(hit.function);
      if (function == functions_.end()) return;
      if (frames.size() < kMaxDepth) {
        frames.push_back({hit.stack, Raw(hit.mono_ns), &function->second});
      } else {
        ++lost_begins_;
      }
      return;
    }
    if (!known) {
      ++strange_returns_;
      if (frames.empty()) open_.erase(hit.tid);
      return;
    }
    const Frame call = frames.back();
    frames.pop_back();
    if (frames.empty()) open_.erase(hit.tid);
    Write(hit, call);
  }

  // "[pid 4712] 12.345678901 libc.so.6->pthread_mutex_lock() = 0 <0.000012345>"
  void Write(const UprobeHit& hit, const Frame& call) {
    ++groups_[static_cast<size_t>(call.function->group)].calls;
    row_ = "[pid ";
    AppendNumber(row_, hit.tid);
    row_ += "] ";
    AppendSeconds(call.begin_ns);
    row_ += ' ';
    row_ += call.function->name;
    row_ += '(';
    if (static_cast<pid_t>(hit.pid) != usual_pid_) {
      row_ += format::kOsCallProcess;
      AppendNumber(row_, hit.pid);
    }
    row_ += ") = " + std::to_string(static_cast<int32_t>(hit.result)) + " <";
    const uint64_t end_ns = Raw(hit.mono_ns);
    AppendSeconds(end_ns - std::min(end_ns, call.begin_ns));
    row_ += ">\n";
    stream_.Append(now_, row_);
  }
  void AppendSeconds(uint64_t ns) { format::AppendWithNs(row_, ns, kSecondNs); }
  uint64_t Raw(uint64_t mono_ns) const { return mono_ns + raw_ahead_ns_; }

  void Govern() {
    const uint64_t elapsed_ns = now_.raw_ns - second_begin_ns_;
    uint64_t calls = 0;
    for (const Group& group : groups_) calls += group.calls;
    while (calls > kMostCallsPerSecond) {
      const auto most = std::ranges::max_element(groups_, {}, &Group::calls);
      calls -= most->calls;
      BeginRest(*most, elapsed_ns);
    }
    if (elapsed_ns < kSecondNs) return;
    second_begin_ns_ = now_.raw_ns;
    for (Group& group : groups_) {
      group.calls = 0;
      if (group.resting_since_ns == 0) continue;
      Estimate(group);
      if (now_.raw_ns - group.resting_since_ns < kRestNs) continue;
      group.resting_since_ns = 0;
      hooks_->Resume(NameOf(group));
    }
  }
  void BeginRest(Group& group, uint64_t elapsed_ns) {
    const uint64_t calls = std::exchange(group.calls, 0);
    if (group.resting_since_ns != 0) return;  // the breakpoints are still being taken away
    group.calls_per_ns = static_cast<double>(calls) / static_cast<double>(std::max<uint64_t>(elapsed_ns, 1));
    group.resting_since_ns = group.estimated_to_ns = now_.raw_ns;
    hooks_->Rest(NameOf(group));
  }
  // What is made while a group rests, which is at least as much as when each call was held up.
  void Estimate(Group& group) {
    const uint64_t since_ns = std::exchange(group.estimated_to_ns, now_.raw_ns);
    const auto rested_ns = static_cast<double>(now_.raw_ns - since_ns);
    stream_.Lose(format::Loss::Where::kSampler, since_ns, now_.raw_ns,
                 static_cast<uint64_t>(group.calls_per_ns * rested_ns));
  }
  PthreadGroup NameOf(const Group& group) const { return static_cast<PthreadGroup>(&group - groups_.data()); }

  Family& family_;
  const pid_t usual_pid_;  // whose calls they are that say nothing else
  RowStream& stream_;
  std::optional<PthreadHooks> hooks_;
  Tick now_;
  std::set<pid_t> asked_;
  uint64_t asked_at_ns_ = 0, drained_at_ns_ = 0, second_begin_ns_ = 0;
  uint64_t raw_ahead_ns_ = 0;  // of CLOCK_MONOTONIC; it may be behind, and wraps
  Uprobes::Lost lost_before_;
  uint64_t lost_begins_ = 0;                          // whose return has not come yet
  uint64_t strange_returns_ = 0;                      // of no call that has begun, since the latest Drain()
  std::unordered_map<uint64_t, Function> functions_;  // by address, in whatever process
  std::array<Group, kPthreadGroups> groups_;
  std::unordered_map<uint32_t, std::vector<Frame>> open_;  // by thread: the calls that it is in
  std::string row_;
};

}  // namespace

Status CheckPthreadEvents() { return Uprobes::Check(); }

std::unique_ptr<Probe> MakePthreadProbe(const ProbeOptions& options, const ProbeContext& context) {
  return std::make_unique<PthreadProbe>(options, context);
}

}  // namespace profd::host
