#include "client/analyze/reading/capture_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <tuple>

#include "client/analyze/reading/host_stacks.h"
#include "client/analyze/reading/metadata.h"
#include "client/export/read/capture.h"
#include "client/export/read/missing.h"
#include "client/export/read/ranks.h"
#include "client/export/read/sources/pipeline.h"
#include "client/export/views/device/core_metrics.h"
#include "client/words/data_types.h"
#include "format/directory/own_folder.h"
#include "format/directory/simulated.h"
#include "format/kind.h"
#include "format/texts.h"

namespace profd::analyze {
namespace {

using base::Result;
using format::Span;
using format::SpanKind;

// Series that are looked at.
constexpr std::string_view kCgroups = "host_cgroup", kModules = "npu_module_mem", kFrequencies = "core_freq";

// Ranges of the Python package, profd.
constexpr std::string_view kCollectsGarbage = "Python: garbage collection";

// Takes what the pipeline of an export finds. **Thread:** one.
class Collector : public format::RowSink, public format::SpanSink, public client::ProfileSink {
 public:
  Collector(RankBuilder& builder, const client::Capture& capture)
      : builder_(builder), capture_(capture), not_available_(builder.Text("N/A")) {}

  void Label(const format::Series& series, int, size_t, int64_t value, std::string_view text) override {
    if (series.name == kCgroups) cgroups_[value].name = builder_.Text(text);
  }
  void Rows(const format::RowBatch& batch) override {
    if (batch.series->name == kCgroups) return TakeCgroups(batch);
    if (batch.series->name == kModules) return TakeModules(batch);
    if (batch.series->name != kFrequencies || batch.device < 0) return;
    for (size_t i = 0; i < batch.rows(); ++i) {
      const double hz = batch.values[i * batch.series->columns.size()];
      if (!std::isnan(hz))
        builder_.At(batch.device).frequencies.push_back({static_cast<Ns>(batch.wall_ns[i]), hz / 1e6});
    }
  }
  void Spans(const format::SpanBatch& batch) override {
    for (const Span& span : batch.spans) Take(batch, span);
  }
  void Sample(const client::ProfileSample& sample) override {
    HostPart& host = HostOf(static_cast<uint64_t>(sample.pid));
    const auto at = static_cast<Ns>(sample.wall_ns), period = static_cast<Ns>(sample.period);
    if (sample.pid <= 0 || at < 0 || period < 0 || period > kLongestWait) return;
    (sample.off_cpu ? host.has_waits : host.has_running) = true;
    // Of cycles nobody knows how long they took.
    if (sample.off_cpu ? period < RankBuilder::kShortestRange : sample.cycles || at < period) return;
    if (spans_ >= kMostSpans) {
      ++left_out_;
      return;
    }
    const uint32_t stack = StackOf(sample);
    if (stack == kNone) return;
    ++spans_;
    const uint64_t thread =
        static_cast<uint64_t>(sample.pid) << 32 | (static_cast<uint64_t>(sample.tid) & 0xFFFFFFFF);
    if (sample.off_cpu) {
      host.waits.push_back({at, at + period, thread, stack});
    } else {
      host.running.push_back({at - period, at, thread, stack});
    }
  }

  // What the kernel told, by program. `processes`: those whose cgroups were looked at.
  void GiveHosts(const std::vector<int64_t>& processes, const std::string& node,
                 const std::map<int64_t, int64_t>& inside, Part& part) {
    std::vector<CgroupLook> looks;
    for (auto& [key, group] : cgroups_) {
      for (size_t i = 1; i < group.looks.size(); ++i) {
        CgroupLook& look = group.looks[i];
        look.from = group.looks[i - 1].to;
        look.cgroup = group.name;
        if (look.from < look.to) looks.push_back(look);
      }
    }
    for (const int64_t process : processes) {
      if (process > 0 && !looks.empty()) HostOf(static_cast<uint64_t>(process)).cgroups = looks;
    }
    for (auto& [process, host] : hosts_) {
      host.process = process;
      host.node = node;
      if (const auto known = inside.find(static_cast<int64_t>(process)); known != inside.end())
        host.inside = static_cast<uint64_t>(std::max<int64_t>(known->second, 0));
      part.hosts.push_back(std::move(host));
    }
    part.stacks = std::move(stacks_);
  }
  uint64_t left_out() const { return left_out_; }

