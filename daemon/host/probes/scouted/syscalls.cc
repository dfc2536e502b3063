// host-osrt: the system calls of the session's processes, by the kernel's tracepoints raw_syscalls. The
// events are the threads' own, one per CPU and inherited by what they start, so that nobody else's calls are
// slowed by more than the look whether there is an event.
#include <linux/perf_event.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "daemon/base/syscall_names.h"
#include "daemon/host/events/perf_records.h"
#include "daemon/host/events/perf_ring.h"
#include "daemon/host/events/thread_events.h"
#include "daemon/host/events/tracefs.h"
#include "daemon/host/files/row_text.h"
#include "daemon/host/probes/scouted/scout_probe.h"
#include "daemon/host/process/process.h"
#include "daemon/host/scouts/scout.h"
#include "format/events/os_call_line.h"

namespace profd::host {

namespace {

using base::Status;

constexpr size_t kRingBytes = 512 << 10;  // 20 ms of 290 k calls a second
// What is kept of a second at most: then the events rest until the next.
constexpr uint64_t kMostCallsPerSecond = 200'000;
constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr uint64_t kPeriodNs = 20'000'000;
constexpr size_t kMostLineBytes = 32 << 20;  // that nobody has taken

perf_event_attr Attributes(uint64_t tracepoint, bool with_record, uint64_t read_format) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.config = tracepoint;
  attr.sample_period = 1;
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | (with_record ? uint64_t{PERF_SAMPLE_RAW} : 0);
  attr.comm = attr.task = with_record ? 1 : 0;  // names and births, once
  attr.read_format = read_format;
  attr.disabled = 1;
  attr.inherit = 1;
  attr.sample_id_all = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC_RAW;
  return attr;
}

// Counts what the others would have told while they rest.
perf_event_attr CounterAttributes(uint64_t tracepoint) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_TRACEPOINT;
  attr.config = tracepoint;
  attr.inherit = 1;
  return attr;
}

class SyscallScout final : public Scout {
 public:
  Status Begin(const ScoutOrder& order, const std::vector<NamedPid>& members) override {
    usual_pid_ = order.usual_pid;
    PROFD_RETURN_IF_ERROR(Open(members));
    Resume();
    return Status::Ok();
  }
  // Who is born has the events of his parent.
  void TakeIn(const std::vector<NamedPid>&) override {}
  uint64_t PeriodNs() const override { return kPeriodNs; }

  void Look() override {
    if (lines.samples.size() > kMostLineBytes) return;  // the rings keep the rest
    const uint64_t now_ns = base::RawNs();
    Drain(drained_at_ns_);
    if (resting_since_ns_ != 0 && now_ns - second_begin_ns_ >= kSecondNs) Resume();
    if (now_ns - second_begin_ns_ >= kSecondNs) {
      second_begin_ns_ = now_ns;
      second_calls_ = 0;
    }
    if (resting_since_ns_ == 0 && second_calls_ > kMostCallsPerSecond) Rest();
  }
  void End() override {
    const uint64_t made = Counted();
    events_->Disable();
    Drain(UINT64_MAX);
    LoseExits();
    if (read_format_ == 0) governed_ = true;
    Account(made);
    events_.reset();
  }

 private:
  Status Open(const std::vector<NamedPid>& members) {
    PROFD_ASSIGN_OR_RETURN(const uint64_t enter, TracepointNumber("raw_syscalls/sys_enter"));
    PROFD_ASSIGN_OR_RETURN(const uint64_t exit, TracepointNumber("raw_syscalls/sys_exit"));
    // Linux before 6.0 does not say how many were lost.
    if (!OpenPerfEvent(Attributes(exit, true, PERF_FORMAT_LOST), 0, -1).ok()) read_format_ = 0;
    std::vector<pid_t> pids;
    for (const auto& [pid, name] : members) pids.push_back(pid);
    const perf_event_attr attrs[] = {Attributes(enter, false, read_format_),
                                     Attributes(exit, true, read_format_)};
    PROFD_ASSIGN_OR_RETURN(ThreadEvents events,
                           ThreadEvents::Open(pids, attrs, CounterAttributes(exit), kRingBytes));
    events_.emplace(std::move(events));
    return Status::Ok();
  }

