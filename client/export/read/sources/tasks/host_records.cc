#include "client/export/read/sources/tasks/host_records.h"

#include <algorithm>
#include <string>
#include <utility>

#include "client/export/read/agent_stream.h"
#include "client/export/read/slices.h"
#include "client/export/read/sources/tasks/cann_cursor.h"
#include "format/decode/cann/markers.h"
#include "format/decode/cann/operator_records.h"
#include "format/decode/decoder.h"
#include "format/kind.h"
#include "libagent/abi/record.h"

namespace profd::client {

using format::CannApiRecord;
using format::CannCapture;
using format::CannCapturedOpOf3;
using format::CannFusedOp;
using format::CannLogicStream;
using format::CannMarker;
using format::CannMemory;
using format::CannModel;
using format::CannStaticMemory;

namespace {

constexpr std::string_view kMemory = "additional.task_memory_info", kFused = "additional.fusion_op_info",
                           kStaticMemory = "additional.static_op_mem", kModels = "additional.graph_id_map",
                           kMarkers = "additional.msproftx", kCapturedOps = "additional.capture_op_info",
                           kLongCapturedOps = "variable.capture_op_info",
                           kCaptures = "compact.capture_stream_info";
constexpr uint64_t kMostPlaces = 100;  // of damaged lines, that are reported one by one
constexpr char kNoName[] = "names nothing, or is one more than there is room for";

// Gives all sound records of a kind; the others are counted, and said.
template <typename Record, typename Give>
void ForEach(const Capture& capture, const Side& host, std::string_view name, const Sinks& sinks, Give give) {
  Cursor<Record> records(capture, host, name, *sinks.report, sinks.progress);
  uint64_t damaged = 0;
  records.Drain(UINT64_MAX, SIZE_MAX, [&](const Record& record, bool) {
    if (IsDamage(record)) {
      ++damaged;
    } else {
      give(record);
    }
  });
  records.Count(*sinks.report, "api");
  if (damaged == 0) return;
  sinks.report->Skip({"host/data: " + std::string(name.substr(name.find('.') + 1)), 0, 0, damaged,
                      "records without their magic, or with numbers that cannot be"});
}

}  // namespace

void ReadNames(const Capture& capture, const Side& host, const Sinks& sinks, format::CannNames& names) {
  for (const std::string_view aging : kAging) {
    for (const bool types : {false, true}) {
      const Stream* stream = host.Find(std::string(aging).append(types ? kTypeNames : kHashNames));
      if (stream == nullptr) continue;
      Framed framed;
      framed.by = Framed::By::kLine;
      StreamReader reader(capture, *stream, framed, *sinks.report, sinks.progress);
      uint64_t lines = 0, bad = 0;
      for (auto piece = reader.Next(); !piece.empty(); piece = reader.Next()) {
        std::string_view text(reinterpret_cast<const char*>(piece.data()), piece.size());
        while (!text.empty()) {
          const size_t end = std::min(text.find('\n'), text.size());
          const std::string_view line = text.substr(0, end);
          text.remove_prefix(std::min(end + 1, text.size()));
          if (line.empty()) continue;
          ++lines;
          if (types ? names.TypeLine(line) : names.HashLine(line)) continue;
          if (++bad > kMostPlaces) continue;
          const auto in_piece =
              static_cast<uint64_t>(line.data() - reinterpret_cast<const char*>(piece.data()));
          auto [slice, offset] = reader.At(reader.piece_position() + in_piece);
          sinks.report->Skip({std::move(slice), offset, line.size() + 1, 1, kNoName});
        }
      }
      sinks.report->Count(stream->path(), "api", reader.bytes_read(), lines);
      if (bad > kMostPlaces) sinks.report->Skip({stream->path(), 0, 0, bad - kMostPlaces, kNoName});
    }
  }
}

std::map<uint32_t, int64_t> ReadThreads(const Capture& capture) {
  std::map<uint32_t, int64_t> pids;
  if (!capture.manifest || capture.manifest->agents.size() < 2) return pids;
  constexpr size_t kMostThreads = 1 << 16;
  Report unused;  // whoever decodes the records says what is wrong with them
  for (const format::ManifestAgent& agent : capture.manifest->agents) {
    const Stream* lanes = FindAgentStream(capture, agent.lanes_file);
    if (lanes == nullptr) continue;
    AgentStream stream(capture, *lanes, unused, nullptr);
    for (format::Block block; stream.Next(block) && pids.size() < kMostThreads;) {
      if (block.header.type != static_cast<uint16_t>(format::BlockType::kLane)) continue;
      if (block.header.tid != 0) pids.try_emplace(block.header.tid, agent.pid);
      for (auto rest = block.payload; rest.size() >= abi::kRecordBytes;) {
        const auto record = format::Load<abi::Record>(rest.data());
        if (record.kind == abi::kThread) pids.try_emplace(static_cast<uint32_t>(record.value), agent.pid);
        rest = rest.subspan(std::min(rest.size(), (size_t{record.more} + 1) * abi::kRecordBytes));
      }
    }
  }
  return pids;
}

std::map<uint32_t, format::TextId> ReadModelNames(const Capture& capture, const Side& host,
                                                  format::CannNames& names) {
  constexpr size_t kMostModels = 1 << 16;
  std::map<uint32_t, format::TextId> models;
  Report elsewhere;
  Cursor<CannModel> records(capture, host, kModels, elsewhere, nullptr);
  records.Drain(UINT64_MAX, SIZE_MAX, [&](const CannModel& record, bool) {
    if (!IsDamage(record) && models.size() < kMostModels) models[record.model] = names.Hash(record.name);
  });
  return models;
}

void ReadModelCalls(const Capture& capture, const Side& host, const Sinks& sinks,
                    format::ModelCalls& models) {
  Report elsewhere;
  Cursor<CannApiRecord> calls(capture, host, format::file::kApi, elsewhere, nullptr);
  calls.Drain(UINT64_MAX, SIZE_MAX, [&](const CannApiRecord& call, bool) { models.Add(call); });
  models.Finish();
  if (models.left_out() > 0) {
    sinks.report->Skip({"host/data", 0, 0, models.left_out(),
                        "calls of models: no room for more, their tasks have no model"});
  }
}

std::map<uint32_t, uint32_t> ReadLogicStreams(const Capture& capture, Report& report) {
  constexpr size_t kMostStreams = 1 << 16;
  std::map<uint32_t, uint32_t> logic;
  if (capture.host() == nullptr) return logic;
  Sinks sinks;
  sinks.report = &report;
  ForEach<CannLogicStream>(capture, *capture.host(), kLogicStreams, sinks,
                           [&](const CannLogicStream& record) {
                             for (uint32_t n = 0; n < record.count && logic.size() < kMostStreams; ++n)
                               logic.try_emplace(record.streams[n], record.logic);
                           });
  return logic;
}

bool IsOfCaptures(std::string_view file) {
  return file == kCapturedOps || file == kLongCapturedOps || file == kCaptures;
}

void ReadCaptures(const Capture& capture, const Side& host, const Sinks& sinks, format::Captures& captures) {
  Report& report = *sinks.report;
  ForEach<CannCapture>(capture, host, kCaptures, sinks,
                       [&](const CannCapture& record) { captures.Add(record); });
  Cursor<CannCapturedOpOf3> ops(capture, host, kCapturedOps, report, sinks.progress);
  ops.Drain(UINT64_MAX, SIZE_MAX, [&](const CannCapturedOpOf3& record, bool ages) {
    captures.Add(record.op, record.tensor, ages);
  });
  ops.Count(report, "api");
  for (const std::string_view aging : kAging) {
    const Stream* stream = host.Find(std::string(aging) + std::string(kLongCapturedOps));
    if (stream == nullptr) continue;
    StreamReader reader(capture, *stream, Framed{}, report, sinks.progress);
    const uint64_t before = captures.records();
    size_t kept = 0;
    for (auto piece = reader.Next(); !piece.empty(); piece = reader.Next()) {
      if (reader.begins_slice()) {  // no record reaches over the end of one
        captures.AddCut(kept);
        piece = piece.subspan(kept);
      }
      kept = captures.TakeVariable(piece);
      reader.Keep(kept);
    }
    captures.AddCut(kept);
    report.Count(stream->path(), "api", reader.bytes_read(), captures.records() - before);
  }
  if (captures.damaged() > 0) {
    report.Skip({"host/data: capture_op_info", 0, 0, captures.damaged(),
                 "records without their magic, or with lengths that cannot be"});
  }
  if (captures.no_room() > 0)
    report.Skip({"host/data: captures", 0, 0, captures.no_room(), "no room for more operators of graphs"});
}

void ReadCommStreams(const Capture& capture, const Side& host, const Sinks& sinks, CommStreams& streams) {
  ForEach<format::CannCommStreams>(capture, host, kCommStreams, sinks,
                                   [&](const format::CannCommStreams& record) { streams.Add(record); });
}

bool IsOfOperators(std::string_view file) {
  return file == kMemory || file == kFused || file == kStaticMemory || file == kModels || file == kMarkers;
}

void GiveOperatorRecords(const Capture& capture, const Side& host, const Wanted& wanted, const Sinks& sinks,
                         format::CannNames& names, const format::ModelCalls& models,
                         format::SpanWriter& spans) {
  format::DecodeContext context;
  context.side = &host.facts;
  context.clocks = &host.clocks;
  format::OperatorRecords records(names, spans, host.facts.pid);
  ForEach<CannMemory>(capture, host, kMemory, sinks, [&](const CannMemory& record) {
    if (!wanted.Device(static_cast<int>(record.device))) return;
    records.Take(record, context.HostCounterToWall(record.head.stamp));
  });
  ForEach<CannModel>(capture, host, kModels, sinks, [&](const CannModel& record) { records.Take(record); });
  ForEach<CannFusedOp>(capture, host, kFused, sinks, [&](const CannFusedOp& record) {
    records.Take(record, models, context.HostCounterToWall(record.head.stamp));
  });
  ForEach<CannStaticMemory>(capture, host, kStaticMemory, sinks, [&](const CannStaticMemory& record) {
    records.Take(record, context.HostCounterToWall(record.head.stamp));
  });
  format::Markers markers(names, spans);
  ForEach<CannMarker>(capture, host, kMarkers, sinks, [&](const CannMarker& record) {
    markers.Take(record, [&](uint64_t stamp) { return context.HostCounterToWall(stamp); });
  });
  markers.Finish();
  sinks.report->Note("host/data: msproftx", markers.alone(), "piece of a text without its beginning",
                     "pieces of texts without their beginnings");
}

}  // namespace profd::client
