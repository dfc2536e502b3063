#include "daemon/host/scouts/profile_book.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "daemon/host/events/thread_events.h"
#include "daemon/host/files/row_text.h"
#include "daemon/host/process/process.h"
#include "format/decode/host/cpu_profile.h"

namespace profd::host {

namespace {

constexpr size_t kMaxStacks = 1 << 18;  // beyond it samples keep their innermost frame only
constexpr size_t kMaxPathBytes = 4096;
constexpr size_t kMaxTableBytes = 64 << 20, kMaxPythonFunctions = 1 << 17, kMaxStrangers = 1 << 16;
constexpr size_t kMaxWaitingBytes = 8 << 20;  // of samples that nobody has taken
constexpr size_t kMaxBeginnings = 4096;
constexpr size_t kMaxNoted = 1024;
// The kernel notes the frames, and then makes the sample; the clocks of both are brought together.
constexpr uint64_t kNotedBeforeNs = 400'000, kNotedBehindNs = 100'000;
constexpr size_t kTidAt = 12;     // of a sample
constexpr size_t kIdsAtEnd = 24;  // of a record that is no sample: pid, tid, time, cpu

void AppendHex(std::string& text, uint64_t value) {
  char digits[16];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value, 16).ptr);
}

std::string_view TextAt(PerfRecord record, size_t at, size_t max) {
  if (at >= record.size()) return {};
  const char* text = reinterpret_cast<const char*>(record.data()) + at;
  return {text, ::strnlen(text, std::min(max, record.size() - at))};
}

// Of a record that is no sample.
uint64_t TimeAtEnd(PerfRecord record) {
  return record.size() < kIdsAtEnd ? 0 : LoadAt<uint64_t>(record, record.size() - kIdsAtEnd + 8);
}

bool MayBePython(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("python") || name.starts_with("libpython");
}

}  // namespace

// Of the fields in their order: TID, TIME, CPU, PERIOD, CALLCHAIN, REGS_USER, STACK_USER.
struct ProfileBook::Sample {
  static constexpr size_t kTimeAt = 16, kCpuAt = 24, kPeriodAt = 32, kCountAt = 40, kChainAt = 48;

  explicit Sample(PerfRecord from) : record(from) {
    const size_t room = record.size() < kChainAt ? 0 : (record.size() - kChainAt) / 8;
    chain = std::min<uint64_t>(LoadAt<uint64_t>(record, kCountAt), room);
    size_t at = kChainAt + chain * 8;
    if (LoadAt<uint64_t>(record, at) != PERF_SAMPLE_REGS_ABI_64) return;
    at += 8;
    std::vector<uint64_t> values(UserRegisters::Count());
    for (uint64_t& value : values) value = LoadAt<uint64_t>(record, std::exchange(at, at + 8));
    const auto bytes = LoadAt<uint64_t>(record, at);
    if (bytes == 0 || at + 8 > record.size() || bytes > record.size() - at - 8) return;
    const auto used = LoadAt<uint64_t>(record, at + 8 + bytes);
    registers = UserRegisters::From(values);
    stack = {registers->stack, record.subspan(at + 8, std::min(bytes, used))};
  }
  uint64_t ChainAt(size_t i) const { return LoadAt<uint64_t>(record, kChainAt + 8 * i); }

  PerfRecord record;
  size_t chain = 0;
  std::optional<UserRegisters> registers;  // with a stack
  StackCopy stack;
};

void ProfileBook::TakeIn(pid_t pid, std::string_view name) {
  if (members_.contains(pid) || !ProcessExists(pid)) return;
  Member& member = NewMember(pid, name);
  if (!MayLookAt(pid)) return Drop(pid);
  member.user = ChargedTo(pid);
  member.taken_in_ns = base::RawNs();
  for (const CodeMapping& mapping : CodeOf(pid, member)) Map(member, mapping);
  if (probe_ == nullptr) return;
  FindPython(pid, member);
  if (!member.python) return;
  for (const pid_t tid : Threads({&pid, 1})) HaveNoted(tid, member);
}

void ProfileBook::HaveNoted(pid_t tid, Member& member) {
  if (const auto thread = member.python->ThreadOf(member.memory, tid)) probe_->Add(*thread);
}