  // The budget of this second is used up.
  void Rest() {
    governed_ = true;
    events_->Disable();
    resting_since_ns_ = base::RawNs();
  }
  void Resume() {
    if (std::exchange(resting_since_ns_, 0) != 0) Account(Counted());
    entered_.clear();  // what came in between is not known
    watched_from_ns_ = drained_at_ns_ = base::RawNs();
    events_->Enable();
    second_begin_ns_ = watched_from_ns_;
    second_calls_ = 0;
    if (!counted_before_) counted_before_ = Counted();
  }
  // Of the calls that were made, those that were neither seen nor known to be lost are lost.
  void Account(uint64_t counted) {
    if (!governed_ || counted <= *counted_before_ + accounted_) return;
    Lose(counted - *counted_before_ - accounted_);
  }
  void Lose(uint64_t calls) {
    lines.Lose(calls, watched_from_ns_, base::RawNs());
    accounted_ += calls;
  }
  // A full ring loses enters and exits as they come; an exit is a call. The kernel says that there was a loss
  // with the next record that finds room, and how many exits were among it whenever it is asked (from 6.0
  // on).
  void LoseExits() {
    uint64_t lost = 0;
    for (const int event : events_->events(kExits)) {
      uint64_t value_and_lost[2] = {};
      if (::read(event, value_and_lost, sizeof value_and_lost) == sizeof value_and_lost)
        lost += value_and_lost[1];
    }
    if (lost <= told_lost_) return;
    governed_ = true;
    second_calls_ += lost - told_lost_;
    Lose(lost - std::exchange(told_lost_, lost));
  }
  uint64_t Counted() const { return events_->Counted(); }

  void Drain(uint64_t until_ns) {
    const uint64_t begin_ns = base::RawNs();
    for (PerfRing& ring : events_->rings()) {
      ring.Drain([this](PerfRecord record) {
        const bool sample = LoadAt<perf_event_header>(record, 0).type == PERF_RECORD_SAMPLE;
        records_.Add(record, LoadAt<uint64_t>(record, sample ? kTimeAt : record.size() - 8));
      });
    }
    records_.TakeUntil(until_ns, [this](PerfRecord record) { Take(record); });
    drained_at_ns_ = begin_ns;
  }

  void TakeLost(PerfRecord record) {
    if (read_format_ != 0) {
      LoseExits();
    } else {
      const uint64_t calls = (LoadAt<uint64_t>(record, kLostAt) + 1) / 2;
      Lose(calls);
      second_calls_ += calls;
    }
    governed_ = true;
    entered_.clear();
    watched_from_ns_ = LoadAt<uint64_t>(record, record.size() - 8);
  }

  void Take(PerfRecord record) {
    switch (LoadAt<perf_event_header>(record, 0).type) {
      case PERF_RECORD_SAMPLE:
        return TakeCall(record);
      case PERF_RECORD_LOST:
        return TakeLost(record);
      case PERF_RECORD_FORK: {
        const std::string parent = NameOf(LoadAt<pid_t>(record, kParentAt));
        return SetName(LoadAt<pid_t>(record, kChildAt), parent.substr(0, parent.rfind('/')));
      }
      case PERF_RECORD_COMM: {
        char name[16] = {};
        std::memcpy(name, record.data() + kNameAt, std::min(sizeof name - 1, record.size() - kNameAt));
        return SetName(LoadAt<pid_t>(record, kTidAt), name);
      }
      default:
        return;
    }
  }

