#include "client/export/views/device/core_metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "client/export/views/views.h"
#include "format/series.h"

namespace profd::client {

namespace {

using What = CoreMetric::What;

using format::Chip;

// Where a figure is made.
struct Where {
  enum How : uint8_t { kInSamples = 1, kInTasks = 2, kOfCubes = 4, kOfVectors = 8 };
  uint8_t how = 0;
  format::ChipSet chips = {};

  constexpr Where operator|(Where other) const {
    return {static_cast<uint8_t>(how | other.how), chips | other.chips};
  }
};
constexpr Where kSampled = {Where::kInSamples}, kTasks = {Where::kInTasks}, kAnyMode = kSampled | kTasks;
// Chips with cores of two kinds show in tables of tasks what their kind is for.
constexpr Where kCube = {Where::kOfCubes}, kVector = {Where::kOfVectors}, kBoth = kCube | kVector;
constexpr Where OnChips(format::ChipSet chips) { return {0, chips}; }
constexpr Where k310 = OnChips(format::Only({Chip::k310}));
constexpr Where k310P = OnChips(format::Families({Chip::k310P}));  // and the 610 class
constexpr Where k950 = OnChips(format::Families({Chip::k950}));
constexpr Where k910B = OnChips(format::Families({Chip::k910B}));
constexpr Where kOld = OnChips(~k950.chips), kUsual = OnChips(~(k310 | k310P | k950).chips);

struct Weighted {
  uint16_t event = 0;
  double weight = 1;
};

struct Figure {
  std::string_view name;
  Where where;
  What what;
  std::array<Weighted, 5> plus;     // as many as have an event
  std::array<uint16_t, 3> of = {};  // the first, or the others together, whichever is more
  uint16_t without = 0;             // not where this is counted
};

constexpr Where kAll = kAnyMode | kBoth | kOld, kAll950 = kAnyMode | kBoth | k950;
constexpr Where kAllCube = kAnyMode | kCube | kOld, kAllVector = kAnyMode | kVector | kOld;
constexpr Where kCube950 = kAnyMode | kCube | k950, kVector950 = kAnyMode | kVector | k950;
// The table of tasks comes from the vendor's C++ exporter (csrc/domain/entities/metric/metric.cpp:60), which
// spells some names otherwise than its Python.
// Its C++ exporter has for tasks of a 910B what its Python has for samples (…/metric_calculator_group/),
// which its Python has otherwise for tasks of older chips.
constexpr Where kCubeTasks = kTasks | kCube | OnChips(~(k910B | k950).chips);
constexpr Where kCubeTasks910B = kTasks | kCube | k910B;
constexpr Where kAllTasks = kTasks | kBoth | kOld, kAllSamples = kSampled | kBoth | kOld;
constexpr uint16_t kFixpipe = 0x303;
// Counted in PipelineExecuteUtilization alone, in which every pipe's name says so.
constexpr uint16_t kVectorExecutes = 0x12c;
constexpr uint16_t kWrites = 0x50c;  // to main memory: counts of the same are amounts of data there

constexpr Figure Part(std::string_view name, Where where, uint16_t event, uint16_t more = 0) {
  return {name, where, What::kPart, {{{event}, {more}}}};
}
constexpr Figure Executing(std::string_view name, Where where, uint16_t event) {
  return {name, where, What::kPart, {{{event}, {kVectorExecutes, 0}}}};
}
constexpr Figure Usual(std::string_view name, Where where, uint16_t event) {
  return {name, where, What::kPart, {{{event}}}, {}, kVectorExecutes};
}
constexpr Figure Rate(std::string_view name, Where where, uint16_t event, double bits, uint16_t more = 0,
                      double more_bits = 0) {
  return {name, where, What::kRate, {{{event, bits}, {more, more_bits}}}};
}
constexpr Figure Count(std::string_view name, Where where, uint16_t event) {
  return {name, where, What::kSum, {{{event}}}};
}
// Of a cube 16 × 16 × 16 at a time, with numbers of half the width twice as many; two for each place.
constexpr double kHalfOps = 16 * 16 * 16 * 2, kByteOps = 16 * 16 * 32 * 2;
constexpr Figure VectorOps(Where where, double of_fp32, double of_int32, double of_rest) {
  return {"vector_fops",
          where,
          What::kSum,
          {{{0x4b, of_fp32}, {0x4c, 128}, {0x4d, 64}, {0x4e, of_int32}, {0x4f, of_rest}}}};
}
constexpr double kKib = 1024;

// In the order of the vendor's columns. Source: the vendor's analyser (Ascend/msprof:
// msconfig/ai_core_config.py for samples, common_func/constant.py for tasks, which give some requests another
// width).
constexpr Figure kFigures[] = {
    Part("vec_ratio", kAllVector, 0x8),
    Part("vec_exe_ratio", kAll, kVectorExecutes),
    Part("mac_ratio", kAllCube, 0xa),
    Part("mac_ratio", kAll, 0x416, 0x417),
    {"mac_exe_ratio", kAll, What::kPart, {{{0x49}, {0x4a}, {kVectorExecutes, 0}}}},
    Executing("scalar_exe_ratio", kAll, 0x9),
    Executing("mte1_exe_ratio", kAllCube, 0x302),
    Executing("mte2_exe_ratio", kAll, 0xc),
    Executing("mte3_exe_ratio", kAllVector, 0xd),
    Executing("fixpipe_exe_ratio", kAll, kFixpipe),
    Usual("scalar_ratio", kAll, 0x9),
    Part("mte1_ratio", kAllCube, 0xb),
    Usual("mte1_ratio", kAllCube, 0x302),
    Usual("mte2_ratio", kAll, 0xc),
    Usual("mte3_ratio", kAllVector, 0xd),
    Usual("fixpipe_ratio", kAll, kFixpipe),
    Part("vec_ratio", kVector950, 0x501),
    Part("mac_ratio", kCube950, 0x301),
    Part("scalar_ratio", kAll950, 0x1),
    Part("mte1_ratio", kCube950, 0x701),
    Part("mte2_ratio", kAll950, 0x202),
    Part("mte3_ratio", kAll950, 0x203),
    Part("fixpipe_ratio", kCube950, 0x714),
    {"icache_miss_rate", kAll, What::kShare, {{{0x55}}}, {0x54}},
    {"icache_miss_rate", kAll950, What::kShare, {{{0x35}}}, {0x34}},
    {"memory_bound", kAnyMode | kOld, What::kBound, {{{0xc}}}, {0x8, 0xa}},
    {"memory_bound", kTasks | kOld, What::kBound, {{{0xc}}}, {kVectorExecutes, 0x49, 0x4a}},

    {"mac_fp16_ratio", kAllCube, What::kPart, {{{0x49}}}, {}, kFixpipe},
    {"mac_int8_ratio", kAllCube, What::kPart, {{{0x4a}}}, {}, kFixpipe},
    Part("vec_fp32_ratio", kAllVector, 0x4b),
    Part("vec_fp16_ratio", kAllVector, 0x4c, 0x4d),
    Part("vec_int32_ratio", kAllVector, 0x4e),
    Part("vec_misc_ratio", kAllVector, 0x4f),
    {"cube_fops", kAllCube, What::kSum, {{{0x49, kHalfOps}, {0x4a, kByteOps}}}, {}, kFixpipe},
    VectorOps(kAnyMode | kVector | kUsual, 64, 64, 32),
    VectorOps(kAnyMode | kVector | k310P, 64, 16, 16),
    VectorOps(kSampled | kVector | k310, 32, 64, 32),
    VectorOps(kTasks | kVector | k310, 64, 64, 32),
    Part("mac_fp16_ratio", kCube950, 0x323),
    Part("mac_int8_ratio", kCube950, 0x324),
    {"cube_fops", kCube950, What::kSum, {{{0x323, kHalfOps}, {0x324, kByteOps}}}},

    Rate("ub_read_bw(GB/s)", kAllVector, 0x15, 1024),
    Rate("ub_write_bw(GB/s)", kAllVector, 0x16, 1024),
    Rate("l1_read_bw(GB/s)", kAllCube, 0x31, 4096),
    {"l1_write_bw(GB/s)", kCubeTasks, What::kRate, {{{0x32, 2048}}}, {}, kWrites},
    {"l1_write_bw(GB/s)", kCubeTasks910B, What::kRate, {{{0x32, 1024}}}, {}, kWrites},
    {"l1_write_bw(GB/s)", kSampled | kCube | kOld, What::kRate, {{{0x32, 1024}}}, {}, kWrites},
    Rate("l2_read_bw(GB/s)", kSampled | kBoth | kOld, 0xf, 2048),
    Rate("l2_write_bw(GB/s)", kSampled | kBoth | kOld, 0x10, 2048),
    Rate("main_mem_read_bw(GB/s)", kAll, 0x12, 64),
    Rate("main_mem_write_bw(GB/s)", kAll, 0x13, 64),
    Rate("l2_read_bw(GB/s)", kTasks | kBoth | kOld, 0xf, 2048),
    Rate("l2_write_bw(GB/s)", kTasks | kBoth | kOld, 0x10, 2048),
    Rate("ub_read_bw(GB/s)", kTasks | kVector | k950, 0x56f, 1024, 0x571, 256),
    Rate("ub_read_bw(GB/s)", kSampled | k950, 0x56f, 1024, 0x571, 1024),
    Rate("ub_write_bw(GB/s)", kTasks | kVector | k950, 0x570, 1024, 0x572, 256),
    Rate("ub_write_bw(GB/s)", kSampled | k950, 0x570, 1024, 0x572, 1024),
    Rate("l1_read_bw(GB/s)", kCube950, 0x707, 4096),
    Rate("l1_write_bw(GB/s)", kCube950, 0x709, 2048),
    Rate("main_mem_read_bw(GB/s)", kAll950, 0x400, 64),
    Rate("main_mem_read_bw(GB/s)", kAll950, 0x422, 64),
    Rate("main_mem_write_bw(GB/s)", kAll950, 0x401, 64),
    Rate("main_mem_write_bw(GB/s)", kAll950, 0x423, 64),

    Rate("l0a_read_bw(GB/s)", kAllCube, 0x1b, 4096),
    Rate("l0a_write_bw(GB/s)", kAllCube, 0x1c, 4096),
    Rate("l0b_read_bw(GB/s)", kCubeTasks, 0x21, 2048),
    Rate("l0b_read_bw(GB/s)", kCubeTasks910B, 0x21, 4096),
    Rate("l0b_read_bw(GB/s)", kSampled | kCube | kOld, 0x21, 4096),
    Rate("l0b_write_bw(GB/s)", kAllCube, 0x22, 2048),
    Rate("l0c_read_bw(GB/s)", kAllVector, 0x27, 2048),
    Rate("l0c_write_bw(GB/s)", kAllVector, 0x29, 2048),
    Rate("l0c_read_bw_cube(GB/s)", kCubeTasks, 0x28, 2048),
    Rate("l0c_read_bw_cube(GB/s)", kCubeTasks910B, 0x28, 8192),
    Rate("l0c_read_bw_cube(GB/s)", kSampled | kCube | kOld, 0x28, 8192),
    Rate("l0c_write_bw_cube(GB/s)", kCubeTasks, 0x2a, 2048),
    Rate("l0c_write_bw_cube(GB/s)", kCubeTasks910B, 0x2a, 8192),
    Rate("l0c_write_bw_cube(GB/s)", kSampled | kCube | kOld, 0x2a, 8192),
    Rate("l0a_read_bw(GB/s)", kCube950, 0x304, 4096),
    Rate("l0a_write_bw(GB/s)", kCube950, 0x703, 4096),
    Rate("l0b_read_bw(GB/s)", kCube950, 0x306, 2048),
    Rate("l0b_write_bw(GB/s)", kCube950, 0x705, 2048),
    Rate("l0c_read_bw(GB/s)", kAll950, 0x712, 2048),
    Rate("l0c_read_bw_cube(GB/s)", kCube950, 0x30a, 2048),
    Rate("l0c_write_bw_cube(GB/s)", kCube950, 0x308, 2048),

    Rate("ub_read_bw_vector(GB/s)", kAllVector, 0x43, 256),
    Rate("ub_write_bw_vector(GB/s)", kTasks | kVector | kOld, 0x44, 256),
    Rate("ub_write_bw_vector(GB/s)", kSampled | kVector | kOld, 0x44, 128),
    Rate("ub_read_bw_vector(GB/s)", kAllVector, 0x17f, 256, 0x180, 256),
    Rate("ub_write_bw_vector(GB/s)", kAllVector, 0x191, 256),
    Rate("ub_read_bw_scalar(GB/s)", kAll, 0x37, 128),
    Rate("ub_write_bw_scalar(GB/s)", kAll, 0x38, 128),
    {"ub_read_bw_mte(GB/s)", kAllVector, What::kRate, {{{0x3d, 128}}}, {}, kWrites},
    {"ub_write_bw_mte(GB/s)", kAllVector, What::kRate, {{{0x3e, 128}}}, {}, kWrites},
    Rate("ub_read_bw_mte(GB/s)", kAllVector, 0x1a5, 128),
    Rate("ub_write_bw_mte(GB/s)", kAllVector, 0x1a6, 128),
    {"ub_read_bw_vector(GB/s)", kVector950, What::kRate, {{{0x571, 256}}}, {}, 0x56f},
    {"ub_write_bw_vector(GB/s)", kVector950, What::kRate, {{{0x572, 256}}}, {}, 0x570},
    Rate("ub_read_bw_scalar(GB/s)", kAll950, 0x3, 128),
    Rate("ub_write_bw_scalar(GB/s)", kAll950, 0x5, 128),
    Rate("ub_read_bw_mte(GB/s)", kAll950, 0x204, 128),
    Rate("ub_write_bw_mte(GB/s)", kAll950, 0x206, 128),
    Rate("fixp2ub_write_bw(GB/s)", kAll950, 0x70c, 2048),

    Part("vec_bankgroup_cflt_ratio", kAllVector, 0x64),
    Part("vec_bank_cflt_ratio", kAllVector, 0x65),
    Part("vec_resc_cflt_ratio", kAllVector, 0x66),
    Part("vec_bank_cflt_ratio", kVector950, 0x540, 0x556),
    {"vec_resc_cflt_ratio", kVector950, What::kShare, {{{0x528}}}, {0x502}},

    {"read_main_memory_datas(KB)", kAll, What::kSum, {{{0x50d, 128 / kKib}, {0x50e, 128 / kKib}}}},
    {"write_main_memory_datas(KB)", kAll, What::kSum, {{{kWrites, 128 / kKib}}}},
    {"GM_to_L1_datas(KB)", kAllTasks, What::kSum, {{{0x32, 256 / kKib}, {0x206, -256 / kKib}}}},
    {"L0C_to_L1_datas(KB)", kAllTasks, What::kSum, {{{0x206, 128 / kKib}}}},
    {"L0C_to_GM_datas(KB)", kAllTasks, What::kSum, {{{0x20c, 128 / kKib}, {0x206, -128 / kKib}}}},
    {"GM_to_UB_datas(KB)", kAllTasks, What::kSum, {{{0x3e, 128 / kKib}, {kWrites, 0}}}},
    {"UB_to_GM_datas(KB)", kAllTasks, What::kSum, {{{0x3d, 128 / kKib}, {kWrites, 0}}}},
    {"gm_to_l1_datas(KB)", kAllSamples, What::kSum, {{{0x32, 256 / kKib}, {0x206, -256 / kKib}}}},
    {"l0c_to_l1_datas(KB)", kAllSamples, What::kSum, {{{0x206, 128 / kKib}}}},
    {"l0c_to_gm_datas(KB)", kAllSamples, What::kSum, {{{0x20c, 128 / kKib}, {0x206, -128 / kKib}}}},
    {"gm_to_ub_datas(KB)", kAllSamples, What::kSum, {{{0x3e, 128 / kKib}, {kWrites, 0}}}},
    {"ub_to_gm_datas(KB)", kAllSamples, What::kSum, {{{0x3d, 128 / kKib}, {kWrites, 0}}}},

    Count("write_cache_hit", kAll, 0x500),
    Count("write_cache_miss_allocate", kAll, 0x502),
    Count("r0_read_cache_hit", kAll, 0x504),
    Count("r0_read_cache_miss_allocate", kAll, 0x506),
    Count("r1_read_cache_hit", kAll, 0x508),
    Count("r1_read_cache_miss_allocate", kAll, 0x50a),
    Count("read_local_l2_hit", kAll950, 0x424),
    Count("read_local_l2_miss", kAll950, 0x425),
    Count("read_local_l2_victim", kAll950, 0x426),
    Count("write_local_l2_hit", kAll950, 0x42a),
    Count("write_local_l2_miss", kAll950, 0x42b),
    Count("write_local_l2_victim", kAll950, 0x42c),
};

bool IsPipe(std::string_view name) {
  constexpr std::string_view kPipes[] = {"vec", "mac", "scalar", "mte1", "mte2", "mte3", "fixpipe"};
  for (const std::string_view end : {"_exe_ratio", "_ratio"}) {
    if (name.ends_with(end))
      return std::ranges::find(kPipes, name.substr(0, name.size() - end.size())) != std::end(kPipes);
  }
  return false;
}

}  // namespace

std::array<double, format::TaskCounters::kEvents> EventsOf(const format::TaskCounters::Core& core) {
  std::array<double, format::TaskCounters::kEvents> events{};
  std::ranges::transform(core.event, events.begin(),
                         [](uint64_t count) { return static_cast<double>(count); });
  return events;
}

double CoreMetric::Value(const CoreCounts& counts) const {
  // Somebody may have asked for more than a record has room for.
  const auto at = [&counts](size_t place) {
    return place < counts.events.size() ? counts.events[place] : format::kNoValue;
  };
  double sum = 0;
  for (const Term& term : plus) sum += term.weight * at(term.place);
  constexpr double kGibit = 8589934592.0, kMega = 1e6;
  switch (what) {
    case What::kPart:
      return counts.cycles > 0 ? sum / counts.cycles : format::kNoValue;
    case What::kRate:
      if (!(counts.cycles > 0) || !(counts.mhz > 0)) return format::kNoValue;
      return sum / (counts.cycles / (counts.mhz * kMega)) / kGibit;
    case What::kShare:
    case What::kBound: {
      double others = 0;
      for (size_t i = 1; i < of.size(); ++i) others += at(of[i]);
      const double most = of.empty() ? 0 : std::max(at(of[0]), others);
      return most > 0 ? sum / most : 0;  // of no requests none missed
    }
    case What::kSum:
      break;
  }
  return sum;
}

std::string CoreMetric::TimeName() const { return name.substr(0, name.rfind("_ratio")) + "_time"; }

double CoreBusyUs(const format::TaskCounters::Core& core, const format::SideFacts& side, bool vector,
                  uint32_t blocks) {
  if (core.busy_ticks > 0 && side.counter_mhz > 0)
    return static_cast<double>(core.busy_ticks) / side.counter_mhz;
  const double mhz = vector ? side.aiv_mhz : side.aic_mhz;
  if (core.blocks != 0) blocks = core.blocks;
  const auto cores = static_cast<double>(vector ? side.aiv_num : side.ai_core_num);
  if (!(mhz > 0) || !(cores > 0) || blocks == 0) return format::kNoValue;
  return static_cast<double>(core.cycles) / mhz / blocks * std::ceil(blocks / cores);
}

std::vector<CoreMetric> CoreMetricsOf(const format::SideFacts& side, bool vector, CoreMode mode) {
  const std::vector<uint32_t>& events = vector ? side.aiv_events : side.aic_events;
  const format::ChipTraits& chip = format::TraitsOf(side.chip);
  const bool by_kind = mode == CoreMode::kByTask && chip.has_both_cores();
  const auto place = [&events](uint32_t event) {
    return static_cast<size_t>(std::ranges::find(events, event) - events.begin());
  };
  const auto has = [&](uint32_t event) { return event == 0 || place(event) < events.size(); };
  std::vector<bool> used(events.size());
  std::vector<CoreMetric> metrics;
  if ((vector ? side.aiv_metrics : side.aic_metrics).starts_with("Custom")) {
    for (size_t i = 0; i < events.size(); ++i) {
      CoreMetric metric;
      metric.name = "r" + HexText(events[i]).substr(2);
      metric.what = CoreMetric::What::kSum;
      metric.plus = {{i}};
      metrics.push_back(std::move(metric));
    }
    return metrics;
  }
  for (const Figure& figure : kFigures) {
    if ((figure.where.how & (mode == CoreMode::kByTask ? Where::kInTasks : Where::kInSamples)) == 0 ||
        !figure.where.chips.Has(side.chip) || (figure.without != 0 && has(figure.without)) ||
        !std::ranges::all_of(figure.plus, has, &Weighted::event) || !std::ranges::all_of(figure.of, has))
      continue;
    CoreMetric metric;
    metric.name = figure.name;
    metric.what = figure.what;
    for (const Weighted& term : figure.plus) {
      if (term.event == 0) continue;
      used[place(term.event)] = true;
      if (term.weight != 0) metric.plus.push_back({place(term.event), term.weight});
    }
    for (const uint16_t event : figure.of) {
      if (event == 0) continue;
      used[place(event)] = true;
      metric.of.push_back(place(event));
    }
    metric.is_pipe = IsPipe(figure.name);
    const int kinds = figure.where.how & (Where::kOfVectors | Where::kOfCubes);
    const bool is_its = (kinds & (vector ? Where::kOfVectors : Where::kOfCubes)) != 0;
    if (by_kind && chip.tells_cores_apart() && !is_its) continue;
    metric.is_of_core = !by_kind || kinds == 0 || is_its;
    metrics.push_back(std::move(metric));
  }
  for (size_t i = 0; i < events.size(); ++i) {
    if (used[i]) continue;
    CoreMetric metric;
    metric.name = HexText(events[i]);
    metric.plus = {{i}};
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

}  // namespace profd::client