 private:
  static constexpr size_t kMostSpans = 4 << 20;
  static constexpr size_t kMostFrames = 64;  // of a stack
  static constexpr Ns kLongestWait = Ns{1} << 50;

  struct Cgroup {
    TextId name = 0;
    std::vector<CgroupLook> looks;
  };

  HostPart& HostOf(uint64_t process) { return hosts_[process]; }

  // kNone: of a thread of the agent's.
  uint32_t StackOf(const client::ProfileSample& sample) {
    const auto [at, is_new] = stack_numbers_.try_emplace(std::pair(sample.off_cpu, sample.stack),
                                                         static_cast<uint32_t>(stacks_.size()));
    if (!is_new) return at->second;
    if (IsAgents(sample.frames, *sample.texts)) return at->second = kNone;
    HostStack stack;
    stack.place = PlaceOf(sample.frames, *sample.texts);
    const ProgramPlace function = ProgramFunction(sample.frames, *sample.texts);
    if (function.place != 0) stack.function = builder_.Text(sample.texts->Get(function.place));
    stack.is_own = function.is_own;
    if (function.within != 0) stack.within = builder_.Text(sample.texts->Get(function.within));
    for (const client::ProfileFrame& frame : sample.frames.first(std::min(sample.frames.size(), kMostFrames)))
      stack.frames.push_back(builder_.Text(sample.texts->Get(frame.place)));
    stacks_.push_back(std::move(stack));
    return at->second;
  }

  void TakeCgroups(const format::RowBatch& batch) {
    const size_t keys = batch.series->keys.size(), columns = batch.series->columns.size();
    for (size_t i = 0; i < batch.rows(); ++i) {
      const double* values = batch.values.data() + i * columns;
      CgroupLook look;
      look.to = static_cast<Ns>(batch.wall_ns[i]);
      look.cpus = values[0];
      look.limit = values[1];
      look.throttled = values[4];
      cgroups_[batch.keys[i * keys]].looks.push_back(look);
    }
  }
  void TakeModules(const format::RowBatch& batch) {
    if (batch.device < 0) return;
    for (size_t i = 0; i < batch.rows(); ++i) {
      const double bytes = batch.values[i * batch.series->columns.size()];
      if (!std::isnan(bytes))
        builder_.At(batch.device)
            .memory.push_back(
                {static_cast<Ns>(batch.wall_ns[i]),
                 builder_.Text("module " + std::to_string(batch.keys[i * batch.series->keys.size()])),
                 bytes});
    }
  }

  TextId Text(const format::SpanBatch& batch, TextId id) {
    if (id == 0) return 0;
    if (id >= known_.size()) known_.resize(std::max<size_t>(id + 1, known_.size() * 2), kNone);
    if (known_[id] == kNone) known_[id] = builder_.Text(batch.texts->Get(id));
    return known_[id];
  }
  static uint64_t Thread(const Span& span) {
    return static_cast<uint64_t>(span.pid) << 32 | (static_cast<uint64_t>(span.tid) & 0xFFFFFFFF);
  }
  static int64_t Connection(const Span& span) {
    return span.connection == 0 ? RankBuilder::kNoConnection : static_cast<int64_t>(span.connection);
  }

  void Take(const format::SpanBatch& batch, const Span& span) {
    const auto begin = static_cast<Ns>(span.begin_ns), end = static_cast<Ns>(span.end_ns);
    if (begin < 0 || end < begin) return;
    switch (span.kind) {
      case SpanKind::kTask:
      case SpanKind::kKernel:
        return TakeTask(batch, span);
      case SpanKind::kComm:
        return TakeCollective(batch, span);
      case SpanKind::kApi: {
        const std::string_view name = batch.texts->Get(span.name);
        builder_.AddCall({begin, end, Text(batch, span.name), 0, KindOfCall(name)}, Thread(span),
                         Connection(span));
        return;
      }
      case SpanKind::kStep:
        if (batch.IsUnfinished(span)) return builder_.AddUnfinished(static_cast<int64_t>(span.value));
        return builder_.AddStep({static_cast<int64_t>(span.value), begin, end}, span.device, Thread(span));
      case SpanKind::kRange: {
        const bool is_garbage = batch.texts->Get(span.name).starts_with(kCollectsGarbage);
        return builder_.AddRange({begin, end, Thread(span), Text(batch, span.name),
                                  is_garbage ? RangeKind::kGarbage : RangeKind::kUser});
      }
      default:
        return;
    }
  }

