#include "daemon/host/scouts/thread_stacks.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <list>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "daemon/host/events/perf_ring.h"
#include "daemon/host/process/process.h"
#include "daemon/host/process/stand_in.h"
#include "daemon/host/scouts/profile_book.h"
#include "daemon/host/scouts/profile_scout.h"
#include "daemon/host/stacks/process_memory.h"
#include "daemon/host/stacks/unwinder.h"
#include "format/decode/line_decoder.h"

namespace profd::host {

using base::Result;

namespace {

constexpr size_t kMostThreads = 4096, kMostRunning = 256;
constexpr size_t kStackBytes = 256 << 10, kRingBytes = 32 << 10;
constexpr uint32_t kHz = 999;
constexpr uint64_t kMillisecondNs = 1'000'000;
constexpr uint64_t kForSamplesNs = 100 * kMillisecondNs, kForAllNs = 1000 * kMillisecondNs;
constexpr int kTries = 3;  // a thread that goes on while it is looked at
constexpr size_t kMostNameBytes = 64;
constexpr size_t kMostNamesBytes = TextChannel::kMostBytes / 2;

// Where a thread is that does not run: /proc/…/syscall, "232 0x5 … 0x7ffd1000 0x7f2b7ef1", the last two are
// its stack pointer and its instruction.
struct Standing {
  uint64_t stack = 0, instruction = 0;
  std::string line;
};

std::string OneLineOf(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<Standing> StandingOf(const std::string& task) {
  Standing standing;
  standing.line = OneLineOf(task + "/syscall");
  const size_t at = standing.line.rfind(' ');
  const size_t before =
      at == std::string::npos || at == 0 ? std::string::npos : standing.line.rfind(' ', at - 1);
  if (before == std::string::npos) return std::nullopt;  // "running"
  const auto address = [](std::string_view text) {
    return text.starts_with("0x") ? format::ToNumber<uint64_t>(text.substr(2), 16) : std::nullopt;
  };
  const auto stack = address(std::string_view(standing.line).substr(before + 1, at - before - 1));
  const auto instruction = address(std::string_view(standing.line).substr(at + 1));
  if (!stack || !instruction) return std::nullopt;
  standing.stack = *stack;
  standing.instruction = *instruction;
  return standing;
}

template <typename T>
void Append(std::vector<std::byte>& to, const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

// A sample as the kernel takes them, see AskForStacks: of what nobody knows of a thread that waits there are
// zeros.
std::vector<std::byte> SampleOf(pid_t pid, pid_t tid, const Standing& standing,
                                std::span<const std::byte> stack) {
  std::vector<std::byte> sample;
  Append(sample, perf_event_header{.type = PERF_RECORD_SAMPLE, .misc = 0, .size = 0});
  Append(sample, static_cast<uint32_t>(pid));
  Append(sample, static_cast<uint32_t>(tid));
  Append(sample, base::RawNs());
  Append(sample, uint64_t{0});  // CPU
  Append(sample, uint64_t{1});  // period
  Append(sample, uint64_t{0});  // the kernel's own call chain
  Append(sample, uint64_t{PERF_SAMPLE_REGS_ABI_64});
  for (const uint64_t value : UserRegisters::Waiting(standing.stack, standing.instruction))
    Append(sample, value);
  Append(sample, static_cast<uint64_t>(stack.size()));
  sample.insert(sample.end(), stack.begin(), stack.end());
  Append(sample, static_cast<uint64_t>(stack.size()));
  return sample;
}

// **Thread:** the stand-in's.
class Dump {
 public:
  Dump(pid_t pid, const std::string& name) : pid_(pid), memory_(pid), book_(ProfileBook::What::kOnCpu) {
    book_.TakeIn(pid, name);
  }

  ThreadStacks Take() {
    ListThreads();
    std::vector<size_t> running;
    for (size_t i = 0; i < stacks_.threads.size(); ++i) {
      ThreadPlace& thread = stacks_.threads[i];
      if (base::MonotonicNs() > end_ns_ || book_.lines.names.size() > kMostNamesBytes) {
        thread.why = "the process has too many threads to look at all";
      } else if (thread.state == 'R' || !TakeWaiting(thread)) {
        running.push_back(i);
      }
    }
    TakeRunning(running);
    // One that has stopped meanwhile.
    for (const size_t i : running) {
      ThreadPlace& thread = stacks_.threads[i];
      if (!thread.why.empty() && base::MonotonicNs() < end_ns_ && TakeWaiting(thread)) thread.why = "";
    }
    stacks_.names = std::move(book_.lines.names);
    stacks_.samples = std::move(book_.lines.samples);
    return std::move(stacks_);
  }

 private:
  std::string Task(pid_t tid) const {
    return "/proc/" + std::to_string(pid_) + "/task/" + std::to_string(tid);
  }

  void ListThreads() {
    std::error_code gone;
    for (std::filesystem::directory_iterator entry("/proc/" + std::to_string(pid_) + "/task", gone), end;
         !gone && entry != end; entry.increment(gone)) {
      const auto tid = format::ToNumber<pid_t>(entry->path().filename().native());
      if (!tid) continue;
      if (stacks_.threads.size() >= kMostThreads) {
        ++stacks_.left_out;
        continue;
      }
      ThreadPlace thread;
      thread.tid = *tid;
      thread.name = CommandName(*tid);
      thread.state = StateOf(*tid);
      if (thread.state != 0) stacks_.threads.push_back(std::move(thread));
    }
    std::ranges::sort(stacks_.threads, {}, &ThreadPlace::tid);
  }

  // False: it runs.
  bool TakeWaiting(ThreadPlace& thread) {
    const std::string task = Task(thread.tid);
    std::vector<std::byte> stack(kStackBytes);
    for (int i = 0; i < kTries; ++i) {
      const auto standing = StandingOf(task);
      if (!standing) return false;
      thread.waits_in = OneLineOf(task + "/wchan");
      if (thread.waits_in == "0") thread.waits_in.clear();
      const size_t size = memory_.Read(standing->stack, stack);
      const std::vector<std::byte> sample =
          SampleOf(pid_, thread.tid, *standing, std::span<const std::byte>(stack).first(size));
      const size_t taken = book_.lines.samples.size();
      book_.Take(sample, kernel_);
      // Python's frames were read after its stack: where it has not moved they belong together.
      const auto still = StandingOf(task);
      if (still && still->line == standing->line) {
        thread.state = StateOf(thread.tid);
        return true;
      }
      book_.lines.samples.resize(taken);
    }
    return false;
  }

  // What runs is where the kernel finds it at the next tick of its clock.
  void TakeRunning(std::span<const size_t> running) {
    perf_event_attr attr = OnCpuAttributes(kHz, false);
    attr.exclude_callchain_kernel = 1;
    attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = 0;
    std::list<std::pair<size_t, PerfRing>> rings;
    for (const size_t i : running) {
      ThreadPlace& thread = stacks_.threads[i];
      thread.waits_in.clear();
      if (rings.size() >= kMostRunning) {
        thread.why = "too many threads run";
        continue;
      }
      auto ring = PerfRing::Open(attr, thread.tid, -1, kRingBytes);
      if (ring.ok()) {
        ring->Enable();
        rings.emplace_back(i, std::move(ring).value());
      } else {
        thread.why = ring.status().message();
      }
    }
    const uint64_t until_ns = std::min(end_ns_, base::MonotonicNs() + kForSamplesNs);
    while (!rings.empty() && base::MonotonicNs() < until_ns) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      std::erase_if(rings, [this](std::pair<size_t, PerfRing>& one) { return TakeSampleOf(one.second); });
    }
    for (const auto& [i, ring] : rings) stacks_.threads[i].why = "it did not get a CPU while profd looked";
  }

  bool TakeSampleOf(PerfRing& ring) {
    bool taken = false;
    ring.Drain([&](PerfRecord record) {
      if (taken || LoadAt<perf_event_header>(record, 0).type != PERF_RECORD_SAMPLE) return;
      book_.Take(record, kernel_);
      taken = true;
    });
    if (taken) ring.Disable();
    return taken;
  }

  const pid_t pid_;
  const uint64_t end_ns_ = base::MonotonicNs() + kForAllNs;
  const KernelNames kernel_;  // nobody asks: a thread that waits says in which function it does
  ProcessMemory memory_;
  ProfileBook book_;
  ThreadStacks stacks_;
};

// The answer: names, samples, and a line for each thread, with a zero between.
constexpr char kEnd = '\0', kTab = '\t';

std::string Text(const ThreadStacks& stacks) {
  std::string text = stacks.names + kEnd + stacks.samples + kEnd;
  text += std::to_string(stacks.left_out) + '\n';
  for (const ThreadPlace& thread : stacks.threads) {
    text += std::to_string(thread.tid) + kTab + thread.state + kTab + base::OneLine(thread.waits_in) + kTab +
            base::OneLine(thread.why) + kTab + base::OneLine(thread.name) + '\n';
  }
  return text;
}

std::string Next(std::string_view& text, char end) {
  const std::string_view one = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), one.size() + 1));
  return std::string(one);
}

