#include "client/export/read/sources/agent_source.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "base/join.h"
#include "client/export/read/agent_stream.h"
#include "client/export/read/sources/profile_source.h"
#include "format/decode/agents/agent_lanes.h"

namespace profd::client {

namespace {

using format::AgentKind;
using format::Block;
using format::SpanKind;

// Passes on the kinds and devices that are wanted. **Thread:** one.
class KindSieve : public format::SpanSink {
 public:
  KindSieve(const Wanted& all, bool gave_kernels, format::SpanSink& to) : all_wanted_(all), to_(to) {
    for (size_t i = 0; i < format::kAgentKinds; ++i) {
      wanted_[i] = all.Kind(format::AgentKindName(static_cast<AgentKind>(i)));
      any_ = any_ || wanted_[i];
    }
    wanted_[static_cast<size_t>(AgentKind::kKernel)] &= !gave_kernels;
    all_ = !all.devices && std::ranges::all_of(wanted_, std::identity());
  }
  bool any() const { return any_; }
  void Process(const format::SpanProcess& process) override { to_.Process(process); }
  void Thread(const format::SpanThread& thread) override { to_.Thread(thread); }
  void Spans(const format::SpanBatch& batch) override {
    if (all_) return to_.Spans(batch);
    kept_.texts = batch.texts;
    kept_.spans.clear();
    kept_.tasks = batch.tasks;
    kept_.args = batch.args;
    std::copy_if(batch.spans.begin(), batch.spans.end(), std::back_inserter(kept_.spans),
                 [this](const format::Span& span) {
                   return wanted_[static_cast<size_t>(AgentKindOf(span.kind))] &&
                          all_wanted_.Device(span.device);
                 });
    if (!kept_.spans.empty()) to_.Spans(kept_);
  }

 private:
  const Wanted& all_wanted_;
  format::SpanSink& to_;
  bool wanted_[format::kAgentKinds] = {};
  bool any_ = false, all_ = false;
  format::SpanBatch kept_;
};

// **Thread:** one.
class AgentSource {
 public:
  AgentSource(const Capture& capture, const Wanted& wanted, bool gave_kernels, const Sinks& sinks)
      : capture_(capture), wanted_(wanted), sinks_(sinks), kinds_(wanted, gave_kernels, *sinks.spans) {}

  void Run() {
    if (capture_.agents.empty() || !kinds_.any()) return;
    if (!capture_.manifest || capture_.host() == nullptr) {
      for (const Stream& stream : capture_.agents) {
        if (IsProfileStream(stream.file)) continue;
        Skip(stream.path(), stream.bytes(), 0,
             "manifest.json or the host's clock is missing: the times of its records are unknown");
      }
      return;
    }
    uint32_t number = 0;
    for (const format::ManifestAgent& agent : capture_.manifest->agents) {
      if (sinks_.progress != nullptr && sinks_.progress->cancelled) return;
      const uint32_t program = number++;
      if (wanted_.Program(agent.lanes_file)) Process(agent, program);
    }
    for (const Stream& stream : capture_.agents) {
      if (IsProfileStream(stream.file)) continue;
      const auto known = [&stream](const format::ManifestAgent& agent) {
        return stream.file == agent.lanes_file || stream.file == agent.names_file;
      };
      const auto& agents = capture_.manifest->agents;
      // Other files of profd/ are not an agent's.
      if (stream.file.starts_with("agent_") && std::none_of(agents.begin(), agents.end(), known)) {
        Skip(stream.path(), stream.bytes(), 0, "of a process that manifest.json does not know");
      }
    }
  }

 private:
  void Skip(const std::string& stream, uint64_t bytes, uint64_t records, const char* why) {
    if (bytes > 0 || records > 0) sinks_.report->Skip({stream, 0, bytes, records, why});
  }

  // The storage limit has removed its oldest slices.
  static bool IsAged(const Stream& lanes) { return lanes.slices.front().number > 0; }

  // Records that a finished session has stored, beyond those that were read.
  uint64_t Missing(const format::ManifestAgent& agent, const Stream& lanes, uint64_t read) const {
    if (capture_.manifest->state != "sealed" || IsAged(lanes)) return 0;
    uint64_t stored = 0;
    for (const format::ManifestLane& lane : agent.lanes) stored += lane.records;
    return stored - std::min(stored, read);
  }

  // A program that marks nothing but steps has none, and no file of them.
  bool HadNames(const format::ManifestAgent& agent) const {
    return std::ranges::none_of(capture_.manifest->streams, [&agent](const format::ManifestStream& stream) {
      return stream.file == agent.names_file && stream.slices == 0;
    });
  }

