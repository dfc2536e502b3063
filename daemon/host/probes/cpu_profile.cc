// host-cpu-profile: the kernel interrupts each CPU so many times a second and says who ran, with the call
// chain. One event per CPU, not per thread: nothing is to be opened for new threads and children, and their
// number does not matter. What is not of the session's processes is dropped here.
#include "format/cpu_profile.h"

#include <linux/perf_event.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "base/thread.h"
#include "daemon/host/code_map.h"
#include "daemon/host/kernel_names.h"
#include "daemon/host/perf_records.h"
#include "daemon/host/perf_ring.h"
#include "daemon/host/probes/probe.h"
#include "daemon/host/probes/row_text.h"
#include "daemon/host/process.h"

namespace profd::host {

namespace {

constexpr size_t kRingBytes = 256 << 10;  // a quarter of a second of whole stacks at 999 Hz
constexpr size_t kMaxStacks = 1 << 18;    // beyond it samples keep their innermost frame only
constexpr size_t kMaxPathBytes = 4096;

perf_event_attr Attributes(uint32_t hz, bool hardware) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = hardware ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
  attr.config = hardware ? uint64_t{PERF_COUNT_HW_CPU_CYCLES} : uint64_t{PERF_COUNT_SW_CPU_CLOCK};
  attr.freq = 1;
  attr.sample_freq = hz;
  attr.sample_type =
      PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN;
  attr.disabled = 1;
  attr.exclude_idle = 1;
  attr.exclude_hv = 1;
  attr.mmap = attr.mmap2 = 1;
  attr.comm = attr.comm_exec = 1;
  attr.task = 1;
  attr.sample_id_all = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC_RAW;
  return attr;
}

// A sample has its time behind pid and tid, others have pid, tid, time, cpu at their end.
uint64_t TimeOf(PerfRecord record) {
  const bool sample = LoadAt<perf_event_header>(record, 0).type == PERF_RECORD_SAMPLE;
  return LoadAt<uint64_t>(record, sample ? 16 : record.size() - 16);
}

class CpuProfileProbe final : public Probe {
 public:
  CpuProfileProbe(const ProbeOptions& options, const ProbeContext& context)
      : family_(*context.family),
        samples_(context.output.AddStream("profd", std::string(format::kCpuProfileFile), options.stats)),
        names_(context.output.AddStream("profd", std::string(format::kCpuProfileNamesFile), options.stats)) {
    const base::Status status = Open(options.hz);
    if (options.outcome) options.outcome->status = status;
    if (!status.ok()) return;
    loader_ = base::StartThread("kallsyms", [this] {
      kernel_ = KernelNames::Load();
      loaded_.store(true, std::memory_order_release);
    });
    for (PerfRing& ring : rings_) ring.Enable();
    now_ = {.number = 0, .raw_ns = base::RawNs(), .mono_ns = base::MonotonicNs()};
    drained_at_ns_ = now_.raw_ns;
    TakeInFamily();
    if (options.outcome) {
      options.outcome->note =
          std::string(hardware_ ? "CPU cycles" : "software clock: no hardware counters here") +
          "; call chains by frame pointers; native frames and perf maps only" +
          (KernelNames::Readable() ? "" : "; no names of kernel functions");
    }
  }
  ~CpuProfileProbe() override {
    if (loader_.joinable()) loader_.join();
  }

  void Sample(const Tick& tick) override {
    if (rings_.empty()) return;
    if (std::exchange(first_, false)) TakeInFamily();  // who was born while the events were opened
    Drain(tick, drained_at_ns_);
  }
  // The rings have kept what was to be had.
  void Miss(const Tick&, uint64_t, uint64_t) override {}
  void Finish(const Tick& tick) override {
    if (rings_.empty()) return;
    for (PerfRing& ring : rings_) ring.Disable();
    loader_.join();
    if (first_) TakeInFamily();
    Drain(tick, UINT64_MAX);
  }

 private:
  struct Member {
    std::string name;
    CodeMap code;
    std::unordered_set<pid_t> named;  // threads
  };

  base::Status Open(uint32_t hz) {
    hardware_ = OpenPerfEvent(Attributes(hz, true), -1, OnlineCpus().front()).ok();
    for (const int cpu : OnlineCpus()) {
      auto ring = PerfRing::Open(Attributes(hz, hardware_), -1, cpu, kRingBytes);
      if (!ring.ok()) {
        rings_.clear();
        return ring.status();
      }
      rings_.push_back(std::move(ring).value());
    }
    return base::Status::Ok();
  }

  void TakeInFamily() {
    for (const auto& process : family_.members()) {
      if (members_.contains(process->pid())) continue;
      Member& member = NewMember(process->pid(), process->comm());
      ReadCode(process->pid(),
               [&](const CodeMapping& mapping, Module module) { Map(member, mapping, std::move(module)); });
    }
  }

