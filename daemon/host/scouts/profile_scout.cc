#include "daemon/host/scouts/profile_scout.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/threads/thread.h"
#include "daemon/host/events/perf_ring.h"
#include "daemon/host/process/process_image.h"
#include "daemon/host/stacks/python_layout.h"
#include "daemon/host/stacks/unwinder.h"

namespace profd::host {

using base::Status;

namespace {

// Of the stack goes along with each sample; the rings are as large at every rate.
constexpr uint32_t kStackBytes = 8192, kOftenHz = 125, kStackBytesOften = 2048, kStackBytesOfWait = 2048;
constexpr size_t kRingBytes = 256 << 10;  // a quarter of a second of whole stacks
constexpr size_t kOffCpuRingBytes = 512 << 10;
constexpr size_t kNewsRingBytes = 64 << 10;
constexpr uint64_t kMillisecondNs = 1'000'000, kSecondNs = 1'000'000'000;
constexpr uint64_t kPeriodNs = 50 * kMillisecondNs, kSliceNs = kMillisecondNs / 2;
// What Python's functions were at a sample, or where a wait began, is read after it: twice as much later, at
// most.
constexpr uint64_t kPythonPeriodNs = 4 * kMillisecondNs;
// Where the kernel notes it at the sample, what is read later are names, which stay: its ring has room for
// more.
constexpr uint64_t kNotedPythonPeriodNs = 20 * kMillisecondNs;
// Waits are many, and their records large.
constexpr uint64_t kOffCpuPeriodNs = 10 * kMillisecondNs;
// What is looked at of a second at most: then the events rest until the next.
constexpr uint64_t kMostSwitchesPerSecond = 10'000;
// What a sample may cost on average, which is 1 % of a CPU at 99 Hz, and a switch; and what is needed to get
// going.
constexpr uint64_t kSampleBudgetNs = 100'000, kSwitchBudgetNs = 10'000;
constexpr uint64_t kFirstBudgetNs = 20 * kMillisecondNs;
// Between two readings of the members' code, where news of it have got lost.
constexpr uint64_t kRelearnNs = kSecondNs;
// Of lines that nobody has taken: then the rings keep the rest.
constexpr size_t kMostLineBytes = 8 << 20;

// Records of all kinds have the same end.
void AskForTimes(perf_event_attr& attr) {
  attr.size = sizeof attr;
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
  attr.sample_id_all = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC_RAW;
  attr.disabled = 1;
}

// Where code comes and goes.
void AskForNews(perf_event_attr& attr) {
  attr.mmap = attr.mmap2 = 1;
  attr.comm = attr.comm_exec = 1;
  attr.task = 1;
}

// What a ProfileBook reads: samples with stacks, of which `stack_bytes` are copied. The event is not enabled
// yet.
void AskForStacks(perf_event_attr& attr, uint32_t stack_bytes) {
  AskForTimes(attr);
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
                     PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attr.sample_regs_user = UserRegisters::Mask();
  attr.sample_stack_user = stack_bytes;
}

// Of everything that runs on a CPU: on it the kernel tells of everybody's mappings, however many somebody
// makes. So they have a ring of their own, and do not take the samples' room.
perf_event_attr NewsAttributes() {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  AskForTimes(attr);
  AskForNews(attr);
  return attr;
}

perf_event_attr SwitchCounter() {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
  attr.inherit = 1;
  return attr;
}

// A sample has its time behind pid and tid, others have pid, tid, time, cpu at their end.
uint64_t TimeOf(PerfRecord record) {
  const bool sample = LoadAt<perf_event_header>(record, 0).type == PERF_RECORD_SAMPLE;
  return LoadAt<uint64_t>(record, sample ? 16 : record.size() - 16);
}

// "3.11" of /usr/bin/python3.11; "" of what is no Python.
std::string PythonVersion(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with("python")) return "";
  name.remove_prefix(6);
  return std::string(name.substr(0, name.find_first_not_of("0123456789.")));
}

// By the names of the programs.
std::string PythonNote(const std::vector<NamedPid>& members, bool is_noted) {
  std::string other;
  bool read = false;
  for (const auto& [pid, name] : members) {
    const std::string version = PythonVersion(ExecutableOf(pid));
    if (ReadsPython(version)) {
      read = true;
    } else if (version.starts_with("3.")) {
      other = version;
    }
  }
  while (other.ends_with('.')) other.pop_back();
  if (!other.empty()) return "native frames only of Python " + other + ", perf maps";
  if (!read) return "native frames and perf maps";
  return is_noted ? "Python functions, perf maps" : "Python functions (read after the sample), perf maps";
}

}  // namespace

perf_event_attr OnCpuAttributes(uint32_t hz, bool hardware) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = hardware ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
  attr.config = hardware ? uint64_t{PERF_COUNT_HW_CPU_CYCLES} : uint64_t{PERF_COUNT_SW_CPU_CLOCK};
  attr.freq = 1;
  attr.sample_freq = hz;
  attr.exclude_idle = 1;
  attr.exclude_hv = 1;
  AskForStacks(attr, hz <= kOftenHz ? kStackBytes : kStackBytesOften);
  return attr;
}