  void Process(const format::ManifestAgent& agent, uint32_t number) {
    const Stream* lanes = FindAgentStream(capture_, agent.lanes_file);
    const Stream* names = FindAgentStream(capture_, agent.names_file);
    const std::string who = capture_.own_folder + "/" + agent.lanes_file;
    const std::string whose_names = capture_.own_folder + "/" + agent.names_file;
    if (lanes == nullptr) {
      uint64_t records = 0;
      for (const format::ManifestLane& lane : agent.lanes) records += lane.records;
      return Skip(who, 0, records, "not there");
    }
    format::AgentLanes decoder(agent, number, capture_.host()->clocks, *sinks_.texts, kinds_);
    if (!decoder.has_clock())
      return Skip(who, lanes->bytes(), 0, "no clock of the process is in manifest.json");
    if (!capture_.manifest->previous.empty()) decoder.Continues();
    const auto rank = agent.labels.find("rank");
    const std::string& session = capture_.manifest->name;
    std::string label = rank == agent.labels.end() ? std::string() : "rank " + rank->second;
    if (!session.empty()) base::AddTo(label, session);
    // As `ps` has it: the whole path is in the manifest.
    const std::string program = agent.executable.substr(agent.executable.rfind('/') + 1);
    kinds_.Process({agent.pid, program, label});
    if (names != nullptr) {
      AgentStream stream(capture_, *names, *sinks_.report, sinks_.progress);
      for (Block block; stream.Next(block);) {
        if (block.header.type == static_cast<uint16_t>(format::BlockType::kNames)) decoder.Names(block);
      }
      sinks_.report->Count(names->path(), "agent", stream.bytes_read(), stream.blocks());
    } else if (HadNames(agent)) {
      Skip(whose_names, 0, 1, "not there: nothing has a name");
    }
    AgentStream stream(capture_, *lanes, *sinks_.report, sinks_.progress);
    for (Block block; stream.Next(block);) {
      if (block.header.type == static_cast<uint16_t>(format::BlockType::kLane)) decoder.Lane(block);
    }
    const uint64_t missing = Missing(agent, *lanes, decoder.counts().records);
    decoder.Finish(stream.skipped() > 0 || missing > 0);
    const format::AgentCounts& counts = decoder.counts();
    sinks_.report->Count(lanes->path(), "agent", stream.bytes_read(), counts.records);
    Skip(who, 0, counts.damaged_slots, "slots that hold no record");
    if (missing > 0) {
      Skip(who, 0, missing, "not in the blocks that are there, though manifest.json counts them");
    } else if (const uint64_t blocks = counts.missing_blocks - (IsAged(*lanes) ? counts.blocks_before : 0);
               blocks > 0) {
      sinks_.report->Skip({who, 0, 0, 0, std::to_string(blocks) + " blocks are missing"});
    }
    Skip(who, 0, counts.no_room, "records of more ranges open at once than there is room for");
    Skip(whose_names, 0, counts.damaged_names, "names that are none");
    Report& report = *sinks_.report;
    report.Cut(who, counts.ends_alone, "end of a range that began before the recording",
               "ends of ranges that began before the recording");
    report.Note(who, counts.halves_cut, "range of which one end is missing, where records are missing",
                "ranges of which one end is missing, where records are missing");
    report.Cut(who, counts.unfinished, "range that had no end when the recording ended",
               "ranges that had no end when the recording ended");
  }

  const Capture& capture_;
  const Wanted& wanted_;
  const Sinks& sinks_;
  KindSieve kinds_;
};

}  // namespace

format::AgentKind AgentKindOf(SpanKind kind) {
  switch (kind) {
    case SpanKind::kMark:
      return AgentKind::kMark;
    case SpanKind::kCounter:
      return AgentKind::kCounter;
    case SpanKind::kStep:
      return AgentKind::kStep;
    case SpanKind::kKernel:
      return AgentKind::kKernel;
    case SpanKind::kComm:
      return AgentKind::kComm;
    case SpanKind::kApi:
      return AgentKind::kApi;
    case SpanKind::kMemory:
      return AgentKind::kMemory;
    default:
      return AgentKind::kRange;
  }
}

void DecodeAgents(const Capture& capture, const Wanted& wanted, bool gave_kernels, const Sinks& sinks) {
  AgentSource(capture, wanted, gave_kernels, sinks).Run();
}

}  // namespace profd::client
