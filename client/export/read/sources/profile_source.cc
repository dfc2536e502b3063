#include "client/export/read/sources/profile_source.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/export/read/slices.h"
#include "client/export/symbols/elf_symbols.h"
#include "client/export/symbols/perf_map.h"
#include "format/decode/catalogue.h"
#include "format/decode/host/cpu_classes.h"
#include "format/decode/host/cpu_profile.h"
#include "format/decode/line_decoder.h"
#include "format/decode/span_writer.h"

namespace profd::client {

namespace {

using format::CpuFrame;
using format::TextId;
using format::ToNumber;
using format::Words;

constexpr size_t kMaxStacks = 1 << 20;

std::string Hex(uint64_t number) {
  char digits[16];
  return {digits, std::to_chars(digits, digits + sizeof digits, number, 16).ptr};
}

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// **Thread:** one.
class ProfileSource {
 public:
  ProfileSource(bool off_cpu, const Capture& capture, const Wanted& wanted, const Sinks& sinks)
      : off_cpu_(off_cpu),
        kind_(off_cpu ? format::kOffCpuKind : format::kCpuProfileKind),
        capture_(capture),
        wanted_(wanted),
        sinks_(sinks),
        texts_(*sinks.texts) {
    if (off_cpu && sinks.spans != nullptr) waits_.emplace(*sinks.spans, *sinks.texts, kind_);
    if (!capture.manifest) return;
    for (const format::ManifestKind& kind : capture.manifest->kinds) {
      if (kind.kind == kind_) cycles_ = kind.reason.starts_with("CPU cycles");
    }
  }

  void Run() {
    const Stream* samples = Find(off_cpu_ ? format::kOffCpuFile : format::kCpuProfileFile);
    const Stream* names = Find(off_cpu_ ? format::kOffCpuNamesFile : format::kCpuProfileNamesFile);
    if (samples == nullptr || !wanted_.Kind(kind_)) return;
    if (capture_.host() == nullptr || !capture_.host()->has_wall_clock())
      return Skip(*samples, samples->bytes(), 0,
                  "the host's clock is missing: nobody knows the times of its samples");
    if (names == nullptr) return Skip(*samples, samples->bytes(), 0, "its names are not there");
    EachLine(*names, [this](std::string_view line) { return TakeName(line); });
    const auto [bytes, records] =
        EachLine(*samples, [this](std::string_view line) { return TakeSample(line); });
    sinks_.report->Count(samples->path(), std::string(kind_), bytes, records);
    if (unknown_stacks_ > 0) Skip(*samples, 0, unknown_stacks_, "of a stack that has no names");
    for (const auto& [number, module] : modules_) {
      if (!module.why.empty()) sinks_.report->Note("no symbols: " + module.why);
    }
    GiveSums();
    if (waits_) waits_->Flush();
  }

 private:
  struct Python {
    std::string name;  // "work", in train.py, begins at 12: "work (train.py:12)"
    TextId file = 0;
    uint32_t line = 0;
  };
  struct Module {
    FileIdentity identity;
    std::string path;
    TextId name = 0;
    bool read = false;
    std::optional<ElfSymbols> symbols;
    std::string why;  // there are none
  };
  struct Stack {
    int64_t pid = 0;
    std::string text;  // until its names are known
    std::vector<ProfileFrame> frames;
  };

  const Stream* Find(std::string_view file) const {
    for (const Stream& stream : capture_.agents) {
      if (stream.file == file) return &stream;
    }
    return nullptr;
  }
  void Skip(const Stream& stream, uint64_t bytes, uint64_t records, const char* why) {
    sinks_.report->Skip({stream.path(), 0, bytes, records, why});
  }

  // Bytes and lines; what `take` does not know is reported.
  std::pair<uint64_t, uint64_t> EachLine(const Stream& stream,
                                         const std::function<bool(std::string_view)>& take) {
    Framed framed;
    framed.by = Framed::By::kLine;
    StreamReader reader(capture_, stream, framed, *sinks_.report, sinks_.progress);
    uint64_t lines = 0, damaged = 0;
    for (auto piece = reader.Next(); !piece.empty(); piece = reader.Next()) {
      std::string_view text(reinterpret_cast<const char*>(piece.data()), piece.size());
      while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        ++lines;
        if (!take(line)) ++damaged;
      }
    }
    if (damaged > 0) Skip(stream, 0, damaged, "lines that say nothing known");
    return {reader.bytes_read(), lines};
  }

