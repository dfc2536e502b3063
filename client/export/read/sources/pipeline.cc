#include "client/export/read/sources/pipeline.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "client/export/read/sources/agent_source.h"
#include "client/export/read/sources/overlap.h"
#include "client/export/read/sources/profile_source.h"
#include "client/export/read/sources/tasks/device_tasks.h"
#include "client/export/read/sources/tasks/task_source.h"
#include "format/decode/catalogue.h"
#include "format/decode/host/cpu_profile.h"

namespace profd::client {

namespace {

using format::DecoderEntry;
using format::StampDomain;

// Of a file that no output is made of.
std::string WhyUnread(std::string_view file) {
  if (file.ends_with(".additional.Multi_Thread"))
    return "threads that load a model together: the vendor's parser shows them nowhere, either";
  return "nothing is known of its records";
}

// **Thread:** one. The streams of one side.
class SideDecoder {
 public:
  SideDecoder(const Capture& capture, const Side& side, const Wanted& wanted, bool vendor_compatible,
              const Sinks& sinks, Sieve& sieve)
      : capture_(capture), side_(side), wanted_(wanted), sinks_(sinks), sieve_(sieve) {
    context_.side = &side.facts;
    context_.clocks = &side.clocks;
    context_.rows = &sieve;
    context_.spans = &sieve;
    context_.texts = sinks.texts;
    context_.vendor_compatible = vendor_compatible;
  }

  // The streams that tell more of tasks, or the others.
  void Run(bool of_tasks) {
    for (const Stream& stream : side_.streams) {
      if (sinks_.progress != nullptr && sinks_.progress->cancelled) return;
      One(stream, of_tasks);
    }
  }

 private:
  void One(const Stream& stream, bool of_tasks) {
    if (!TaskStreamKind(side_, stream.file).empty()) return;
    int64_t pid = 0;
    const DecoderEntry* entry = format::FindDecoder(stream.file, side_.facts, pid);
    Report& report = *sinks_.report;
    if ((entry != nullptr && entry->of_tasks) != of_tasks) return;
    if (entry == nullptr) return report.Unread(stream.path(), WhyUnread(stream.file));
    if (!wanted_.Kind(NameOf(entry->kind))) return;
    if (context_.vendor_compatible && !VendorReads(*entry, side_.facts.chip)) {
      return report.Unread(stream.path(), "the vendor's parser does not read it on this chip");
    }
    if (!entry->only_without.empty() && side_.Find(entry->only_without) != nullptr) return;  // tells the same
    const auto skip_all = [&](const std::string& why) {
      report.Skip({stream.path(), 0, stream.bytes(), 0, why});
    };
    if (!side_.is_host() && side_.facts.chip == format::Chip::kUnknown &&
        NeedsChip(*entry, stream.file, side_.facts)) {
      return skip_all("how its records lie depends on the chip, and info.json does not say which it is");
    }
    if (const std::string_view missing = MissingClock(entry->stamp); !missing.empty()) {
      return report.SkipUndated(stream.path(), stream.bytes(), missing);
    }
    Framed framed;
    framed.by = Framed::By::kLine;
    framed.last_slice_only = context_.vendor_compatible && entry->vendor_reads_last_slice_only;
    if (entry->by == DecoderEntry::By::kRecord) {
      framed.by = Framed::By::kRecord;
      bool checks = false;
      const format::StreamFormat* format = RecordFormat(*entry, stream.file, side_.facts, checks);
      if (format == nullptr) return skip_all("its records are not known for this chip");
      framed.record_bytes = format->record_bytes;
      if (checks) framed.check = format;
      if (const uint64_t per_second = StampsPerSecond(*format, side_.facts); per_second > 0) {
        framed.stamps = format;
        framed.stamps_per_second = per_second;
        framed.stamp_tolerance = entry->in_order ? 0 : per_second;
      }
    }
    context_.kind = NameOf(entry->kind);
    if (entry->by == DecoderEntry::By::kUnits) {
      framed.by = Framed::By::kRecord;
      framed.record_bytes = format::kUnitBytes;
    }
    const std::unique_ptr<format::Decoder> decoder = entry->make(context_, stream.file, pid);
    if (decoder == nullptr) return skip_all("sample.json does not say what was sampled");
    const bool tells_loss = !context_.vendor_compatible;  // the vendor's parser does not notice
    StreamReader reader(capture_, stream, framed, report, sinks_.progress);
    std::map<std::string_view, uint64_t> placed;  // rejected records whose place is reported, by reason
    for (auto piece = reader.Next(); !piece.empty(); piece = reader.Next()) {
      if (reader.begins_slice()) decoder->NextSlice();
      if (tells_loss && reader.lost()) decoder->Lost();
      decoder->Take(piece);
      for (const format::Decoder::Place& place : decoder->TakePlaces()) {
        auto [slice, offset] = reader.At(reader.piece_position() + place.offset);
        report.Skip({std::move(slice), offset, place.bytes, 1, std::string(place.why)});
        ++placed[place.why];
      }
    }
    if (tells_loss && reader.lost()) decoder->Lost();
    decoder->Finish();
    report.Count(stream.path(), std::string(NameOf(entry->kind)), reader.bytes_read(), decoder->records());
    for (const auto& [why, records] : decoder->ignored()) {
      const std::string what(why);
      report.Note(stream.path(), records, "record " + what, "records " + what);
    }
    report.Cut(stream.path(), decoder->cut(), "iteration that has no end", "iterations that have no end");
    for (const auto& [why, records] : decoder->rejected()) {
      if (records > placed[why]) report.Skip({stream.path(), 0, 0, records - placed[why], std::string(why)});
    }
    if (const uint64_t stray = sieve_.TakeStray(); stray > 0) {
      report.Skip({stream.path(), 0, 0, stray, "with a time outside of the collection"});
    }
  }

