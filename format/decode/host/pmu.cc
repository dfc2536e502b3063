// ai_ctrl_cpu.data (text of perf script) and tscpu.data: counters of the device's CPUs, and where they count.
#include <algorithm>
#include <string>
#include <vector>

#include "base/flat_map.h"
#include "format/decode/family.h"
#include "format/decode/host/cpu_classes.h"
#include "format/decode/line_decoder.h"
#include "format/decode/rows.h"
#include "format/kind.h"
#include "format/records/device.h"
#include "format/records/packed.h"
#include "format/series.h"

namespace profd::format {

namespace {

const Series kPmuEventsSeries{"pmu_events", Kind::kCtrlCpu, {"cpu", "event"}, {{"count", Unit::kCount}}};
const Series kPmuFunctionsSeries{
    "pmu_functions", Kind::kCtrlCpu, {"cpu", "function", "module"}, {{"cycles", Unit::kCount}}};

constexpr uint32_t kCycles = 0x11;
constexpr size_t kMaxFunctions = 1 << 18;

// Sums by event and by function, given out at the end. **Thread:** one.
class PmuSums {
 public:
  explicit PmuSums(const DecodeContext& context)
      : texts_(*context.texts),
        events_(kPmuEventsSeries, context),
        functions_(kPmuFunctionsSeries, context) {}

  bool Count(PmuCpu cpu, uint32_t event, uint64_t count) {
    for (Event& sum : event_sums_) {
      if (sum.cpu == cpu && sum.event == event) {
        sum.count += static_cast<double>(count);
        return true;
      }
    }
    if (event_sums_.size() >= kMaxEvents) return false;
    event_sums_.push_back({cpu, event, static_cast<double>(count)});
    return true;
  }
  bool Cycles(PmuCpu cpu, TextId function, TextId module, uint64_t cycles) {
    const uint64_t key = static_cast<uint64_t>(cpu) << 62 |
                         static_cast<uint64_t>(function & 0x7FFFFFFF) << 31 | (module & 0x7FFFFFFF);
    double* sum = function_sums_.FindOrAdd(key);
    if (sum == nullptr) return false;
    *sum += static_cast<double>(cycles);
    return true;
  }
  void Flush(uint64_t wall_ns) {
    for (const Event& sum : event_sums_)
      events_.Add(wall_ns, {static_cast<int64_t>(sum.cpu), sum.event}, {sum.count});
    function_sums_.ForEach([&](uint64_t key, double) {
      for (const size_t place : {1, 2}) {
        const auto text = static_cast<TextId>(key >> (place == 1 ? 31 : 0) & 0x7FFFFFFF);
        functions_.Label(place, text, texts_.Get(text));
      }
    });
    function_sums_.ForEach([&](uint64_t key, double cycles) {
      functions_.Add(wall_ns,
                     {static_cast<int64_t>(key >> 62), static_cast<int64_t>(key >> 31 & 0x7FFFFFFF),
                      static_cast<int64_t>(key & 0x7FFFFFFF)},
                     {cycles});
    });
    events_.Flush();
    functions_.Flush();
  }

 private:
  static constexpr size_t kMaxEvents = 1024;
  struct Event {
    PmuCpu cpu;
    uint32_t event;
    double count;
  };
  const Texts& texts_;
  Rows events_, functions_;
  std::vector<Event> event_sums_;  // in the order they came
  base::FlatMap<double> function_sums_{kMaxFunctions};
};

// Samples "comm pid/tid [cpu] sec.frac: count rEE:", each followed by its call chain, hot line first, and an
// empty line. **Thread:** one.
class PerfSamples : public LineDecoder {
 public:
  explicit PerfSamples(const DecodeContext& context) : LineDecoder(context), sums_(context) {}
  void Finish() override { sums_.Flush(last_wall_ns_); }

 private:
  void Line(std::string_view line) override {
    if (line.find_first_not_of(" \t") == std::string_view::npos) {
      wants_function_ = false;
    } else if (line.front() == ' ' || line.front() == '\t') {
      if (wants_function_) Function(line);
      wants_function_ = false;
    } else if (line.front() != '#') {
      Header(line);
    }
  }