  bool TakeName(std::string_view line) {
    Words words(line);
    const std::string_view what = words.Next();
    const auto number = ToNumber<uint32_t>(words.Next());
    if (!number) return false;
    const auto rest = [&words] {
      std::string_view text = words.rest();
      if (!text.empty()) text.remove_prefix(1);
      return text;
    };
    if (what == "stack") {
      const auto pid = ToNumber<int64_t>(words.Next());
      if (!pid || stacks_.size() >= kMaxStacks) return false;
      stacks_[*number] = {*pid, std::string(words.Next()), {}};
    } else if (what == "kernel") {
      functions_[*number] = texts_.Intern(rest());
    } else if (what == "python") {
      const auto line_number = ToNumber<uint32_t>(words.Next());
      return TakePython(*number, line_number, rest());
    } else if (what == "spared") {
      sinks_.report->Note(std::to_string(*number) +
                          " samples have callers by frame pointers only: more would have cost the machine "
                          "more than profd may");
    } else if (what == "process") {
      processes_[*number] = texts_.Intern(rest());
    } else if (what == "thread") {
      if (!ToNumber<int64_t>(words.Next())) return false;
    } else if (what == "module") {
      const std::string_view device = words.Next();
      const size_t colon = std::min(device.find(':'), device.size());
      const auto major = ToNumber<uint32_t>(device.substr(0, colon));
      const auto minor = ToNumber<uint32_t>(device.substr(std::min(colon + 1, device.size())));
      const auto inode = ToNumber<uint64_t>(words.Next());
      if (!major || !minor || !inode) return false;
      Module& module = modules_[*number];
      module.path = rest();
      module.name = texts_.Intern(BaseName(module.path));
      module.identity = {*major, *minor, *inode, std::max(capture_.begin_wall_ns(), capture_.end_wall_ns())};
    } else {
      return false;
    }
    return true;
  }

  bool TakePython(uint32_t number, std::optional<uint32_t> line, std::string_view name_and_file) {
    const size_t tab = name_and_file.find('\t');
    if (!line || tab == std::string_view::npos) return false;
    const std::string_view file = BaseName(name_and_file.substr(tab + 1));
    python_[number] = {std::string(name_and_file.substr(0, tab)), texts_.Intern(file), *line};
    return true;
  }
  ProfileFrame PythonFrame(const Python& python, uint32_t line) {
    const auto shown = [&](uint32_t at) {
      return texts_.Intern(python.name + " (" + std::string(texts_.Get(python.file)) + ':' +
                           std::to_string(at) + ')');
    };
    ProfileFrame frame = Named(shown(python.line), python.file);
    frame.line = line;
    if (line != 0) frame.place = shown(line);
    return frame;
  }

  bool TakeSample(std::string_view line) {
    const auto sample = format::ParseCpuSample(line);
    if (!sample) return false;
    const uint64_t wall_ns = capture_.host()->clocks.ToWall(format::Clock::kHostRaw, sample->raw_ns, memo_);
    if (wall_ns < wanted_.from_ns || wall_ns > wanted_.to_ns) return true;
    const auto stack = stacks_.find(sample->stack);
    if (stack == stacks_.end()) {
      ++unknown_stacks_;
      return true;
    }
    if (!stack->second.text.empty()) Resolve(stack->second);
    ProfileSample given;
    given.texts = &texts_;
    given.wall_ns = wall_ns;
    given.period = sample->period;
    given.cycles = cycles_;
    given.off_cpu = off_cpu_;
    given.pid = sample->pid;
    given.tid = sample->tid;
    const auto process = processes_.find(sample->pid);
    given.process = process == processes_.end() ? 0 : process->second;
    given.stack = sample->stack;
    given.frames = stack->second.frames;
    if (sinks_.profile != nullptr) sinks_.profile->Sample(given);
    if (waits_) {
      AddWait(given);
    } else if (!given.frames.empty()) {
      const ProfileFrame& innermost = given.frames.front();
      sums_[{innermost.function, innermost.module}] += static_cast<double>(sample->period);
    }
    last_wall_ns_ = std::max(last_wall_ns_, wall_ns);
    return true;
  }

  // Named after the program's function that waits.
  void AddWait(const ProfileSample& sample) {
    format::Span& span = waits_->Add(format::SpanKind::kOsCall);
    span.begin_ns = sample.wall_ns;
    span.end_ns = sample.wall_ns + std::min(sample.period, UINT64_MAX - sample.wall_ns);
    span.pid = sample.pid;
    span.tid = sample.tid;
    const auto own = std::ranges::find(sample.frames, false, &ProfileFrame::kernel);
    const std::string_view function =
        own == sample.frames.end() ? "[kernel]" : std::string_view(texts_.Get(own->place));
    const bool for_cpu = !sample.frames.empty() && sample.frames.front().kernel &&
                         texts_.Get(sample.frames.front().function) == format::kWaitsForCpu;
    span.name = texts_.Intern((for_cpu ? "waits for a CPU in " : "waits in ") + std::string(function));
  }

