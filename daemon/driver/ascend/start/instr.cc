#include "daemon/driver/ascend/start/instr.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>

namespace profd::driver {

namespace {

using base::Code;
using base::Status;
using format::Is950;

constexpr uint32_t kLeastCycles = 300, kMostCycles = 30000, kDefaultCycles = 1000;
constexpr uint32_t kCyclesOf950 = 16;
constexpr uint32_t kInstructions = 0;          // of a 950: what is told; 1 = samples of program counters
constexpr int64_t kCoresOfOneDie = 18;         // a 950 with more has two
constexpr uint32_t kApiLossReport = 0x07241a;  // the stop says whether data were lost (kBiuLoss)

// The vendor's numbers, in the order of the groups.
struct Range {
  uint32_t first, last;
};
constexpr Range kChannels[] = {{11, 42}, {55, 84}, {86, 98}};

uint32_t ChannelAt(size_t index) {
  for (const auto& [first, last] : kChannels) {
    const size_t count = last - first + 1;
    if (index < count) return first + static_cast<uint32_t>(index);
    index -= count;
  }
  return 0;
}

std::vector<std::string> Names(std::string_view beginning) {
  constexpr const char* kCores[] = {"aic", "aiv0", "aiv1"};
  std::vector<std::string> names;
  for (size_t i = 0; i < kInstrGroups * kCoresOfGroup; ++i) {
    names.push_back(std::string(beginning) + std::to_string(i / kCoresOfGroup) + "_" +
                    kCores[i % kCoresOfGroup]);
  }
  return names;
}

// Of a 950: which core the groups look at.
std::vector<uint32_t> CoresOf950(int64_t ai_cores) {
  const auto all = static_cast<uint32_t>(ai_cores);
  const bool two_dies = ai_cores > kCoresOfOneDie;
  const uint32_t die = two_dies ? all / 2 : all;
  if (die == 0) return {};
  std::vector<uint32_t> cores = {0, die / 2, die - 1};
  if (two_dies) cores.insert(cores.end(), {die, all - die / 2, all - 1});
  return cores;
}

template <typename Integer>
void Put(StartPara& para, Integer value) {
  std::memcpy(para.user_data.data() + para.user_data_size, &value, sizeof value);
  para.user_data_size += sizeof value;
}

}  // namespace

std::optional<size_t> InstrIndex(uint32_t channel) {
  size_t index = 0;
  for (const auto& [first, last] : kChannels) {
    if (channel >= first && channel <= last) return index + channel - first;
    index += last - first + 1;
  }
  return std::nullopt;
}

std::vector<ChannelUse> InstrChannels(const DeviceFacts& device) {
  static const std::vector<std::string> kNames = Names("instr.group_"),
                                        kNames950 = Names(format::file::kInstrOf950);
  const bool is_950 = Is950(device.chip);
  const size_t groups = is_950 ? CoresOf950(device.ai_core_num).size() : kInstrGroups;
  std::vector<ChannelUse> uses;
  for (size_t i = 0; i < groups * kCoresOfGroup; ++i) {
    uses.push_back({ChannelAt(i), is_950 ? kNames950[i] : kNames[i]});
  }
  return uses;
}

base::Result<uint32_t> CyclesOf(std::string_view mode) {
  if (mode.empty()) return kDefaultCycles;
  const std::string_view digits = mode.substr(std::min(kCyclesMode.size(), mode.size()));
  uint32_t cycles = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), cycles);
  if (error == std::errc() && end == digits.data() + digits.size() && cycles >= kLeastCycles &&
      cycles <= kMostCycles) {
    return cycles;
  }
  return Status(Code::kInvalidArgument, "'" + std::string(mode) + "': a sample is taken every " +
                                            std::to_string(kLeastCycles) + " to " +
                                            std::to_string(kMostCycles) + " core clocks, e.g. cycles:1000");
}

void PutInstr(StartPara& para, uint32_t channel, const DeviceFacts& device, std::string_view mode,
              uint32_t api_version) {
  const size_t index = InstrIndex(channel).value_or(0);
  if (!Is950(device.chip)) {
    Put(para, CyclesOf(mode).value());
    Put(para, uint32_t{0});
    return;
  }
  const std::vector<uint32_t> cores = CoresOf950(device.ai_core_num);
  const size_t group = index / kCoresOfGroup;
  Put(para, kCyclesOf950);
  Put(para, kInstructions);
  Put(para, static_cast<uint32_t>(index % kCoresOfGroup));
  Put(para, group < cores.size() ? cores[group] : 0);
  if (api_version >= kApiLossReport) Put(para, uint8_t{1});
}

double InstrHz(const DeviceFacts& device, std::string_view mode) {
  return device.aic_mhz * 1e6 / (Is950(device.chip) ? kCyclesOf950 : CyclesOf(mode).value());
}

}  // namespace profd::driver
