// Instruction profiling: instr.group_<g>_<core> with what a core's bus unit counted every so many clocks, and
// of a 950 instr.biu_perf_group<g>_<core> with what its pipes began and ended.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <optional>

#include "format/decode/family.h"
#include "format/decode/fixed.h"
#include "format/decode/rows.h"
#include "format/kind.h"
#include "format/records/tasks.h"
#include "format/series.h"

namespace profd::format {

namespace {

// By groups of cores, core: 0 the AI core, 1 and 2 its vector cores; pipe: its label is the name. Of the time
// since the row before, or on a 950, whose rows are changes, from now on.
const Series kInstrBusySeries = {
    "instr_busy", Kind::kInstr, {"group", "core", "pipe"}, {{"busy", Unit::kRatio}}};
// Of an AI core's bus unit, as it counts them.
const Series kInstrFlowSeries = {"instr_flow",
                                 Kind::kInstr,
                                 {"group"},
                                 {{"read_latency", Unit::kNone},
                                  {"write_latency", Unit::kNone},
                                  {"read_bandwidth", Unit::kNone},
                                  {"write_bandwidth", Unit::kNone}}};

struct CoreOfGroup {
  int64_t group = 0, core = 0;  // core: 0 AI core, 1 and 2 its vector cores
};
CoreOfGroup CoreIn(std::string_view file) {
  CoreOfGroup place;
  const size_t digits = file.find_first_of("0123456789");
  if (digits != std::string_view::npos) {
    std::from_chars(file.data() + digits, file.data() + file.size(), place.group);
  }
  if (file.ends_with("_aiv0")) place.core = 1;
  if (file.ends_with("_aiv1")) place.core = 2;
  return place;
}

uint32_t Bits24(const uint8_t* bytes) {
  return bytes[0] | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16;
}

constexpr uint32_t kCounterBits = 12, kCounterMask = (1U << kCounterBits) - 1;

uint32_t Busy(const InstrCycles& cycles, size_t place) {
  return Bits24(cycles.busy + place / 2 * 3) >> (place % 2 * kCounterBits) & kCounterMask;
}

// **Thread:** one.
class InstrCounts : public Decoder {
 public:
  InstrCounts(const DecodeContext& context, std::string_view file, bool cube)
      : Decoder(context),
        place_(CoreIn(file)),
        cube_(cube),
        busy_(kInstrBusySeries, context),
        flow_(kInstrFlowSeries, context) {
    for (size_t pipe = 0; pipe < kPipes.size(); ++pipe)
      busy_.Label(2, static_cast<int64_t>(pipe), kPipes[pipe]);
  }

  void Take(std::span<const std::byte> whole) override {
    if (cube_) {
      EachRecord<InstrCubeRecord>(whole, [this](const InstrCubeRecord& record) {
        std::array<uint64_t, 4> flow, cycles;
        for (size_t i = 0; i < flow.size(); ++i) {
          flow[i] = record.turn[i].flow;
          cycles[i] = record.turn[i].cycles;
        }
        Flow(std::bit_cast<InstrFlow>(flow));
        Cycles(std::bit_cast<InstrCycles>(cycles));
      });
    } else {
      EachRecord<InstrVectorRecord>(whole,
                                    [this](const InstrVectorRecord& record) { Cycles(record.cycles); });
    }
  }
  void Lost() override { before_.reset(); }
  void Finish() override {
    busy_.Flush();
    flow_.Flush();
  }

 private:
  static constexpr std::array<std::string_view, 6> kPipes = {"Vector", "Scalar", "Cube",
                                                             "Mte1",   "Mte2",   "Mte3"};

  // Of the record that is read: what its own stamp counts nobody says, so the records' distance counts.
  uint64_t WallNs() const {
    const SideFacts& side = *context().side;
    const double mhz = side.aic_mhz > 0 ? side.aic_mhz : 1000;
    const double ns = static_cast<double>(records_) * side.instr_cycles / mhz * 1000;
    return side.begin_wall_ns + static_cast<uint64_t>(ns);
  }
  void Flow(const InstrFlow& flow) {
    flow_.Add(WallNs(), {place_.group},
              {double(Bits24(flow.read_latency)), double(Bits24(flow.write_latency)),
               double(Bits24(flow.read_bytes)), double(Bits24(flow.write_bytes))});
  }
  void Cycles(const InstrCycles& cycles) {
    std::array<uint32_t, kPipes.size()> now{};
    for (size_t pipe = 0; pipe < now.size(); ++pipe) {
      // A vector core has no cube, and an AI core of its own no vector unit.
      if (pipe == (cube_ ? 0 : 2)) continue;
      now[pipe] = Busy(cycles, pipe);
      if (!before_) continue;
      const uint32_t busy = (now[pipe] - (*before_)[pipe]) & kCounterMask;
      busy_.Add(WallNs(), {place_.group, place_.core, static_cast<int64_t>(pipe)},
                {double(busy) / std::max(context().side->instr_cycles, 1U)});
    }
    before_ = now;
    ++records_;
  }

