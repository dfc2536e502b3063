#include "daemon/host/probes/profile_probe.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include "daemon/host/kernel_names.h"
#include "daemon/host/process_image.h"
#include "daemon/host/stacks/unwinder.h"
#include "format/own_folder.h"

namespace profd::host {

namespace {

// "3.11" of /usr/bin/python3.11; "" of what is no Python.
std::string PythonVersion(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with("python")) return "";
  name.remove_prefix(6);
  return std::string(name.substr(0, name.find_first_not_of("0123456789.")));
}

// By the names of the programs: to look for a library would be to wait for the locks of their memory.
std::string PythonNote(const Family& family) {
  std::string other;
  bool read = false;
  for (const auto& process : family.members()) {
    const std::string version = PythonVersion(ExecutableOf(process->pid()));
    if (version == "3.11" || version.starts_with("3.11.")) read = true;
    if (version.starts_with("3.") && version.find("3.11") != 0) other = version;
  }
  while (other.ends_with('.')) other.pop_back();
  if (!other.empty()) return "native frames only of Python " + other + ", perf maps";
  return read ? "Python functions, perf maps" : "native frames and perf maps";
}

// Takes off the lines that were taken; false: not all were.
template <typename Take>
bool EachLine(std::string& lines, Take take) {
  size_t taken = 0;
  while (taken < lines.size()) {
    const size_t end = lines.find('\n', taken) + 1;
    if (!take(std::string_view(lines).substr(taken, end - taken))) break;
    taken = end;
  }
  lines.erase(0, taken);
  return lines.empty();
}

}  // namespace

void AskForStacks(perf_event_attr& attr, uint32_t stack_bytes) {
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
                     PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
  attr.sample_regs_user = UserRegisters::Mask();
  attr.sample_stack_user = stack_bytes;
  attr.disabled = 1;
  attr.mmap = attr.mmap2 = 1;
  attr.comm = attr.comm_exec = 1;
  attr.task = 1;
  attr.sample_id_all = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC_RAW;
}

std::string FramesNote(const Family& family) {
  return "call chains by call frames, else frame pointers; " + PythonNote(family) +
         (KernelNames::Readable() ? "" : "; no names of kernel functions");
}

ProfileProbe::ProfileProbe(const ProbeOptions& options, const ProbeContext& context, std::string_view file,
                           std::string_view names_file, const Start& start)
    : family_(*context.family),
      samples_(context.output.AddStream(format::kOwnFolder, std::string(file), options.stats)),
      names_(context.output.AddStream(format::kOwnFolder, std::string(names_file), options.stats)) {
  auto thread = start(Members());
  if (options.outcome) options.outcome->status = thread.status();
  if (thread.ok()) thread_.emplace(std::move(thread).value());
}

void ProfileProbe::Sample(const Tick& tick) {
  if (!thread_) return;
  // Who was born while the events were opened.
  if (std::exchange(first_, false)) thread_->TakeIn(Members());
  Write(tick);
}

bool ProfileProbe::MayFinish() {
  if (!thread_) return true;
  if (std::exchange(first_, false)) thread_->TakeIn(Members());
  thread_->Stop();
  return thread_->ended();
}

void ProfileProbe::Finish(const Tick& tick) {
  if (!thread_) return;
  Write(tick);
  // Something of a process's could not be read for seconds: nobody knows how much there was to come.
  if (!thread_->outcome().ok()) samples_.Lose(format::Loss::Where::kSampler, written_at_ns_, tick.raw_ns, 1);
  do {  // for which there was no room
    const auto left = static_cast<uint64_t>(std::ranges::count(lines_.samples, '\n')) + lines_.lost;
    if (left > 0)
      samples_.Lose(format::Loss::Where::kPool, tick.raw_ns, tick.raw_ns, left, lines_.samples.size());
  } while (thread_->Next(lines_));
  thread_.reset();
}

std::vector<NamedPid> ProfileProbe::Members() const {
  std::vector<NamedPid> members;
  for (const auto& process : family_.members()) members.emplace_back(process->pid(), process->comm());
  return members;
}

// Names first. What finds no room waits, and what comes after it.
void ProfileProbe::Write(const Tick& tick) {
  do {
    if (lines_.lost > 0) {
      samples_.Lose(format::Loss::Where::kSampler, lines_.lost_from_ns, lines_.lost_to_ns, lines_.lost);
      lines_.lost = 0;
    }
    if (!EachLine(lines_.names, [&](std::string_view line) { return names_.Append(tick, line, 0); })) return;
    EachLine(lines_.samples, [&](std::string_view line) { return samples_.Append(tick, line), true; });
  } while (thread_->Next(lines_));
  written_at_ns_ = tick.raw_ns;
}

}  // namespace profd::host