void ProfileBook::Relearn() {
  std::erase_if(members_, [this](const auto& entry) {
    if (ProcessExists(entry.first) && !entry.second.memory.IsGone() && MayLookAt(entry.first)) return false;
    if (entry.second.python) --pythons_;
    return true;
  });
  for (auto& [pid, member] : members_) {
    const std::vector<CodeMapping> now = CodeOf(pid, member);
    const bool same = std::ranges::all_of(now, [&code = member.code](const CodeMapping& mapping) {
      const CodeMapping* known = code.Find(mapping.begin);
      return known != nullptr && *known == mapping;
    });
    if (same) continue;
    if (std::exchange(member.python, std::nullopt)) --pythons_;
    member.looked_for_python = false;
    member.beginnings.clear();
    member.images.clear();
    member.code.Clear();
    for (const CodeMapping& mapping : now) Map(member, mapping);
  }
}

std::vector<CodeMapping> ProfileBook::CodeOf(pid_t pid, const Member& member) {
  std::vector<std::pair<CodeMapping, Module>> found;
  ReadCode(pid, [&](CodeMapping mapping, Module module) { found.emplace_back(mapping, std::move(module)); });
  std::vector<CodeMapping> code;
  if (member.memory.IsGone()) return code;  // it was another's that was read, perhaps
  for (auto& [mapping, module] : found) {
    mapping.module = NumberOf(std::move(module));
    code.push_back(mapping);
  }
  return code;
}

ProfileBook::Member& ProfileBook::NewMember(pid_t pid, std::string_view name) {
  Name("process", pid, -1, name);
  strangers_.erase(pid);
  Member& member = members_[pid];
  if (member.python) --pythons_;
  const uid_t user = member.user;  // if it executes another program
  member = {};
  member.user = user;
  member.name = name;
  member.memory = ProcessMemory(pid);
  return member;
}

void ProfileBook::Drop(pid_t pid) {
  const auto member = members_.find(pid);
  if (member == members_.end()) return;
  if (member->second.python) --pythons_;
  members_.erase(member);
}

// Of what has gone only what it had been is known.
bool ProfileBook::MayLookAt(pid_t pid) const {
  return user_ == 0 || !ProcessExists(pid) || OwnerOf(pid) == user_;
}

void ProfileBook::CloseMemories() {
  for (auto& [pid, member] : members_) member.memory.Close();
}