  const CoreOfGroup place_;
  const bool cube_;
  std::optional<std::array<uint32_t, kPipes.size()>> before_;
  Rows busy_, flow_;
};

// **Thread:** one.
class InstrEvents : public Decoder {
 public:
  InstrEvents(const DecodeContext& context, std::string_view file)
      : Decoder(context), place_(CoreIn(file)), busy_(kInstrBusySeries, context) {
    for (size_t pipe = 0; pipe < kPipes.size(); ++pipe)
      busy_.Label(2, static_cast<int64_t>(pipe), kPipes[pipe]);
  }

  void Take(std::span<const std::byte> whole) override {
    EachRecord<BiuRecord>(whole, [this](const BiuRecord& record) {
      ++records_;
      constexpr BiuRecord kEnd{0xFFFF, 0xEFFF}, kFill{0xDDDD, 0xDDDD};
      const auto is = [&record](const BiuRecord& other) {
        return record.data == other.data && record.control == other.control;
      };
      if (is(kEnd) || is(kFill)) return;
      const uint16_t what = record.control >> 12;
      if (what == kBiuStamp) return Stamp(record.data);
      parts_ = 0;
      if (!dated_) return Ignore("before the first stamp");
      const SideFacts& side = *context().side;
      if (side.aic_mhz > 0) ticks_ += record.data * side.counter_mhz / side.aic_mhz;
      if (what != kBiuState) return Ignore("of check points, which are not used");
      State(record.control);
    });
  }
  void Lost() override {
    dated_ = false;
    parts_ = 0;
  }
  void Finish() override { busy_.Flush(); }

 private:
  static constexpr std::array<std::string_view, 7> kPipes = {"SU",   "VEC",  "CUBE", "MTE1",
                                                             "MTE2", "MTE3", "FIXP"};
  static constexpr uint32_t kStampParts = 4;

  void Stamp(uint16_t part) {
    if (parts_ == 0) stamp_ = 0;
    stamp_ |= uint64_t{part} << (16 * parts_);
    if (++parts_ < kStampParts) return;
    parts_ = 0;
    dated_ = true;
    ticks_ = static_cast<double>(stamp_);
  }
  void State(uint16_t states) {
    const uint64_t wall_ns = context().DeviceTicksToWall(static_cast<uint64_t>(ticks_));
    // By what differs: GCC 12 with -O2 gets a comparison of the two states' bits wrong.
    const unsigned changed = states ^ states_;
    for (size_t pipe = 0; pipe < kPipes.size(); ++pipe) {
      if ((changed >> pipe & 1) == 0) continue;
      const double busy = states >> pipe & 1;
      busy_.Add(wall_ns, {place_.group, place_.core, static_cast<int64_t>(pipe)}, {busy});
    }
    states_ = states;
  }

  const CoreOfGroup place_;
  bool dated_ = false;
  uint32_t parts_ = 0;
  uint64_t stamp_ = 0;
  double ticks_ = 0;  // now, of the device's counter
  uint16_t states_ = 0;
  Rows busy_;
};

std::unique_ptr<Decoder> MakeInstrOfAiCore(const DecodeContext& context, std::string_view file, int64_t) {
  if (context.side->instr_cycles == 0) return nullptr;
  return std::make_unique<InstrCounts>(context, file, true);
}
std::unique_ptr<Decoder> MakeInstrOfVectorCore(const DecodeContext& context, std::string_view file, int64_t) {
  if (context.side->instr_cycles == 0) return nullptr;
  return std::make_unique<InstrCounts>(context, file, false);
}
std::unique_ptr<Decoder> MakeInstrEvents(const DecodeContext& context, std::string_view file, int64_t) {
  return std::make_unique<InstrEvents>(context, file);
}

constexpr FramingRow kFramings[] = {
    // With what an AI core's unit tells in a record, with what a vector core's does, and of a 950 with an
    // event
    // in each.
    row::Sized(chips::kAll, file::kInstrAiCore, sizeof(InstrCubeRecord)),
    row::Sized(chips::kAll, file::kInstrVectorCore, sizeof(InstrVectorRecord)),
    row::Sized(chips::kAll, file::kInstrOf950, sizeof(BiuRecord)),
    row::Sized(chips::kAll, "instr.pc_sampling_group", sizeof(BiuRecord)),  // nobody collects it here
};

constexpr DecoderEntry kDecoders[] = {
    {.file = file::kInstrAiCore,
     .kind = Kind::kInstr,
     .vendor_chips = chips::k910B | chips::k310BLike,
     .make = MakeInstrOfAiCore},
    {.file = file::kInstrVectorCore,
     .kind = Kind::kInstr,
     .vendor_chips = chips::k910B | chips::k310BLike,
     .make = MakeInstrOfVectorCore},
    {.file = file::kInstrOf950,
     .kind = Kind::kInstr,
     .stamp = StampDomain::kDeviceTicks,
     .vendor_chips = chips::k950,
     .make = MakeInstrEvents},
};

constexpr const Series* kSeries[] = {&kInstrBusySeries, &kInstrFlowSeries};

}  // namespace

namespace family {
Family Instr() { return {.framings = kFramings, .decoders = kDecoders, .series = kSeries}; }
}  // namespace family

}  // namespace profd::format