  Member& NewMember(pid_t pid, std::string_view name) {
    Name("process", pid, -1, name);
    Member& member = members_.insert_or_assign(pid, Member{}).first->second;
    member.name = name;
    return member;
  }

  void Drain(const Tick& tick, uint64_t until_ns) {
    now_ = tick;
    const uint64_t begin_ns = base::RawNs();
    for (PerfRing& ring : rings_)
      ring.Drain([this](PerfRecord record) { records_.Add(record, TimeOf(record)); });
    if (loaded_.load(std::memory_order_acquire))  // else they wait for the names
      records_.TakeUntil(until_ns, [this](PerfRecord record) { Take(record); });
    drained_at_ns_ = begin_ns;
  }

  void Take(PerfRecord record) {
    const auto header = LoadAt<perf_event_header>(record, 0);
    const auto pid = LoadAt<pid_t>(record, 8);
    const auto second = LoadAt<pid_t>(record, 12);  // tid, of a fork the parent's pid
    switch (header.type) {
      case PERF_RECORD_SAMPLE:
        if (const auto member = members_.find(pid); member != members_.end())
          TakeSample(record, header, pid, second, member->second);
        break;
      case PERF_RECORD_MMAP2:
        if (const auto member = members_.find(pid); member != members_.end())
          TakeMapping(record, member->second);
        break;
      case PERF_RECORD_COMM:
        if (const auto member = members_.find(pid); member != members_.end()) {
          if ((header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0) {
            NewMember(pid, TextAt(record, 16, 16));
          }
          member->second.named.insert(second);
          Name("thread", pid, second, TextAt(record, 16, 16));
        }
        break;
      case PERF_RECORD_FORK:
        if (pid != second) TakeFork(pid, second);
        break;
      case PERF_RECORD_EXIT:
        // Its number may already be another's, whose birth then is still to come.
        if (LoadAt<pid_t>(record, 16) == pid && members_.contains(pid) && !ProcessExists(pid))
          members_.erase(pid);
        break;
      case PERF_RECORD_LOST:
        samples_.Lose(format::Loss::Where::kSampler, drained_at_ns_, now_.raw_ns,
                      LoadAt<uint64_t>(record, 16));
        break;
      default:
        break;
    }
  }

  void TakeFork(pid_t child, pid_t parent) {
    const auto of = members_.find(parent);
    if (of == members_.end()) {
      members_.erase(child);  // the number of one that has gone
      return;
    }
    Member born{of->second.name, of->second.code, {}};
    Name("process", child, -1, born.name);
    members_.insert_or_assign(child, std::move(born));
  }

  void TakeMapping(PerfRecord record, Member& member) {
    constexpr size_t kPathAt = 72;
    const auto begin = LoadAt<uint64_t>(record, 16);
    Module module{.major = LoadAt<uint32_t>(record, 40),
                  .minor = LoadAt<uint32_t>(record, 44),
                  .inode = LoadAt<uint64_t>(record, 48),
                  .path = std::string(TextAt(record, kPathAt, kMaxPathBytes))};
    Map(member, {begin, begin + LoadAt<uint64_t>(record, 24), LoadAt<uint64_t>(record, 32), 0},
        std::move(module));
  }

  void Map(Member& member, CodeMapping mapping, Module module) {
    if (!IsAnonymous(module.path)) {
      const auto [known, is_new] = modules_.try_emplace(std::move(module), modules_.size() + 1);
      mapping.module = known->second;
      if (is_new) {
        row_ = "module ";
        AppendNumber(row_, known->second);
        row_ += ' ';
        AppendNumber(row_, known->first.major);
        row_ += ':';
        AppendNumber(row_, known->first.minor);
        row_ += ' ';
        AppendNumber(row_, known->first.inode);
        row_ += ' ' + base::OneLine(known->first.path, kMaxPathBytes) + '\n';
        Say();
      }
    }
    member.code.Add(mapping);
  }

  void TakeSample(PerfRecord record, const perf_event_header& header, pid_t pid, pid_t tid, Member& member) {
    constexpr size_t kTimeAt = 16, kCpuAt = 24, kPeriodAt = 32, kCountAt = 40, kChainAt = 48;
    if (tid == 0) return;
    if (member.named.insert(tid).second) {
      const std::string name = CommandName(tid);
      Name("thread", pid, tid, name.empty() ? member.name : name);
    }
    const uint64_t frames =
        std::min<uint64_t>(LoadAt<uint64_t>(record, kCountAt), (header.size - kChainAt) / 8);
    frames_.clear();
    bool kernel = false;
    size_t innermost = 0;  // bytes of the first frame
    for (uint64_t i = 0; i < frames; ++i) {
      const auto address = LoadAt<uint64_t>(record, kChainAt + 8 * i);
      if (address >= static_cast<uint64_t>(PERF_CONTEXT_MAX)) {
        kernel = address == static_cast<uint64_t>(PERF_CONTEXT_KERNEL);
        continue;
      }
      const CodeMapping* mapping = kernel ? nullptr : member.code.Find(address);
      // Code without frame pointers leaves anything where they would be: no caller is outside of all code.
      if (!kernel && mapping == nullptr && !frames_.empty()) break;
      if (!frames_.empty()) frames_ += ';';
      // All but the innermost frame are where a call returns to: the call is in front of that.
      if (kernel) {
        KernelFrame(address);
      } else {
        UserFrame(mapping, innermost == 0 ? address : address - 1);
      }
      if (innermost == 0) innermost = frames_.size();
    }
    const auto number = StackNumber(pid, innermost);
    if (!number) {
      samples_.Lose(format::Loss::Where::kPool, now_.raw_ns, now_.raw_ns, 1);
      return;
    }
    row_.clear();
    for (const uint64_t value : {LoadAt<uint64_t>(record, kTimeAt), static_cast<uint64_t>(pid),
                                 static_cast<uint64_t>(tid), uint64_t{LoadAt<uint32_t>(record, kCpuAt)},
                                 LoadAt<uint64_t>(record, kPeriodAt), uint64_t{*number}}) {
      if (!row_.empty()) row_ += ' ';
      AppendNumber(row_, value);
    }
    row_ += '\n';
    samples_.Append(now_, row_);
  }

  void KernelFrame(uint64_t address) {
    const std::string_view name = kernel_->Find(frames_.empty() ? address : address - 1);
    const auto [known, is_new] = functions_.try_emplace(name, functions_.size());
    frames_ += 'k';
    AppendNumber(frames_, known->second);
    if (!is_new) return;
    row_ = "kernel ";
    AppendNumber(row_, known->second);
    row_ += ' ';
    row_ += name;
    row_ += '\n';
    Say();
  }

  void UserFrame(const CodeMapping* mapping, uint64_t address) {
    if (mapping == nullptr || mapping->module == 0) {
      frames_ += '@';
      AppendHex(frames_, address);
      return;
    }
    AppendNumber(frames_, mapping->module);
    frames_ += '+';
    AppendHex(frames_, address - mapping->begin + mapping->file_offset);
  }

  // Of what is in frames_. Nothing: there was no room to say what the number means.
  std::optional<uint32_t> StackNumber(pid_t pid, size_t innermost) {
    if (frames_.empty()) return 0;
    if (stacks_.size() >= kMaxStacks) frames_.resize(innermost);
    row_ = "stack ";
    const size_t number_at = row_.size();
    row_ += ' ';
    AppendNumber(row_, static_cast<uint64_t>(pid));
    row_ += ' ' + frames_ + '\n';
    const uint64_t key = std::hash<std::string_view>()(std::string_view(row_).substr(number_at));
    if (const auto known = stacks_.find(key); known != stacks_.end()) return known->second;
    if (stacks_.size() >= 2 * kMaxStacks) return 0;
    const auto number = static_cast<uint32_t>(stacks_.size() + 1);
    row_.insert(number_at, std::to_string(number));
    if (!Say()) return std::nullopt;
    stacks_.emplace(key, number);
    return number;
  }

  void Name(const char* what, pid_t pid, pid_t tid, std::string_view name) {
    row_ = what;
    row_ += ' ';
    AppendNumber(row_, static_cast<uint64_t>(pid));
    if (tid >= 0) {
      row_ += ' ';
      AppendNumber(row_, static_cast<uint64_t>(tid));
    }
    row_ += ' ' + base::OneLine(name) + '\n';
    Say();
  }
  // What is in row_, as a line of names.
  bool Say() { return names_.Append(now_, row_, 0); }

  static std::string_view TextAt(PerfRecord record, size_t at, size_t max) {
    if (at >= record.size()) return {};
    const char* text = reinterpret_cast<const char*>(record.data()) + at;
    return {text, ::strnlen(text, std::min(max, record.size() - at))};
  }
  static void AppendHex(std::string& text, uint64_t value) {
    char digits[16];
    const auto end = std::to_chars(digits, digits + sizeof digits, value, 16).ptr;
    text.append(digits, end);
  }

  Family& family_;
  RowStream& samples_;
  RowStream& names_;
  std::vector<PerfRing> rings_;
  bool hardware_ = false;
  bool first_ = true;
  std::thread loader_;
  std::atomic<bool> loaded_{false};
  std::shared_ptr<const KernelNames> kernel_;

  Tick now_;
  uint64_t drained_at_ns_ = 0;
  PerfRecords records_;
  std::unordered_map<pid_t, Member> members_;
  std::map<Module, uint32_t> modules_;
  std::unordered_map<std::string_view, uint32_t> functions_;  // of the kernel; names are kernel_'s
  std::unordered_map<uint64_t, uint32_t> stacks_;             // by a hash of pid and frames
  std::string row_, frames_;
};

}  // namespace

std::unique_ptr<Probe> MakeCpuProfileProbe(const ProbeOptions& options, const ProbeContext& context) {
  return std::make_unique<CpuProfileProbe>(options, context);
}

}  // namespace profd::host
