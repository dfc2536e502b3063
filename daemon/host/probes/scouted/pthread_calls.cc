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
#include "daemon/host/files/row_text.h"
#include "daemon/host/probes/scouted/pthread_hooks.h"
#include "daemon/host/probes/scouted/scout_probe.h"
#include "daemon/host/process/process.h"
#include "daemon/host/scouts/scout.h"
#include "format/events/os_call_line.h"

namespace profd::host {

namespace {

using base::Status;

// Of a second at most, before a group of functions rests.
constexpr uint64_t kMostCallsPerSecond = 10'000;
constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr uint64_t kRestNs = 9 * kSecondNs;
constexpr uint64_t kPeriodNs = 20'000'000;
// The kernel waits for all CPUs with each breakpoint that goes, one behind the other. After this time they go
// on going while the recording ends, for which profd waits four seconds: nothing is lost by it.
constexpr uint64_t kCloseLimitNs = kSecondNs;
constexpr uint64_t kHangsNs = 5 * kSecondNs;
constexpr uint64_t kFirstLimitNs = 2'900'000'000;  // a start waits three seconds
constexpr size_t kMostLineBytes = 8 << 20;         // that nobody has taken
constexpr size_t kMaxDepth = 16, kMaxThreads = 1 << 16, kMaxAddresses = 1 << 20;

class PthreadScout final : public Scout {
 public:
  Status Begin(const ScoutOrder& order, const std::vector<NamedPid>& members) override {
    usual_pid_ = order.usual_pid;
    auto uprobes = Uprobes::Claim();
    if (!uprobes.ok()) return uprobes.status();
    hooks_.emplace(std::move(uprobes).value());
    lost_before_ = hooks_->uprobes().lost();
    drained_at_ns_ = second_begin_ns_ = asked_at_ns_ = base::RawNs();
    TakeIn(members);
    Status first;
    for (const uint64_t end_ns = base::MonotonicNs() + kFirstLimitNs; base::MonotonicNs() < end_ns;) {
      first = hooks_->First(kPeriodNs);
      Drain();
      if (first.code() != base::Code::kDeadlineExceeded) return first;
    }
    return Status::Ok();  // it is not known yet
  }
  void TakeIn(const std::vector<NamedPid>& members) override {
    for (const auto& [pid, name] : members) {
      members_.insert(pid);
      hooks_->TakeIn(pid);
    }
  }
  uint64_t PeriodNs() const override { return kPeriodNs; }
  void Look() override {
    now_ns_ = base::RawNs();
    AskAgain();
    Drain();
    Govern();
  }
  void End() override {
    now_ns_ = base::RawNs();
    Drain();
    for (Group& group : groups_)
      if (group.resting_since_ns != 0) Estimate(group);
    hangs_ = !hooks_->Close(kCloseLimitNs) && hooks_->Hangs(kCloseLimitNs);
  }
  bool hangs() const override { return hangs_ || (hooks_ && hooks_->Hangs(kHangsNs)); }

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

  // Once a second those that had no such library: it may have come.
  void AskAgain() {
    if (now_ns_ - asked_at_ns_ < kSecondNs) return;
    asked_at_ns_ = now_ns_;
    std::erase_if(members_, [](pid_t pid) { return !ProcessExists(pid); });
    for (const pid_t pid : members_) hooks_->TakeIn(pid);
  }

  void Drain() {
    for (PthreadFunction& found : hooks_->Found()) {
      if (functions_.size() < kMaxAddresses)
        functions_[found.address] = {.name = std::move(found.name), .group = found.group};
    }
    const uint64_t begin_ns = base::RawNs();
    CompareClocks();
    hooks_->uprobes().Drain([this](const UprobeHit& hit) { Take(hit); });
    lines.Lose(Lost(), drained_at_ns_, begin_ns);
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
    if (lines.samples.size() > kMostLineBytes) return lines.Lose(1, call.begin_ns, Raw(hit.mono_ns));
    std::string& row = lines.samples;
    row += "[pid ";
    AppendNumber(row, hit.tid);
    row += "] ";
    AppendSeconds(call.begin_ns);
    row += ' ';
    row += call.function->name;
    row += '(';
    if (static_cast<pid_t>(hit.pid) != usual_pid_) {
      row += format::kOsCallProcess;
      AppendNumber(row, hit.pid);
    }
    row += ") = " + std::to_string(static_cast<int32_t>(hit.result)) + " <";
    const uint64_t end_ns = Raw(hit.mono_ns);
    AppendSeconds(end_ns - std::min(end_ns, call.begin_ns));
    row += ">\n";
  }
  void AppendSeconds(uint64_t ns) { format::AppendWithNs(lines.samples, ns, kSecondNs); }
  uint64_t Raw(uint64_t mono_ns) const { return mono_ns + raw_ahead_ns_; }