  void Resolve(Stack& stack) {
    std::string_view text = stack.text;
    while (!text.empty()) {
      const std::string_view one = text.substr(0, text.find(';'));
      text.remove_prefix(std::min(text.size(), one.size() + 1));
      const auto frame = format::ParseCpuFrame(one);
      stack.frames.push_back(frame ? FrameOf(*frame, stack.pid) : Unnamed("[unknown]", 0));
    }
    stack.text.clear();
  }
  static ProfileFrame Named(TextId function, TextId module) { return {function, module, function, 0, false}; }
  ProfileFrame Unnamed(const std::string& what, TextId module) { return Named(texts_.Intern(what), module); }

  ProfileFrame FrameOf(const CpuFrame& frame, int64_t pid) {
    switch (frame.what) {
      case CpuFrame::What::kKernel: {
        const auto known = functions_.find(frame.number);
        const TextId name = known == functions_.end() ? texts_.Intern("[kernel]") : known->second;
        return {name, texts_.Intern("[kernel]"), name, 0, true};
      }
      case CpuFrame::What::kPython: {
        const auto known = python_.find(frame.number);
        return known == python_.end() ? Unnamed("[python]", 0)
                                      : PythonFrame(known->second, static_cast<uint32_t>(frame.offset));
      }
      case CpuFrame::What::kAddress: {
        auto map = maps_.find(pid);
        if (map == maps_.end())
          map = maps_.emplace(pid, PerfMap::Of(static_cast<pid_t>(pid), capture_.begin_wall_ns())).first;
        const std::string_view name = map->second.Find(frame.offset);
        return name.empty() ? Unnamed("[unknown]", 0) : Named(texts_.Intern(name), texts_.Intern("[jit]"));
      }
      case CpuFrame::What::kModule:
        break;
    }
    const auto found = modules_.find(frame.number);
    if (found == modules_.end()) return Unnamed("[unknown]", 0);
    Module& module = found->second;
    if (!std::exchange(module.read, true)) {
      auto symbols =
          module.path == "[vdso]" ? ElfSymbols::ReadVdso() : ElfSymbols::Read(module.path, module.identity);
      if (symbols.ok()) {
        module.symbols = std::move(symbols).value();
      } else {
        module.why = symbols.status().message();
      }
    }
    const std::string_view name = module.symbols ? module.symbols->Find(frame.offset) : std::string_view();
    if (!name.empty()) return Named(texts_.Intern(Demangled(name)), module.name);
    return Unnamed("[" + std::string(texts_.Get(module.name)) + "+0x" + Hex(frame.offset) + "]", module.name);
  }

  void GiveSums() {
    if (sums_.empty() || sinks_.rows == nullptr) return;
    const format::Series& series = *format::FindSeries("pmu_functions");
    format::RowBatch batch;
    batch.series = &series;
    batch.kind = format::kCpuProfileKind;
    for (const auto& [key, sum] : sums_) {
      sinks_.rows->Label(series, -1, 1, key.first, texts_.Get(key.first));
      sinks_.rows->Label(series, -1, 2, key.second, texts_.Get(key.second));
      batch.wall_ns.push_back(last_wall_ns_);
      batch.keys.insert(batch.keys.end(),
                        {static_cast<int64_t>(format::PmuCpu::kHost), key.first, key.second});
      batch.values.push_back(sum);
    }
    sinks_.rows->Rows(batch);
  }

  const bool off_cpu_;
  const std::string_view kind_;
  const Capture& capture_;
  const Wanted& wanted_;
  const Sinks& sinks_;
  format::Texts& texts_;
  bool cycles_ = false;
  std::unordered_map<uint32_t, Stack> stacks_;
  std::map<uint32_t, Module> modules_;
  std::unordered_map<uint32_t, TextId> functions_;
  std::unordered_map<uint32_t, Python> python_;
  std::unordered_map<int64_t, TextId> processes_;
  std::unordered_map<int64_t, PerfMap> maps_;
  std::map<std::pair<TextId, TextId>, double> sums_;
  std::optional<format::SpanWriter> waits_;
  format::ClockMemo memo_;
  uint64_t unknown_stacks_ = 0, last_wall_ns_ = 0;
};

}  // namespace

bool IsProfileStream(std::string_view file) { return format::IsProfileFile(file); }

void DecodeProfile(const Capture& capture, const Wanted& wanted, const Sinks& sinks) {
  for (const bool off_cpu : {false, true}) ProfileSource(off_cpu, capture, wanted, sinks).Run();
}

}  // namespace profd::client