  void TakeTask(const format::SpanBatch& batch, const Span& span) {
    if (span.device < 0) return;
    const format::TaskDetail* detail = batch.DetailOf(span);
    const bool is_kernel = span.kind == SpanKind::kKernel || (detail != nullptr && detail->has_op);
    const std::string_view type = batch.texts->Get(span.category);
    Task task;
    task.begin = static_cast<Ns>(span.begin_ns);
    task.end = static_cast<Ns>(span.end_ns);
    const bool is_copy = type.find("MEMCPY") != type.npos || type.find("PCIE_DMA") != type.npos;
    const bool is_ai_cpu = type.find("AI_CPU") != type.npos || type.find("AICPU") != type.npos;
    const bool is_core = type.find("AI_CORE") != type.npos || type.find("AICORE") != type.npos ||
                         type.find("VECTOR") != type.npos || type.find("MIX_AI") != type.npos ||
                         type == "AIC" || type == "AIV";
    if (!is_kernel && !is_copy && !is_ai_cpu && !is_core) return builder_.AddOther(Connection(span));
    task.work = is_copy ? Work::kCopy : is_ai_cpu ? Work::kAiCpu : Work::kCompute;
    task.name = Text(batch, span.name);
    TextId of_type = 0, shapes = 0;
    if (detail != nullptr) {
      of_type = Text(batch, detail->op_type);
      shapes = Text(batch, detail->input_shapes);
    }
    if (of_type == 0 || of_type == not_available_) of_type = task.name;
    if (shapes == not_available_) shapes = 0;
    task.kind = builder_.Class(
        {of_type, shapes, task.work, detail != nullptr ? detail->block_num : 0, IsOfVectors(type)});
    // Of what no program has told of, the log's pid is that of whom the recording was asked for.
    const auto pid = static_cast<uint64_t>(std::max<int64_t>(span.pid, 0));
    builder_.AddTask(span.device, task, span.stream, Connection(span), is_kernel ? pid : 0);
    if (pid > 0) builder_.At(span.device).process = pid;
    if (detail != nullptr && task.work == Work::kCompute) TakePipes(batch, *detail, span.device, task.kind);
  }

  void TakePipes(const format::SpanBatch& batch, const format::TaskDetail& detail, int device,
                 uint32_t kind) {
    const format::TaskCounters* counters = batch.CountersOf(detail);
    if (counters == nullptr) return;
    for (const bool vector : {false, true}) {
      const format::TaskCounters::Core& core = counters->core[vector];
      if (!core.counted || core.cycles == 0) continue;
      const auto [pipes, is_new] = pipes_.try_emplace({device, vector});
      if (is_new) pipes->second = PipesOf(device, vector);
      const auto events = client::EventsOf(core);
      for (const CountedPipe& pipe : pipes->second) {
        const client::CoreCounts counts{static_cast<double>(core.cycles), pipe.mhz, events};
        builder_.AddPipe(kind, pipe.pipe, pipe.metric.Value(counts));
      }
    }
  }
  struct CountedPipe {
    PipeOfCore pipe;
    client::CoreMetric metric;
    double mhz = 0;
  };
  std::vector<CountedPipe> PipesOf(int device, bool vector) const {
    std::vector<CountedPipe> pipes;
    for (const client::Side& side : capture_.sides) {
      if (side.facts.device != device) continue;
      for (client::CoreMetric& metric :
           client::CoreMetricsOf(side.facts, vector, client::CoreMode::kByTask)) {
        const auto pipe = PipeOf((vector ? "aiv_" : "aic_") + metric.name);
        if (pipe)
          pipes.push_back({*pipe, std::move(metric), vector ? side.facts.aiv_mhz : side.facts.aic_mhz});
      }
    }
    return pipes;
  }