  void Header(std::string_view line) {
    ++records_;
    wants_function_ = false;
    // From behind "[cpu]" on: a name may hold anything.
    const size_t bracket = line.rfind('[');
    const size_t end = line.find(']', bracket == std::string_view::npos ? 0 : bracket);
    if (bracket == std::string_view::npos || end == std::string_view::npos)
      return Reject("no sample of perf script");
    const auto cpu = ToNumber<int64_t>(line.substr(bracket + 1, end - bracket - 1));
    Words words(line.substr(end + 1));
    std::string_view stamp = words.Next();
    const auto count = ToNumber<uint64_t>(words.Next());
    std::string_view event = words.Next();
    if (!stamp.ends_with(':') || !event.ends_with(':')) return Reject("no sample of perf script");
    stamp.remove_suffix(1);
    event.remove_suffix(1);
    const auto number = EventNumber(event);
    const auto seconds = ToDouble(stamp);
    if (!cpu || !count || !number || !seconds || !(*seconds >= 0 && *seconds < 1e9)) {
      return Reject("no sample of perf script");
    }
    const SideFacts& side = *context().side;
    if (std::count(side.ctrl_cpus.begin(), side.ctrl_cpus.end(), *cpu) != 0) {
      cpu_ = PmuCpu::kCtrlCpu;
    } else if (std::count(side.ai_cpus.begin(), side.ai_cpus.end(), *cpu) != 0) {
      cpu_ = PmuCpu::kAiCpu;
    } else {
      return Reject("sample of a CPU that is neither a control nor an AI CPU");
    }
    if (!sums_.Count(cpu_, *number, *count)) return Reject("more events than there is room for");
    last_wall_ns_ = std::max(last_wall_ns_, context().DeviceNsToWall(static_cast<uint64_t>(*seconds * 1e9)));
    cycles_ = *count;
    wants_function_ = *number == kCycles && *count != 0;
  }

  // "r1b". The vendor drops the zeros, r10 becomes r1.
  std::optional<uint32_t> EventNumber(std::string_view event) const {
    if (!event.starts_with('r')) return std::nullopt;
    if (!context().vendor_compatible) return ToNumber<uint32_t>(event.substr(1), 16);
    std::string digits(event.substr(1));
    std::erase(digits, '0');
    return digits.empty() ? std::optional<uint32_t>(0) : ToNumber<uint32_t>(digits, 16);
  }

  // "addr symbol+0x10 (module)"
  void Function(std::string_view line) {
    Words words(line);
    words.Next();
    std::string_view rest = words.rest();
    std::string_view module;
    const size_t open = rest.rfind('(');
    if (open != std::string_view::npos && rest.ends_with(')')) {
      module = rest.substr(open + 1, rest.size() - open - 2);
      rest = rest.substr(0, open);
    }
    rest = rest.substr(0, rest.find_last_not_of(" \t") + 1);
    const size_t begin = rest.find_first_not_of(" \t");
    rest.remove_prefix(begin == std::string_view::npos ? rest.size() : begin);
    const std::string_view function = rest.substr(0, rest.rfind('+'));
    Texts& texts = *context().texts;
    if (!sums_.Cycles(cpu_, texts.Intern(function), texts.Intern(module), cycles_)) {
      Reject("more functions than there is room for");
    }
  }

  PmuSums sums_;
  PmuCpu cpu_ = PmuCpu::kCtrlCpu;
  uint64_t cycles_ = 0, last_wall_ns_ = 0;
  bool wants_function_ = false;
};

// Samples of the scheduler's CPU. **Thread:** one.
class TsCpu : public Decoder {
 public:
  explicit TsCpu(const DecodeContext& context)
      : Decoder(context), sums_(context), small_(TraitsOf(context.side->chip).small_ts_cpu) {
    // In the order asked for.
    for (const uint32_t event : context.side->ts_cpu_events) sums_.Count(PmuCpu::kTsCpu, event, 0);
  }