  void Govern() {
    const uint64_t elapsed_ns = now_ns_ - second_begin_ns_;
    uint64_t calls = 0;
    for (const Group& group : groups_) calls += group.calls;
    while (calls > kMostCallsPerSecond) {
      const auto most = std::ranges::max_element(groups_, {}, &Group::calls);
      calls -= most->calls;
      BeginRest(*most, elapsed_ns);
    }
    if (elapsed_ns < kSecondNs) return;
    second_begin_ns_ = now_ns_;
    for (Group& group : groups_) {
      group.calls = 0;
      if (group.resting_since_ns == 0) continue;
      Estimate(group);
      if (now_ns_ - group.resting_since_ns < kRestNs) continue;
      group.resting_since_ns = 0;
      hooks_->Resume(NameOf(group));
    }
  }
  void BeginRest(Group& group, uint64_t elapsed_ns) {
    const uint64_t calls = std::exchange(group.calls, 0);
    if (group.resting_since_ns != 0) return;  // the breakpoints are still being taken away
    group.calls_per_ns = static_cast<double>(calls) / static_cast<double>(std::max<uint64_t>(elapsed_ns, 1));
    group.resting_since_ns = group.estimated_to_ns = now_ns_;
    hooks_->Rest(NameOf(group));
  }
  // What is made while a group rests, which is at least as much as when each call was held up.
  void Estimate(Group& group) {
    const uint64_t since_ns = std::exchange(group.estimated_to_ns, now_ns_);
    const auto rested_ns = static_cast<double>(now_ns_ - since_ns);
    lines.Lose(static_cast<uint64_t>(group.calls_per_ns * rested_ns), since_ns, now_ns_);
  }
  PthreadGroup NameOf(const Group& group) const { return static_cast<PthreadGroup>(&group - groups_.data()); }

  pid_t usual_pid_ = 0;  // whose calls they are that say nothing else
  std::optional<PthreadHooks> hooks_;
  std::set<pid_t> members_;
  bool hangs_ = false;  // and did already when its end was asked for
  uint64_t now_ns_ = 0, asked_at_ns_ = 0, drained_at_ns_ = 0, second_begin_ns_ = 0;
  uint64_t raw_ahead_ns_ = 0;  // of CLOCK_MONOTONIC; it may be behind, and wraps
  Uprobes::Lost lost_before_;
  uint64_t lost_begins_ = 0;                          // whose return has not come yet
  uint64_t strange_returns_ = 0;                      // of no call that has begun, since the latest Drain()
  std::unordered_map<uint64_t, Function> functions_;  // by address, in whatever process
  std::array<Group, kPthreadGroups> groups_;
  std::unordered_map<uint32_t, std::vector<Frame>> open_;  // by thread: the calls that it is in
};

}  // namespace

Status CheckPthreadEvents() { return Uprobes::Check(); }

std::unique_ptr<Probe> MakePthreadProbe(const ProbeOptions& options, const ProbeContext& context) {
  return std::make_unique<ScoutProbe>(
      options, context, ScoutProbe::Files{.folder = "host", .samples = std::string(format::kPthreadCallFile)},
      [](TextChannel& channel, StandIn::Duty) {
        PthreadScout scout;
        ServeScout(channel, scout);
      },
      ScoutOrder{.usual_pid = context.targets.front()}, ScoutProbe::Births::kToldOf,
      "where more than " + std::to_string(kMostCallsPerSecond) +
          " calls a second are made, those of locks or of signals, whichever are more, are "
          "watched for a part of the time; of the others a lower bound is counted as lost");
}

}  // namespace profd::host