  void TakeCollective(const format::SpanBatch& batch, const Span& span) {
    if (span.device < 0) return;
    Collective collective;
    collective.begin = static_cast<Ns>(span.begin_ns);
    collective.end = static_cast<Ns>(span.end_ns);
    collective.name = Text(batch, span.name);
    collective.group = Text(batch, span.category);
    collective.type = builder_.Text(CollectiveType(batch.texts->Get(span.name)));
    uint64_t count = 0, bytes = 0;
    for (const format::SpanArg& arg : batch.ArgsOf(span)) {
      const std::string_view key = batch.texts->Get(arg.key);
      if (key == "count" && arg.type != format::ArgType::kText && arg.type != format::ArgType::kF64)
        count = arg.bits;
      if (key == "data_type" && arg.type == format::ArgType::kText)
        bytes = client::ElementBytes(batch.texts->Get(static_cast<TextId>(arg.bits)));
      if (key == "group" && collective.group == 0 && arg.type == format::ArgType::kText)
        collective.group = Text(batch, static_cast<TextId>(arg.bits));
    }
    if (count < uint64_t{1} << 48) collective.bytes = count * bytes;
    builder_.AddCollective(span.device, collective, Connection(span));
    if (span.pid > 0) builder_.At(span.device).process = static_cast<uint64_t>(span.pid);
  }