perf_event_attr OffCpuAttributes() {
  perf_event_attr attr = SwitchCounter();
  attr.sample_period = 1;
  attr.context_switch = 1;
  AskForStacks(attr, kStackBytesOfWait);
  AskForNews(attr);
  return attr;
}

void OnCpuWork(TextChannel& channel, StandIn::Duty) {
  ProfileScout scout(ProfileBook::What::kOnCpu);
  ServeScout(channel, scout);
}
void OffCpuWork(TextChannel& channel, StandIn::Duty) {
  ProfileScout scout(ProfileBook::What::kOffCpu);
  ServeScout(channel, scout);
}

Status ProfileScout::Begin(const ScoutOrder& order, const std::vector<NamedPid>& members) {
  PROFD_RETURN_IF_ERROR(Open(order, members));
  book_.emplace(what_, order.first_number, order.user);
  HavePythonNoted();
  names_ = std::async(std::launch::async, &KernelNames::Load);
  // A ring is full after a quarter of a second.
  base::PreferShortSlices(kSliceNs);
  note_ = "call chains by call frames, else frame pointers; " + PythonNote(members, probe_.has_value()) +
          (KernelNames::Readable() ? "" : "; no names of kernel functions");
  drained_at_ns_ = base::RawNs();
  Enable(true);
  TakeIn(members);
  return Status::Ok();
}

Status ProfileScout::Open(const ScoutOrder& order, const std::vector<NamedPid>& members) {
  if (what_ == ProfileBook::What::kOffCpu) {
    std::vector<pid_t> pids;
    pids.reserve(members.size());
    for (const auto& [pid, name] : members) pids.push_back(pid);
    const perf_event_attr attrs[] = {OffCpuAttributes()};
    PROFD_ASSIGN_OR_RETURN(ThreadEvents events,
                           ThreadEvents::Open(pids, attrs, SwitchCounter(), kOffCpuRingBytes));
    threads_.emplace(std::move(events));
    return Status::Ok();
  }
  for (const int cpu : OnlineCpus()) {
    PROFD_ASSIGN_OR_RETURN(PerfRing ring,
                           PerfRing::Open(OnCpuAttributes(order.hz, order.hardware), -1, cpu, kRingBytes));
    cpus_.push_back(std::move(ring));
    PROFD_ASSIGN_OR_RETURN(PerfRing news, PerfRing::Open(NewsAttributes(), -1, cpu, kNewsRingBytes));
    news_.push_back(std::move(news));
  }
  return Status::Ok();
}

// Where it does not, Python's frames are read after the sample.
void ProfileScout::HavePythonNoted() {
  if (cpus_.empty()) return;
  auto probe = PythonProbe::Claim();
  if (!probe.ok()) return;
  for (const PerfRing& ring : cpus_) {
    if (!probe->RunAt(ring.event()).ok()) return;
  }
  probe_.emplace(std::move(probe).value());
  book_->NoteBy(&*probe_);
}

void ProfileScout::Enable(bool enable) {
  if (threads_) enable ? threads_->Enable() : threads_->Disable();
  for (std::vector<PerfRing>* rings : {&news_, &cpus_}) {
    for (PerfRing& ring : *rings) enable ? ring.Enable() : ring.Disable();
  }
}

void ProfileScout::TakeIn(const std::vector<NamedPid>& members) {
  for (const auto& [pid, name] : members) book_->TakeIn(pid, name);
}

uint64_t ProfileScout::PeriodNs() const {
  if (book_->has_python()) return probe_ ? kNotedPythonPeriodNs : kPythonPeriodNs;
  return threads_ ? kOffCpuPeriodNs : kPeriodNs;
}