  void Take(std::span<const std::byte> whole) override {
    const size_t size = small_ ? kSmallBytes : kBytes;
    for (; whole.size() >= size; whole = whole.subspan(size)) Sample(whole.data());
  }
  void Finish() override { sums_.Flush(last_wall_ns_); }

 private:
  // Both layouts hold pc, ticks and pairs of (event, count) at their end.
  static constexpr size_t kBytes = 304, kSmallBytes = 184;
  static constexpr size_t kPcAt = 176, kTicksAt = 184, kPairsAt = 192, kPairs = 7;
  static constexpr size_t kSmallPcAt = 92, kSmallTicksAt = 96, kSmallPairsAt = 104, kSmallPairs = 5;
  static constexpr uint32_t kMagic = 0xABABABAB;

  void Sample(const std::byte* at) {
    ++records_;
    if (Load<uint32_t>(at) != kMagic) return Reject("record without its magic");
    const uint64_t pc = small_ ? Load<uint32_t>(at + kSmallPcAt) : Load<uint64_t>(at + kPcAt);
    last_wall_ns_ = std::max(
        last_wall_ns_, context().DeviceTicksToWall(Load<uint64_t>(at + (small_ ? kSmallTicksAt : kTicksAt))));
    const std::byte* pairs = at + (small_ ? kSmallPairsAt : kPairsAt);
    const auto& asked = context().side->ts_cpu_events;
    for (size_t i = 0; i < (small_ ? kSmallPairs : kPairs); ++i, pairs += 16) {
      const auto event = Load<uint64_t>(pairs), count = Load<uint64_t>(pairs + 8);
      if (std::count(asked.begin(), asked.end(), event) != 0) {
        sums_.Count(PmuCpu::kTsCpu, static_cast<uint32_t>(event), count);
      }
      if (event == kCycles) Function(pc, count);
    }
  }
  void Function(uint64_t pc, uint64_t cycles) {
    char text[20] = "0x";
    const auto [end, error] = std::to_chars(text + 2, text + sizeof text, pc, 16);
    const TextId name = context().texts->Intern({text, static_cast<size_t>(end - text)});
    if (!sums_.Cycles(PmuCpu::kTsCpu, name, 0, cycles)) Reject("more functions than there is room for");
  }

  PmuSums sums_;
  const bool small_;
  uint64_t last_wall_ns_ = 0;
};

std::unique_ptr<Decoder> MakePerfSamples(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<PerfSamples>(context);
}
std::unique_ptr<Decoder> MakeTsCpu(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<TsCpu>(context);
}

constexpr ChipSet kSmallTsCpu = ChipsWith([](const ChipTraits& traits) { return traits.small_ts_cpu; });

bool IsTsCpu(const std::byte* bytes) { return Load<uint32_t>(bytes) == kTsCpuMagic; }

constexpr FramingRow kFramings[] = {
    row::Sized<IsTsCpu>(kSmallTsCpu, file::kTsCpu, 184, StampDomain::kDeviceTicks, 96),
    row::Fixed<TsCpuRecord, IsTsCpu>(chips::kAll & ~kSmallTsCpu, file::kTsCpu, StampDomain::kDeviceTicks,
                                     offsetof(TsCpuRecord, ticks), Combine::kNone, 0),
    row::Opaque(file::kCpuSamples),
};

constexpr DecoderEntry kDecoders[] = {
    {.file = file::kCpuSamples,
     .kind = Kind::kCtrlCpu,
     .by = DecoderEntry::By::kLine,
     .make = MakePerfSamples},
    {.file = file::kTsCpu,
     .kind = Kind::kTsCpu,
     .stamp = StampDomain::kDeviceTicks,
     .vendor_chips = chips::kVendorNetdev,
     .make = MakeTsCpu},
};

constexpr const Series* kSeries[] = {&kPmuEventsSeries, &kPmuFunctionsSeries};

}  // namespace

namespace family {
Family Pmu() { return {.framings = kFramings, .decoders = kDecoders, .series = kSeries}; }
}  // namespace family

}  // namespace profd::format