Result<ThreadStacks> Of(std::string_view text) {
  ThreadStacks stacks;
  stacks.names = Next(text, kEnd);
  stacks.samples = Next(text, kEnd);
  stacks.left_out = format::ToNumber<size_t>(Next(text, '\n')).value_or(0);
  while (!text.empty() && stacks.threads.size() < kMostThreads) {
    const std::string line = Next(text, '\n');
    std::string_view rest = line;
    ThreadPlace thread;
    thread.tid = format::ToNumber<pid_t>(Next(rest, kTab)).value_or(0);
    const std::string state = Next(rest, kTab);
    if (!state.empty()) thread.state = state.front();
    thread.waits_in = Next(rest, kTab).substr(0, kMostNameBytes);
    thread.why = Next(rest, kTab);
    thread.name = std::string(rest.substr(0, kMostNameBytes));
    if (thread.tid > 0) stacks.threads.push_back(std::move(thread));
  }
  return stacks;
}

// "4711 name"
std::string Duty(std::string_view request) {
  const std::string pid = Next(request, ' ');
  return Text(Dump(format::ToNumber<pid_t>(pid).value_or(0), std::string(request)).Take());
}

}  // namespace

Result<ThreadStacks> ReadThreadStacks(pid_t pid, std::string_view name) {
  PROFD_ASSIGN_OR_RETURN(const std::string text, StandIn::AskOnce(
                                                     OwnerOf(pid), [] { return StandIn::Answer(&Duty); },
                                                     std::to_string(pid) + ' ' + std::string(name)));
  return Of(text);
}

}  // namespace profd::host