void ProfileScout::Look() {
  if (lines.samples.size() > kMostLineBytes) return;
  const uint64_t begin_ns = base::RawNs();
  EmptyRings();
  if (threads_) GovernSwitches();
  // What comes before there are names waits for them.
  if (kernel_ || names_.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
    Take(drained_at_ns_);  // records up to then have all come
  drained_at_ns_ = begin_ns;
}

void ProfileScout::End() {
  Resume();
  Enable(false);
  const uint64_t now_ns = base::RawNs();
  EmptyRings();
  Take(UINT64_MAX);
  // Nobody tells any more who goes on meanwhile.
  book_->EndWaits(now_ns, *kernel_);
  if (book_->spared() > 0) book_->lines.names += "spared " + std::to_string(book_->spared()) + '\n';
  HandOver();
}

void ProfileScout::EmptyRings() {
  if (threads_) {
    for (PerfRing& ring : threads_->rings()) ring.Drain([this](PerfRecord record) { Keep(record); });
  }
  for (PerfRing& ring : cpus_) EmptyCpu(ring);
  TakeNoted();
  for (PerfRing& ring : news_) {
    ring.Drain([this](PerfRecord record) {
      const bool lost = LoadAt<perf_event_header>(record, 0).type == PERF_RECORD_LOST;
      lost ? static_cast<void>(news_lost_ = true) : Keep(record);
    });
  }
}

// After the rings of the samples: what is noted of a sample is there before it.
void ProfileScout::TakeNoted() {
  if (!probe_) return;
  const uint64_t further_ns = base::RawNs() - base::MonotonicNs();
  probe_->Drain([&](const PythonFrames& frames) { book_->Note(frames, frames.mono_ns + further_ns); });
}

// In the ring of a CPU is what everybody does there, and of what it lost nobody says whose it was: as many
// were the members' as of what was left.
void ProfileScout::EmptyCpu(PerfRing& ring) {
  uint64_t lost = 0, samples = 0, own = 0;
  ring.Drain([&](PerfRecord record) {
    const auto type = LoadAt<perf_event_header>(record, 0).type;
    if (type == PERF_RECORD_LOST) {
      lost += LoadAt<uint64_t>(record, 16);
      return;
    }
    if (type == PERF_RECORD_SAMPLE) {
      ++samples;
      own += book_->IsStranger(LoadAt<pid_t>(record, 8)) ? 0 : 1;
    }
    Keep(record);
  });
  if (lost == 0) return;
  lost_share_ += static_cast<double>(lost) * static_cast<double>(own) /
                 static_cast<double>(std::max<uint64_t>(samples, 1));
  const auto whole = static_cast<uint64_t>(std::ceil(lost_share_));
  lost_share_ -= static_cast<double>(whole);
  book_->lines.lost += whole;
}

void ProfileScout::Keep(PerfRecord record) {
  const auto type = LoadAt<perf_event_header>(record, 0).type;
  const auto pid = LoadAt<pid_t>(record, 8);
  if (type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT) {
    // Of threads, which anybody may have be born and end without end, the book wants nothing.
    const bool of_thread =
        type == PERF_RECORD_FORK ? LoadAt<pid_t>(record, 12) == pid : LoadAt<pid_t>(record, 16) != pid;
    if (of_thread) return;
    book_->ForgetStranger(pid);
  } else if (type != PERF_RECORD_LOST && type != PERF_RECORD_SWITCH && book_->IsStranger(pid)) {
    return;
  }
  records_.Add(record, TimeOf(record));
}

// What somebody's flood of news has cost is read anew.
void ProfileScout::Relearn() {
  const uint64_t now_ns = base::MonotonicNs();
  if (!news_lost_ || now_ns - relearned_at_ns_ < kRelearnNs) return;
  news_lost_ = false;
  relearned_at_ns_ = now_ns;
  book_->Relearn();
}

void ProfileScout::Take(uint64_t until_ns) {
  if (!kernel_) kernel_ = names_.get();
  GovernCost();
  records_.TakeUntil(until_ns, [this](PerfRecord record) { book_->Take(record, *kernel_); });
  Relearn();
  book_->LookAtWaits(*kernel_);
  book_->CloseMemories();
  HandOver();
}

void ProfileScout::HandOver() {
  ScoutLines made = std::exchange(book_->lines, {});
  lines.names += made.names;
  lines.samples += made.samples;
  // The kernel's word of lost records has no time.
  lines.Lose(made.lost, made.lost_from_ns != 0 ? made.lost_from_ns : drained_at_ns_,
             made.lost_to_ns != 0 ? made.lost_to_ns : base::RawNs());
}

// Whoever costs more than its budget in a second goes without the dear part until the next.
void ProfileScout::GovernCost() {
  const uint64_t now_ns = base::MonotonicNs(), cpu_ns = base::ReadClockNs(CLOCK_THREAD_CPUTIME_ID);
  if (now_ns - cost_begin_ns_ >= kSecondNs) {
    cost_begin_ns_ = now_ns;
    cost_cpu_ns_ = cpu_ns;
    cost_samples_ = book_->samples();
    cost_switches_ = book_->switches();
  }
  const uint64_t budget_ns = kFirstBudgetNs + (book_->samples() - cost_samples_) * kSampleBudgetNs +
                             (book_->switches() - cost_switches_) * kSwitchBudgetNs;
  book_->Spare(cpu_ns - cost_cpu_ns_ > budget_ns);
}

// What makes too many records goes without any for the rest of a second.
void ProfileScout::GovernSwitches() {
  const uint64_t now_ns = base::MonotonicNs();
  if (now_ns - second_begin_ns_ >= kSecondNs) {
    second_begin_ns_ = now_ns;
    second_switches_ = book_->switches();
    Resume();
  }
  if (resting_since_ns_ != 0 || book_->switches() - second_switches_ <= kMostSwitchesPerSecond) return;
  threads_->Disable();
  resting_since_ns_ = base::RawNs();
  counted_before_ = threads_->Counted();
}

void ProfileScout::Resume() {
  if (resting_since_ns_ == 0) return;
  book_->ForgetWaits();
  lines.Lose(threads_->Counted() - counted_before_, std::exchange(resting_since_ns_, 0), base::RawNs());
  threads_->Enable();
}

}  // namespace profd::host
