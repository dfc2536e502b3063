// ccu<die>.instr and ccu<die>.stat: what the collective units of a 950 did, and what went through their
// channels.
#include <algorithm>
#include <iterator>

#include "format/decode/family.h"
#include "format/decode/fixed.h"
#include "format/decode/rows.h"
#include "format/decode/span_writer.h"
#include "format/kind.h"
#include "format/records/tasks.h"
#include "format/series.h"

namespace profd::format {

namespace {

// Instructions of a 950's collective units, from their stamp on; task: its id. notify: the number of an
// instruction that waited meanwhile, once for each rank it waited for, and how long; none: it has no value.
const Series kCcuMissionSeries = {
    "ccu_mission",
    Kind::kCcuTask,
    {"die", "task", "instruction"},
    {{"duration", Unit::kNs}, {"notify", Unit::kNone}, {"notify_duration", Unit::kNs}}};
const Series kCcuChannelSeries = {
    "ccu_channel",
    Kind::kCcu,
    {"die", "channel"},
    {{"max", Unit::kBytesPerSecond}, {"min", Unit::kBytesPerSecond}, {"average", Unit::kBytesPerSecond}}};

constexpr double kCcuPacket = 4096;  // bytes, whose way through a channel took so long

int64_t DieOf(std::string_view file) { return file.starts_with("ccu1") ? 1 : 0; }

// **Thread:** one.
class Missions : public Decoder {
 public:
  Missions(const DecodeContext& context, std::string_view file)
      : Decoder(context),
        die_(DieOf(file)),
        rows_(kCcuMissionSeries, context),
        spans_(*context.spans, *context.texts, context.kind),
        loop_(context.texts->Intern("LoopGroup")),
        wait_(context.texts->Intern("Wait")),
        instruction_key_(context.texts->Intern("Instruction ID")),
        notify_key_(context.texts->Intern("Notify Instruction ID")),
        rank_key_(context.texts->Intern("Notify Rank ID")),
        die_key_(context.texts->Intern("Die Id")) {}

  void Take(std::span<const std::byte> whole) override {
    EachRecord<CcuMissionRecord>(whole, [this](const CcuMissionRecord& record) {
      ++records_;
      if (record.end_ticks < record.start_ticks) return Reject("that end before they begin");
      AddSpan(record);
      const uint64_t begin_ns = context().DeviceTicksToWall(record.start_ticks);
      const auto task = static_cast<int64_t>(record.task) << 16 | record.stream;
      const auto add = [&](double notify, double ns) {
        rows_.Add(begin_ns, {die_, task, record.instruction},
                  {Ns(record.end_ticks - record.start_ticks), notify, ns});
      };
      bool any = false;
      if (record.notify_ticks != 0) {
        for (const uint16_t ended : record.notify_ended) {
          if (ended == 0) continue;
          any = true;
          add(record.notify_instruction, Ns(uint64_t{ended} * kCcuTicksOfNotify));
        }
      }
      if (!any) add(kNoValue, kNoValue);
    });
  }
  void Finish() override {
    rows_.Flush();
    spans_.Flush();
  }

 private:
  // As the analyser has it (csrc/domain/data_process/ai_task/ccu_mission_processor.cpp): either a wait, up to
  // the last of the ranks, or the instruction.
  void AddSpan(const CcuMissionRecord& record) {
    uint64_t begin = record.start_ticks, end = record.end_ticks;
    uint64_t rank = 0;
    const bool waits = record.notify_ticks != 0;
    if (waits) {
      uint16_t ended[std::size(CcuMissionRecord{}.notify_ended)];
      std::copy(std::begin(record.notify_ended), std::end(record.notify_ended), ended);
      const uint16_t* const last = std::max_element(std::begin(ended), std::end(ended));
      rank = static_cast<uint64_t>(std::end(ended) - last) - 1;  // the first value is the last rank's
      begin = record.notify_ticks;
      end = begin + uint64_t{*last} * kCcuTicksOfNotify;
    }
    Span& span = spans_.Add(SpanKind::kMission);
    span.begin_ns = context().DeviceTicksToWall(begin);
    span.end_ns = std::max(span.begin_ns, context().DeviceTicksToWall(end));
    span.value = uint64_t{record.task} << 16 | record.stream;
    span.device = context().side->device;
    span.pid = context().side->pid;
    span.stream = record.stream;
    span.name = waits ? wait_ : loop_;
    spans_.AddArg(waits ? notify_key_ : instruction_key_, ArgType::kU64,
                  waits ? record.notify_instruction : record.instruction);
    if (waits) spans_.AddArg(rank_key_, ArgType::kU64, rank);
    spans_.AddArg(die_key_, ArgType::kU64, static_cast<uint64_t>(die_));
  }