  // What it would take to date the records.
  std::string_view MissingClock(StampDomain stamp) const {
    const format::SideFacts& facts = side_.facts;
    if (!side_.has_wall_clock()) return "start_info";
    // Whether the host has a counter, and how fast it is; pairs of clocks do not tell the first.
    if (facts.chip == format::Chip::kUnknown && stamp == StampDomain::kHostCounter) return "info.json";
    if (side_.is_host() || side_.has_clock_pairs || stamp == StampDomain::kNone) return {};
    if (!facts.has_host_clock) return "host_start.log";
    if (facts.chip == format::Chip::kUnknown && stamp == StampDomain::kDeviceTicks) return "info.json";
    const bool of_device = stamp == StampDomain::kDeviceNs || stamp == StampDomain::kDeviceTicks ||
                           stamp == StampDomain::kTextDeviceNs;
    return of_device && !facts.has_device_clock ? "dev_start.log" : std::string_view();
  }

  const Capture& capture_;
  const Side& side_;
  const Wanted& wanted_;
  const Sinks& sinks_;
  Sieve& sieve_;
  format::DecodeContext context_;
};

}  // namespace

std::set<std::string, std::less<>> KindsOf(const Capture& capture) {
  std::set<std::string, std::less<>> kinds;
  for (const Side& side : capture.sides) {
    for (const Stream& stream : side.streams) {
      if (stream.bytes() == 0) continue;
      int64_t pid = 0;
      if (const std::string_view kind = TaskStreamKind(side, stream.file); !kind.empty()) {
        kinds.emplace(kind);
      } else if (const DecoderEntry* entry = format::FindDecoder(stream.file, side.facts, pid)) {
        kinds.emplace(NameOf(entry->kind));
      }
      if (DeviceTasks::LogsTasks(side, stream.file)) kinds.emplace("task");
    }
  }
  for (const Stream& stream : capture.agents) {
    if (stream.file == format::kCpuProfileFile && stream.bytes() > 0) kinds.emplace(format::kCpuProfileKind);
    if (stream.file == format::kOffCpuFile && stream.bytes() > 0) kinds.emplace(format::kOffCpuKind);
  }
  if (capture.manifest && !capture.agents.empty()) {
    for (const format::ManifestKind& kind : capture.manifest->kinds) {
      if (kind.kind.starts_with("agent-") && kind.verdict != "skipped") kinds.insert(kind.kind);
    }
  }
  return kinds;
}

void Decode(const Capture& capture, const Wanted& wanted, bool vendor_compatible, const Sinks& sinks) {
  Sieve sieve(capture, wanted, *sinks.rows, *sinks.spans);
  const auto decode_sides = [&](bool of_tasks) {
    for (const Side& side : capture.sides) {
      if (!wanted.Device(side.facts.device)) continue;
      SideDecoder(capture, side, wanted, vendor_compatible, sinks, sieve).Run(of_tasks);
    }
  };
  decode_sides(false);
  Sinks sieved = sinks;
  sieved.rows = &sieve;
  Overlap overlap(sieve, *sinks.texts);
  sieved.spans = sinks.overlap ? static_cast<format::SpanSink*>(&overlap) : &sieve;
  const auto report_stray = [&](const char* where) {
    if (const uint64_t stray = sieve.TakeStray(); stray > 0) {
      sinks.report->Skip({where, 0, 0, stray, "with a time outside of the collection"});
    }
  };
  const bool gave_kernels = DecodeTasks(capture, wanted, vendor_compatible, sieved);
  report_stray("tasks and calls");
  decode_sides(true);
  DecodeAgents(capture, wanted, gave_kernels, sieved);
  DecodeProfile(capture, wanted, sieved);
  report_stray(capture.own_folder.c_str());
  overlap.Finish();
  sinks.report->Note("Overlap Analysis", overlap.late(), "task so late that it counts in part only",
                     "tasks so late that they count in part only");
}

}  // namespace profd::client