void ProfileBook::Take(PerfRecord record, const KernelNames& kernel) {
  const auto header = LoadAt<perf_event_header>(record, 0);
  const auto pid = LoadAt<pid_t>(record, 8);
  const auto second = LoadAt<pid_t>(record, 12);  // tid, of a fork the parent's pid
  const auto member = members_.find(pid);
  switch (header.type) {
    case PERF_RECORD_SAMPLE:
      if (what_ == What::kOffCpu) {
        ++switches_;
        waits_[second] = {{record.begin(), record.end()}};
        begun_.push_back(second);
      } else if (member != members_.end()) {
        TakeSample(record, pid, second, member->second, LoadAt<uint64_t>(record, Sample::kPeriodAt),
                   [&] { return StackOf(Sample(record), kernel, pid, member->second, Python::kRead); });
      } else if (strangers_.size() < kMaxStrangers) {
        strangers_.insert(pid);
      }
      break;
    case PERF_RECORD_MMAP2:
      if (member != members_.end()) TakeMapping(record, member->second);
      break;
    case PERF_RECORD_COMM:
      if (member == members_.end()) break;
      if ((header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0 &&
          TimeAtEnd(record) >= member->second.taken_in_ns) {
        NewMember(pid, TextAt(record, 16, 16));
        if (!MayLookAt(pid)) {
          Drop(pid);
          break;
        }
      }
      member->second.named.insert(second);
      Name("thread", pid, second, TextAt(record, 16, 16));
      break;
    case PERF_RECORD_FORK:
      if (pid != second) TakeFork(pid, second, TimeAtEnd(record));
      break;
    case PERF_RECORD_EXIT:
      // Its number may already be another's, whose birth then is still to come.
      if (LoadAt<pid_t>(record, 16) == pid && member != members_.end() &&
          (!ProcessExists(pid) || member->second.memory.IsGone()))
        Drop(pid);
      break;
    case PERF_RECORD_SWITCH:
      TakeSwitch(record, kernel);
      break;
    case PERF_RECORD_LOST:
      lines.lost += LoadAt<uint64_t>(record, 16);
      ForgetWaits();
      break;
    default:
      break;
  }
}

// A thread has stopped, after its sample, or goes on.
void ProfileBook::TakeSwitch(PerfRecord record, const KernelNames& kernel) {
  if (record.size() < kIdsAtEnd) return;
  const auto tid = LoadAt<pid_t>(record, record.size() - kIdsAtEnd + 4);
  const auto wait = waits_.find(tid);
  if (wait == waits_.end()) return;
  const uint16_t misc = LoadAt<perf_event_header>(record, 0).misc;
  if ((misc & PERF_RECORD_MISC_SWITCH_OUT) != 0) {
    // Another one runs in its place.
    if ((misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) == 0) return;
    wait->second.has_work = true;
    if (std::exchange(wait->second.stack, {})) begun_.push_back(tid);  // looked at as of another kind
    return;
  }
  TakeWait(wait->second, LoadAt<uint64_t>(record, record.size() - kIdsAtEnd + 8), kernel);
  waits_.erase(wait);
}

void ProfileBook::LookAtWaits(const KernelNames& kernel) {
  if (spare_) return;
  for (const pid_t tid : std::exchange(begun_, {})) {
    const auto found = waits_.find(tid);
    if (found == waits_.end() || found->second.stack) continue;
    Wait& wait = found->second;
    const auto member = members_.find(LoadAt<pid_t>(wait.record, 8));
    if (member == members_.end()) continue;
    if (!member->second.looked_for_python) FindPython(member->first, member->second);
    if (!member->second.python) continue;
    wait.stack =
        StackOf(Sample(wait.record), kernel, member->first, member->second, Python::kRead, wait.has_work);
    wait.looked_at_ns = base::RawNs();
  }
}

void ProfileBook::TakeWait(const Wait& wait, uint64_t end_ns, const KernelNames& kernel) {
  const auto begin_ns = LoadAt<uint64_t>(wait.record, Sample::kTimeAt);
  const auto member = members_.find(LoadAt<pid_t>(wait.record, 8));
  if (member == members_.end() || end_ns < begin_ns + format::kLeastWaitNs) return;
  // Where it ran again before all was read, what was read may be of another function.
  const bool still = wait.stack && end_ns >= wait.looked_at_ns;
  TakeSample(wait.record, member->first, LoadAt<pid_t>(wait.record, kTidAt), member->second,
             end_ns - begin_ns, [&] {
               return still ? *wait.stack
                            : StackOf(Sample(wait.record), kernel, member->first, member->second,
                                      Python::kLeftOut, wait.has_work);
             });
}

void ProfileBook::EndWaits(uint64_t now_ns, const KernelNames& kernel) {
  for (const auto& [tid, wait] : waits_) TakeWait(wait, now_ns, kernel);
  ForgetWaits();
}

void ProfileBook::TakeFork(pid_t child, pid_t parent, uint64_t time_ns) {
  if (const auto known = members_.find(child); known != members_.end() && time_ns < known->second.taken_in_ns)
    return;  // it was told of sooner
  const auto of = members_.find(parent);
  if (of == members_.end()) {
    Drop(child);  // the number of one that has gone
    return;
  }
  // Its memory is a copy: what is known of the parent's holds.
  CodeMap code = of->second.code;
  auto images = of->second.images;
  auto python = of->second.python;
  const bool looked = of->second.looked_for_python;
  const uid_t user = of->second.user;
  Member& born = NewMember(child, std::string(of->second.name));
  born.user = user;
  // It may have gone, and its number be another's by now.
  if (ParentOf(child) != parent && ChargedTo(child) != user) born.memory = {};
  born.code = std::move(code);
  born.images = std::move(images);
  born.looked_for_python = looked;
  born.python = std::move(python);
  if (born.python) ++pythons_;
}

void ProfileBook::TakeMapping(PerfRecord record, Member& member) {
  constexpr size_t kPathAt = 72;
  const auto begin = LoadAt<uint64_t>(record, 16);
  Module module{.major = LoadAt<uint32_t>(record, 40),
                .minor = LoadAt<uint32_t>(record, 44),
                .inode = LoadAt<uint64_t>(record, 48),
                .path = std::string(TextAt(record, kPathAt, kMaxPathBytes))};
  Map(member, {begin, begin + LoadAt<uint64_t>(record, 24), LoadAt<uint64_t>(record, 32),
               NumberOf(std::move(module))});
}

// 0: of memory without a file.
uint32_t ProfileBook::NumberOf(Module module) {
  if (IsAnonymous(module.path)) return 0;
  const auto number = first_number_ + static_cast<uint32_t>(modules_.size()) + 1;
  const auto [known, is_new] = modules_.try_emplace(std::move(module), number);
  if (!is_new) return known->second;
  std::string& row = lines.names;
  row += "module ";
  AppendNumber(row, number);
  row += ' ';
  AppendNumber(row, known->first.major);
  row += ':';
  AppendNumber(row, known->first.minor);
  row += ' ';
  AppendNumber(row, known->first.inode);
  row += ' ' + base::OneLine(known->first.path, kMaxPathBytes) + '\n';
  if (MayBePython(known->first.path)) python_modules_.insert(number);
  return number;
}

void ProfileBook::Map(Member& member, const CodeMapping& mapping) {
  if (mapping.module != 0) {
    member.images.erase(mapping.module);
    if (python_modules_.contains(mapping.module) && !member.python) member.looked_for_python = false;
  }
  member.code.Add(mapping);
}

void ProfileBook::TakeSample(PerfRecord record, pid_t pid, pid_t tid, Member& member, uint64_t period,
                             const std::function<uint32_t()>& stack) {
  if (tid == 0) return;
  if (tid < 0) tid = pid;  // of a thread that is about to end, which has no number any more
  const auto time_ns = LoadAt<uint64_t>(record, Sample::kTimeAt);
  ++samples_;
  if (lines.samples.size() >= kMaxWaitingBytes) {
    lines.Lose(1, time_ns, time_ns);
    return;
  }
  if (member.named.insert(tid).second) {
    const std::string name = CommandName(tid);
    Name("thread", pid, tid, name.empty() ? member.name : name);
  }
  const uint32_t number = stack();
  std::string& row = lines.samples;
  bool first = true;
  for (const uint64_t value :
       {time_ns, static_cast<uint64_t>(pid), static_cast<uint64_t>(tid),
        uint64_t{LoadAt<uint32_t>(record, Sample::kCpuAt)}, period, uint64_t{number}}) {
    if (!std::exchange(first, false)) row += ' ';
    AppendNumber(row, value);
  }
  row += '\n';
}

uint32_t ProfileBook::StackOf(const Sample& sample, const KernelNames& kernel, pid_t pid, Member& member,
                              Python python, bool has_work) {
  frames_.clear();
  innermost_ = 0;
  if (has_work) KernelFrame(format::kWaitsForCpu);
  bool in_kernel = false, is_innermost = true;
  for (size_t i = 0; i < sample.chain; ++i) {
    const uint64_t address = sample.ChainAt(i);
    if (address >= static_cast<uint64_t>(PERF_CONTEXT_MAX)) {
      in_kernel = address == static_cast<uint64_t>(PERF_CONTEXT_KERNEL);
    } else if (in_kernel) {
      KernelFrame(kernel.Find(is_innermost ? address : address - 1));
      is_innermost = false;
    }
  }
  UserFrames(sample, pid, member, python);
  return StackNumber(pid);
}

void ProfileBook::UserFrames(const Sample& sample, pid_t pid, Member& member, Python python) {
  if (spare_) ++spared_;
  if (!spare_ && sample.registers && Unwound(sample, pid, member, python)) return;
  // As the kernel found it by frame pointers.
  bool user = false, innermost = true;
  for (size_t i = 0; i < sample.chain; ++i) {
    const uint64_t address = sample.ChainAt(i);
    if (address >= static_cast<uint64_t>(PERF_CONTEXT_MAX)) {
      user = address == static_cast<uint64_t>(PERF_CONTEXT_USER);
      continue;
    }
    if (!user) continue;
    const CodeMapping* mapping = member.code.Find(address);
    // Code without frame pointers leaves anything where they would be: no caller is outside of all code.
    if (mapping == nullptr && !innermost) break;
    UserFrame(mapping, std::exchange(innermost, false) ? address : address - 1);
  }
}

bool ProfileBook::Unwound(const Sample& sample, pid_t pid, Member& member, Python python) {
  Unwind(
      *sample.registers, sample.stack, [&](uint64_t address) { return Code(address, pid, member); }, native_);
  if (!member.looked_for_python) FindPython(pid, member);
  if (member.python && python == Python::kRead) {
    if (JoinedFrames(sample, member)) return true;
  } else {
    for (const NativeFrame& frame : native_.frames) UserFrame(member.code.Find(frame.address), frame.address);
  }
  if (native_.next == 0) return true;
  // Frame pointers may lead on where the copy of the stack has ended.
  bool behind = false;
  for (size_t i = 0; i < sample.chain; ++i) {
    const uint64_t address = sample.ChainAt(i);
    if (behind) {
      const CodeMapping* mapping = member.code.Find(address);
      if (mapping == nullptr) break;
      UserFrame(mapping, address - 1);
    }
    behind = behind || address == native_.next;
  }
  return true;
}

void ProfileBook::Note(const PythonFrames& frames, uint64_t time_ns) {
  if (noted_count_ >= kMaxNoted) {  // of threads whose samples have got lost
    noted_.clear();
    noted_count_ = 0;
  }
  noted_[static_cast<pid_t>(frames.tid)].push_back({time_ns, frames});
  ++noted_count_;
}

// Once.
std::optional<PythonFrames> ProfileBook::NotedOf(pid_t tid, uint64_t time_ns) {
  const auto of = noted_.find(tid);
  if (of == noted_.end()) return std::nullopt;
  std::optional<PythonFrames> found;
  while (!found && !of->second.empty() && of->second.front().time_ns <= time_ns + kNotedBehindNs) {
    if (of->second.front().time_ns + kNotedBeforeNs >= time_ns) found = of->second.front().frames;
    of->second.pop_front();
    --noted_count_;
  }
  if (of->second.empty()) noted_.erase(of);
  return found;
}

// Of the program and of Python. Where the way to the callers ends, Python knows on; and what had called the
// thread's first function of Python at another time has done so now. False: the way ended, and nobody knows
// on.
bool ProfileBook::JoinedFrames(const Sample& sample, Member& member) {
  const auto tid = LoadAt<pid_t>(sample.record, kTidAt);
  const auto noted = NotedOf(tid, LoadAt<uint64_t>(sample.record, Sample::kTimeAt));
  if (!noted && probe_ != nullptr) HaveNoted(tid, member);
  const PythonStacks::Found found = member.python->Of(
      member.memory, tid, native_, sample.stack,
      [this](const PythonFunction& function) { return PythonNumber(function); }, noted ? &*noted : nullptr);
  size_t evaluation = 0, behind = 0;  // where the frames begin that are outside of all Python
  uint32_t first = 0;
  const auto add = [&](const PythonStacks::Places& places) {
    for (const PythonStacks::Place& place : places) PythonFrame(place);
    if (places.empty()) return;
    behind = frames_.size();
    first = places.back().function;
  };
  for (const NativeFrame& frame : native_.frames) {
    if (member.python->Evaluates(frame.address)) {
      const PythonStacks::Places& places = found.evaluations[evaluation++];
      add(places);
      if (!places.empty()) continue;
    }
    UserFrame(member.code.Find(frame.address), frame.address);
  }
  if (native_.complete) {
    if (behind == 0) return true;
    if (member.beginnings.size() >= kMaxBeginnings) member.beginnings.clear();
    member.beginnings[{tid, first}] = frames_.substr(behind);
    return true;
  }
  if (!found.to_the_first && found.callers.empty()) return false;
  if (behind != 0) frames_.resize(behind);
  add(found.callers);
  const auto known = member.beginnings.find({tid, first});
  if (found.to_the_first && known != member.beginnings.end()) frames_ += known->second;
  return true;
}

CodeAt ProfileBook::Code(uint64_t address, pid_t pid, Member& member) {
  const CodeMapping* mapping = member.code.Find(address);
  if (mapping == nullptr) return {};
  CodeAt code{.is_code = true};
  if (mapping->module == 0) return code;
  const Image* image = ImageOf(*mapping, pid, member);
  if (image == nullptr) return code;
  code.bias = image->bias;
  if (table_bytes_ > kMaxTableBytes) {
    tables_.clear();
    table_bytes_ = 0;
  }
  const auto [at, is_new] = tables_.try_emplace(mapping->module, member.memory, image->elf, image->bias);
  FrameTable& table = at->second;
  const size_t before = is_new ? 0 : table.bytes();
  code.row = table.Find(member.memory, image->bias, address - image->bias);
  table_bytes_ += table.bytes() - before;
  return code;
}

const ProfileBook::Image* ProfileBook::ImageOf(const CodeMapping& mapping, pid_t pid, Member& member) {
  const auto known = member.images.find(mapping.module);
  if (known != member.images.end()) return known->second ? &*known->second : nullptr;
  std::optional<Image>& image = member.images[mapping.module];
  const auto begin = FindImage(pid, mapping);
  auto elf = begin ? ElfImage::Read(member.memory, *begin) : std::nullopt;
  const auto address = elf ? elf->AddressOf(mapping.file_offset) : std::nullopt;
  if (!address) return nullptr;
  image = Image{std::move(*elf), mapping.begin - *address};
  return &*image;
}

void ProfileBook::FindPython(pid_t pid, Member& member) {
  member.looked_for_python = true;
  member.code.Each([&](const CodeMapping& mapping) {
    if (member.python || !python_modules_.contains(mapping.module)) return;
    const Image* image = ImageOf(mapping, pid, member);
    if (image == nullptr) return;
    member.python = PythonStacks::Find(member.memory, image->elf, image->bias);
    if (member.python) ++pythons_;
  });
}

void ProfileBook::NextFrame() {
  if (!frames_.empty() && innermost_ == 0) innermost_ = frames_.size();
  if (!frames_.empty()) frames_ += ';';
}

void ProfileBook::KernelFrame(std::string_view name) {
  const auto [known, is_new] =
      functions_.try_emplace(name, first_number_ + static_cast<uint32_t>(functions_.size()));
  NextFrame();
  frames_ += 'k';
  AppendNumber(frames_, known->second);
  if (!is_new) return;
  lines.names += "kernel ";
  AppendNumber(lines.names, known->second);
  lines.names += ' ';
  lines.names += name;
  lines.names += '\n';
}

void ProfileBook::UserFrame(const CodeMapping* mapping, uint64_t address) {
  NextFrame();
  if (mapping == nullptr || mapping->module == 0) {
    frames_ += '@';
    AppendHex(frames_, address);
    return;
  }
  AppendNumber(frames_, mapping->module);
  frames_ += '+';
  AppendHex(frames_, address - mapping->begin + mapping->file_offset);
}

void ProfileBook::PythonFrame(const PythonStacks::Place& place) {
  NextFrame();
  frames_ += 'p';
  AppendNumber(frames_, place.function);
  if (place.line == 0) return;
  frames_ += ':';
  AppendNumber(frames_, place.line);
}

uint32_t ProfileBook::PythonNumber(const PythonFunction& function) {
  std::string text = std::to_string(function.line) + ' ' + base::OneLine(function.name) + '\t' +
                     base::OneLine(function.file);
  if (python_functions_.size() >= kMaxPythonFunctions) return 0;
  const auto number = first_number_ + static_cast<uint32_t>(python_functions_.size() + 1);
  const auto [known, is_new] = python_functions_.try_emplace(std::move(text), number);
  if (is_new) lines.names += "python " + std::to_string(number) + ' ' + known->first + '\n';
  return known->second;
}

// Of what is in frames_.
uint32_t ProfileBook::StackNumber(pid_t pid) {
  if (frames_.empty()) return 0;
  if (stacks_.size() >= kMaxStacks && innermost_ != 0) frames_.resize(innermost_);
  std::string row = ' ' + std::to_string(pid) + ' ' + frames_ + '\n';
  const uint64_t key = std::hash<std::string>()(row);
  if (const auto known = stacks_.find(key); known != stacks_.end()) return known->second;
  if (stacks_.size() >= 2 * kMaxStacks) return 0;
  const auto number = first_number_ + static_cast<uint32_t>(stacks_.size() + 1);
  lines.names += "stack " + std::to_string(number) + row;
  stacks_.emplace(key, number);
  return number;
}

void ProfileBook::Name(const char* what, pid_t pid, pid_t tid, std::string_view name) {
  std::string& row = lines.names;
  row += what;
  row += ' ';
  AppendNumber(row, static_cast<uint64_t>(pid));
  if (tid >= 0) {
    row += ' ';
    AppendNumber(row, static_cast<uint64_t>(tid));
  }
  row += ' ' + base::OneLine(name) + '\n';
}

}  // namespace profd::host
