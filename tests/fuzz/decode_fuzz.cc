// Any bytes as the records of any file, on any chip: decoders take them all, and what they give is well
// formed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "format/check/stamp_spikes.h"
#include "format/decode/catalogue.h"

namespace {

using namespace profd::format;

class Checker : public RowSink, public SpanSink {
 public:
  void Rows(const RowBatch& batch) override {
    PROFD_CHECK(batch.series != nullptr && batch.rows() > 0 && batch.rows() <= 4096);
    PROFD_CHECK(batch.keys.size() == batch.rows() * batch.series->keys.size());
    PROFD_CHECK(batch.values.size() == batch.rows() * batch.series->columns.size());
    PROFD_CHECK(batch.series->keys.size() <= 3 && batch.series->columns.size() <= 24);
  }
  void Spans(const SpanBatch& batch) override {
    PROFD_CHECK(batch.texts != nullptr && !batch.spans.empty());
    for (const Span& span : batch.spans) {
      PROFD_CHECK(span.first_arg + span.arg_count <= batch.args.size());
      PROFD_CHECK(span.detail == kNoId || span.detail < batch.tasks.size());
    }
  }
};

SideFacts Facts(uint8_t chip, uint8_t flags, const DecoderEntry& entry) {
  SideFacts facts;
  facts.device = entry.of_host ? -1 : 0;
  facts.chip = Chip{chip};
  facts.records_v2 = (flags & 1) != 0;
  facts.llc_mode =
      chip == 0 ? ((flags & 2) != 0 ? "capacity" : "bandwidth") : ((flags & 2) != 0 ? "write" : "read");
  facts.qos_events = {"a", "b"};
  facts.counter_mhz = 50;
  facts.aic_mhz = facts.aiv_mhz = 1000;
  facts.ctrl_cpus = {0};
  facts.ai_cpus = {1, 2};
  facts.memory_total_kb = 1u << 20;
  facts.net_cards = {{"eth0", 1000}};
  facts.host_disk_hz = 50;
  facts.cores_sampled = true;
  facts.aic_events = facts.ts_cpu_events = facts.ctrl_cpu_events = {0x11, 8};
  facts.l2_events = facts.ha_events = {0xf6, 0xfb, 0xfc, 0xbf, 0x90, 0x91, 0x9c, 0x9d};
  facts.smmu_events = {0x2, 0x8a, 0x8b, 0x8c, 0x8d};
  if ((flags & 2) == 0) facts.ha_events = {0x1};
  facts.noc_events = {0x1};
  facts.instr_cycles = 1000;
  facts.at_start = {5'000'000'000'000, 77, 1'700'000'000'000'000'000, 3'000'000'000'000,
                    145'000'000'000,   100};
  return facts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // "<file>\n", chip, flags, cut, records.
  const auto* name_end = std::find(data, data + std::min<size_t>(size, 64), uint8_t{'\n'});
  const std::string_view name(reinterpret_cast<const char*>(data), static_cast<size_t>(name_end - data));
  if (static_cast<size_t>(name_end - data) + 4 > size) return 0;
  const auto entries = DecoderEntries();
  const uint8_t* head = name_end + 1;
  const auto named = std::ranges::find_if(entries, [&](const DecoderEntry& entry) {
    return entry.file == name && entry.layout_chips.Has(Chip{static_cast<uint8_t>(head[0])});
  });
  const DecoderEntry& entry = named != entries.end() ? *named : entries[data[0] % entries.size()];
  const SideFacts facts = Facts(head[0], head[1], entry);
  ClockMap clocks(facts.counter_mhz, facts.host_counter_mhz);
  clocks.Add(facts.at_start);
  Checker checker;
  Texts texts(1 << 16);
  DecodeContext context;
  context.side = &facts;
  context.clocks = &clocks;
  context.rows = &checker;
  context.spans = &checker;
  context.texts = &texts;
  context.vendor_compatible = (head[1] & 4) != 0;
  const std::unique_ptr<Decoder> decoder = entry.make(context, entry.file, 4711);
  if (decoder == nullptr) return 0;

  std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(head + 3),
                               reinterpret_cast<const std::byte*>(data + size));
  size_t whole = bytes.size();
  if (entry.by == DecoderEntry::By::kRecord) {
    bool checks = false;
    const StreamFormat* format = RecordFormat(entry, entry.file, facts, checks);
    if (format == nullptr) return 0;
    whole -= whole % format->record_bytes;
    if (const uint64_t per_second = StampsPerSecond(*format, facts); per_second > 0) {
      StampSpikes spikes(*format, per_second, entry.in_order ? 0 : per_second);
      const auto records = std::span(bytes).first(whole);
      for (size_t at = 0; at < records.size();) {
        const size_t good = spikes.Good(records.subspan(at));
        PROFD_CHECK(good <= (whole - at) / format->record_bytes);
        if (at < records.size()) (void)spikes.Follows(records.data() + at);
        at += std::max<size_t>(good, 1) * format->record_bytes;
      }
    }
  }
  if (entry.by == DecoderEntry::By::kUnits) whole -= whole % kUnitBytes;
  // In two pieces, of different slices, cut at head[2] parts of 256.
  const std::span<const std::byte> all = std::span(bytes).first(whole);
  size_t cut = whole * head[2] / 256;
  if (entry.by == DecoderEntry::By::kLine) {
    while (cut < whole && (cut == 0 || all[cut - 1] != std::byte{'\n'})) ++cut;
  } else if (entry.by == DecoderEntry::By::kUnits) {
    cut -= cut % kUnitBytes;
  } else {
    bool checks = false;
    cut -= cut % RecordFormat(entry, entry.file, facts, checks)->record_bytes;
  }
  decoder->NextSlice();
  if ((head[1] & 8) != 0) decoder->Lost();
  if (cut > 0) decoder->Take(all.first(cut));
  decoder->NextSlice();
  if ((head[1] & 16) != 0) decoder->Lost();
  if (cut < whole) decoder->Take(all.subspan(cut));
  decoder->Finish();
  return 0;
}