  RankBuilder& builder_;
  const client::Capture& capture_;
  const TextId not_available_;
  std::map<std::pair<int, bool>, std::vector<CountedPipe>> pipes_;  // by device, of its vector cores
  std::vector<TextId> known_;
  std::map<uint64_t, HostPart> hosts_;
  std::vector<HostStack> stacks_;
  std::map<std::pair<bool, uint32_t>, uint32_t> stack_numbers_;
  std::map<int64_t, Cgroup> cgroups_;
  size_t spans_ = 0;
  uint64_t left_out_ = 0;
};

const char* WhyLost(format::Loss::Where where) {
  using Where = format::Loss::Where;
  switch (where) {
    case Where::kDriver:
      return "the driver's buffer was full";
    case Where::kPool:
      return "the disk was slower than the data";
    case Where::kWrite:
      return "the file system refused them";
    case Where::kSampler:
      return "profd had no time to read them";
    case Where::kAgent:
      return "the program's rings were full";
  }
  return "";
}

// Of the conditions that profd's looks at the devices found.
void TakeTroubles(const client::Capture& capture, RankBuilder& builder) {
  if (!capture.manifest || capture.host() == nullptr) return;
  const format::ClockMap& clocks = capture.host()->clocks;
  for (const format::ManifestPerturbation& found : capture.manifest->perturbations) {
    if (found.kind != format::kDeviceHealth || found.device < 0) continue;
    const auto wall = [&clocks](uint64_t ns) { return static_cast<Ns>(clocks.HostRawToWall(ns).ns); };
    const Ns to = found.to_ns == 0 ? std::numeric_limits<Ns>::max() : wall(found.to_ns);
    builder.ForEachRank([&](Rank& rank) {
      if (rank.device == found.device)
        rank.troubles.push_back({wall(found.from_ns), to, builder.Text(found.text)});
    });
  }
}

// Of what a device's tasks are known from: the task log, and what programs recorded of themselves.
void TakeLosses(const client::Capture& capture, RankBuilder& builder) {
  if (!capture.manifest || capture.host() == nullptr) return;
  const format::ClockMap& clocks = capture.host()->clocks;
  for (const format::ManifestStream& stream : capture.manifest->streams) {
    const std::string folder = stream.folder.substr(0, stream.folder.find('/'));
    const auto side = std::ranges::find(capture.sides, folder, &client::Side::folder);
    const auto users = capture.devices_of.find(stream.file);
    const bool is_task = side != capture.sides.end() && stream.kind == NameOf(format::Kind::kTask);
    const bool is_lanes = format::IsOwnFolder(folder) && stream.file.find(".lanes") != stream.file.npos;
    if (!is_task && !is_lanes) continue;
    builder.ForEachRank([&](Rank& rank) {
      const bool is_of_others =
          users != capture.devices_of.end() && !users->second.empty() && !users->second.contains(rank.device);
      if (is_task ? rank.device != side->facts.device : is_of_others) return;
      for (const format::Loss& loss : stream.losses) {
        rank.lost.push_back({static_cast<Ns>(clocks.HostRawToWall(loss.from_ns).ns),
                             static_cast<Ns>(clocks.HostRawToWall(loss.to_ns).ns), builder.Text(stream.file),
                             builder.Text(WhyLost(loss.where)), loss.records});
      }
    });
  }
  builder.ForEachRank([](Rank& rank) {
    std::ranges::sort(rank.lost, {},
                      [](const Lost& lost) { return std::tuple(lost.from, lost.to, lost.file); });
  });
}

}  // namespace

Result<Part> ReadCapture(const std::string& path, bool keeps_all) {
  client::Report report;
  PROFD_ASSIGN_OR_RETURN(client::Capture capture, client::OpenCapture(path, false, report));
  client::FindRanks(capture);
  RankBuilder builder(path, keeps_all);
  Collector collector(builder, capture);
  format::Texts texts;
  client::Sinks sinks;
  sinks.rows = &collector;
  sinks.spans = &collector;
  sinks.profile = &collector;
  sinks.texts = &texts;
  sinks.report = &report;
  sinks.overlap = false;
  // What is wrong with other kinds is no loss here.
  client::Wanted wanted;
  wanted.kinds = std::set<std::string, std::less<>>{
      "task",           "api",         "step-trace",   "low-power",        "agent-kernel",
      "agent-comm",     "agent-api",   "agent-range",  "agent-step",       "agent-memory",
      "npu-module-mem", "host-cgroup", "host-off-cpu", "host-cpu-profile", "aicore-task",
      "aivector-task"};
  client::Decode(capture, wanted, false, sinks);
  for (const client::Skipped& skipped : report.skipped())
    builder.Note((skipped.stream.empty() ? "" : skipped.stream + ": ") + skipped.why, true);
  if (capture.manifest) {
    for (const std::string& reason : capture.manifest->degraded)
      builder.Note("degraded while it was recorded: " + reason, false);
    for (const std::string& line : client::SilentKinds(*capture.manifest)) builder.Note(line, false);
  }
  std::string node;
  for (const client::Side& side : capture.sides) {
    if (node.empty()) node = side.facts.hostname;
  }
  builder.ForEachRank([&](Rank& rank) {
    rank.node = node;
    if (const auto known = capture.ranks.find(rank.device); known != capture.ranks.end())
      rank.number = known->second;
    for (const client::Side& side : capture.sides) {
      if (side.facts.device != rank.device) continue;
      rank.rated_mhz = side.facts.aic_mhz;
      rank.cores = static_cast<int>(side.facts.ai_core_num);
      rank.vector_cores = static_cast<int>(side.facts.aiv_num);
    }
    // Of a group of a program whose rank nobody knows they are not all known.
    for (const auto& [group, ranks] : capture.groups) {
      if (std::ranges::none_of(ranks, [](int64_t number) { return number < 0; }))
        rank.groups[group] = {"", std::vector<int64_t>(ranks.begin(), ranks.end())};
    }
    std::ranges::sort(rank.frequencies, {}, &Frequency::at);
    std::ranges::sort(rank.memory, {}, &MemoryLook::at);
  });
  client::Report of_metadata;  // what is wrong with it costs no data
  TakeMetadata(client::MetadataOf(capture, of_metadata), builder);
  TakeLosses(capture, builder);
  TakeTroubles(capture, builder);
  if (collector.left_out() > 0)
    builder.Note(std::to_string(collector.left_out()) + " samples and waits of threads are too many", true);
  std::vector<int64_t> processes;
  std::map<int64_t, int64_t> inside;
  if (capture.manifest) {
    processes = capture.manifest->pids;
    for (const format::ManifestAgent& agent : capture.manifest->agents)
      inside[agent.pid] = agent.container_pid;
  }
  Part part = builder.Finish();
  collector.GiveHosts(processes, node, inside, part);
  part.simulated = capture.manifest && capture.manifest->settings.contains(format::kSimulatedDevices);
  return part;
}

}  // namespace profd::analyze