  double Ns(uint64_t ticks) const {
    const double mhz = context().side->counter_mhz;
    return mhz > 0 ? static_cast<double>(ticks) * 1000 / mhz : kNoValue;
  }

  const int64_t die_;
  Rows rows_;
  SpanWriter spans_;
  const TextId loop_, wait_, instruction_key_, notify_key_, rank_key_, die_key_;
};

// **Thread:** one.
class Channels : public Decoder {
 public:
  Channels(const DecodeContext& context, std::string_view file)
      : Decoder(context), die_(DieOf(file)), rows_(kCcuChannelSeries, context) {}

  void Take(std::span<const std::byte> whole) override {
    EachRecord<CcuChannelRecord>(whole, [this](const CcuChannelRecord& record) {
      ++records_;
      uint32_t words[std::size(CcuChannelRecord{}.value)];
      std::copy(std::begin(record.value), std::end(record.value), words);
      for (size_t channel = 0; channel < kCcuChannels; ++channel) {
        const uint32_t* of = words + CcuWordsOf(channel);
        const uint64_t ticks = uint64_t{of[1]} << 32 | of[0];
        if (ticks == 0) continue;  // nothing went through it
        const uint32_t average = of[2], least = of[3], most = of[4];
        rows_.Add(context().DeviceTicksToWall(ticks), {die_, static_cast<int64_t>(channel)},
                  {Bandwidth(least), Bandwidth(most), Bandwidth(average)});
      }
    });
  }
  void Finish() override { rows_.Flush(); }

 private:
  double Bandwidth(uint32_t ticks) const {
    const double mhz = context().side->counter_mhz;
    if (mhz <= 0) return kNoValue;
    return ticks == 0 ? 0 : kCcuPacket * mhz * 1e6 / ticks;
  }

  const int64_t die_;
  Rows rows_;
};

std::unique_ptr<Decoder> MakeCcuMissions(const DecodeContext& context, std::string_view file, int64_t) {
  return std::make_unique<Missions>(context, file);
}
std::unique_ptr<Decoder> MakeCcuChannels(const DecodeContext& context, std::string_view file, int64_t) {
  return std::make_unique<Channels>(context, file);
}

constexpr FramingRow kFramings[] = {
    row::Sized(chips::kAll, file::kCcu0Missions, 64),
    row::Sized(chips::kAll, file::kCcu1Missions, 64),
    row::Sized(chips::kAll, file::kCcu0Channels, 2816),
    row::Sized(chips::kAll, file::kCcu1Channels, 2816),
};

constexpr DecoderEntry kDecoders[] = {
    {.file = file::kCcu0Missions,
     .kind = Kind::kCcuTask,
     .stamp = StampDomain::kDeviceTicks,
     .vendor_chips = chips::k950,
     .make = MakeCcuMissions},
    {.file = file::kCcu1Missions,
     .kind = Kind::kCcuTask,
     .stamp = StampDomain::kDeviceTicks,
     .vendor_chips = chips::k950,
     .make = MakeCcuMissions},
    {.file = file::kCcu0Channels,
     .kind = Kind::kCcu,
     .stamp = StampDomain::kDeviceTicks,
     .vendor_chips = chips::k950,
     .make = MakeCcuChannels},
    {.file = file::kCcu1Channels,
     .kind = Kind::kCcu,
     .stamp = StampDomain::kDeviceTicks,
     .vendor_chips = chips::k950,
     .make = MakeCcuChannels},
};

constexpr const Series* kSeries[] = {&kCcuMissionSeries, &kCcuChannelSeries};

}  // namespace

namespace family {
Family Ccu() { return {.framings = kFramings, .decoders = kDecoders, .series = kSeries}; }
}  // namespace family

}  // namespace profd::format