  void TakeCall(PerfRecord record) {
    const auto tid = LoadAt<pid_t>(record, kTidAt);
    const auto time_ns = LoadAt<uint64_t>(record, kTimeAt);
    if (record.size() < kResultAt + 8) {
      entered_.insert_or_assign(tid, time_ns);
      return;
    }
    // Who was in a call when the watching began is in it from there on, as far as is known. One that was born
    // while the events were opened may have them twice, and tells everything twice.
    const auto [entered, is_new] = entered_.try_emplace(tid, watched_from_ns_);
    const uint64_t begin_ns = std::exchange(entered->second, kOutside);
    if (begin_ns == kOutside) return;
    const auto number = LoadAt<int64_t>(record, kNumberAt);
    // What the kernel calls for itself: the way back from a signal handler, or from a function that is
    // watched.
    if (number < 0) {
      ++accounted_;
      return;
    }
    const std::string_view name = names_.Of(static_cast<long>(number));
    const auto result = LoadAt<int64_t>(record, kResultAt);
    ++second_calls_;
    ++accounted_;
    if (is_new && result == 0 && (name.starts_with("clone") || name.ends_with("fork"))) return;  // its birth
    const auto pid = LoadAt<pid_t>(record, kPidAt);
    std::string& row = lines.samples;
    AppendMs(begin_ns);
    row += " ( ";
    AppendMs(time_ns - std::min(time_ns, begin_ns));
    row += " ms): ";
    row += NameOf(tid);
    row += ' ';
    row += name;
    row += '(';
    row += format::kOsCallProcess;
    AppendNumber(row, static_cast<uint64_t>(pid > 0 ? pid : usual_pid_));
    row += ") = " + std::to_string(result) + '\n';
  }

  // "python3/4711"
  const std::string& NameOf(pid_t tid) {
    const auto known = threads_.find(tid);
    if (known != threads_.end()) return known->second;
    std::string name = CommandName(tid);
    // Gone before its birth was read, which lies in another CPU's ring: as the one it most likely comes from.
    if (name.empty()) name = first_name_;
    SetName(tid, std::move(name));
    return threads_[tid];
  }
  // Without what readers take for an end of it.
  void SetName(pid_t tid, std::string name) {
    if (first_name_.empty()) first_name_ = name.empty() ? "?" : name;
    for (char& c : name)
      if (c <= ' ' || c >= 0x7f || c == '/' || c == ':' || c == '(' || c == ')') c = '_';
    threads_[tid] = name + '/' + std::to_string(tid);
  }
  void AppendMs(uint64_t ns) { format::AppendWithNs(lines.samples, ns, 1'000'000); }

  static constexpr size_t kExits = 1;  // of the events' attributes
  static constexpr uint64_t kOutside = 0;
  static constexpr size_t kPidAt = 8, kTidAt = 12, kTimeAt = 16, kLostAt = 16, kNameAt = 16, kChildAt = 16,
                          kParentAt = 20;
  // Behind the size of the record and the four fields that all tracepoints have.
  static constexpr size_t kNumberAt = 36, kResultAt = 44;

  pid_t usual_pid_ = 0;  // whose calls they are where the kernel does not say
  std::optional<ThreadEvents> events_;
  uint64_t drained_at_ns_ = 0;
  uint64_t watched_from_ns_ = 0;
  uint64_t second_begin_ns_ = 0, second_calls_ = 0;
  uint64_t resting_since_ns_ = 0;           // 0: it does not rest
  std::optional<uint64_t> counted_before_;  // by the counters, when the watching began
  uint64_t told_lost_ = 0;                  // exits
  uint64_t read_format_ = PERF_FORMAT_LOST;
  uint64_t accounted_ = 0;  // calls since then that were seen, or reported as lost
  bool governed_ = false;   // some were not seen
  PerfRecords records_;
  std::unordered_map<pid_t, uint64_t> entered_;  // by thread: when it went into a call, or kOutside
  std::unordered_map<pid_t, std::string> threads_;
  base::SyscallNames names_;
  std::string first_name_;
};

}  // namespace

Status CheckSyscallEvents() {
  PROFD_ASSIGN_OR_RETURN(const uint64_t enter, TracepointNumber("raw_syscalls/sys_enter"));
  return OpenPerfEvent(Attributes(enter, false, 0), 0, -1).status();
}

std::unique_ptr<Probe> MakeSyscallProbe(const ProbeOptions& options, const ProbeContext& context) {
  return std::make_unique<ScoutProbe>(
      options, context, ScoutProbe::Files{.folder = "host", .samples = std::string(format::kSyscallFile)},
      [](TextChannel& channel, StandIn::Duty) {
        SyscallScout scout;
        ServeScout(channel, scout);
      },
      ScoutOrder{.usual_pid = context.targets.front()}, ScoutProbe::Births::kHeardOf,
      "at most " + std::to_string(kMostCallsPerSecond) +
          " calls a second are kept, the others counted as lost");
}

}  // namespace profd::host
