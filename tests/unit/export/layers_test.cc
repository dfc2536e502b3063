#include "client/export/views/layers.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>

namespace profd::client {
namespace {

const std::vector<std::string> kAllKinds = {"hbm",    "ddr", "pcie",       "hccs",    "nic",
                                            "roce",   "llc", "ub",         "npu-mem", "npu-app-mem",
                                            "aicore", "qos", "soc-profile"};

CaptureFacts Facts(format::Chip chip, bool sampled, std::vector<std::string> kinds) {
  CaptureFacts facts;
  format::SideFacts side;
  side.device = 0;
  side.chip = chip;
  side.cores_sampled = sampled;
  facts.devices.push_back(side);
  facts.kinds = std::move(kinds);
  return facts;
}

TEST(Layers, NoTwoShareANumber) {
  for (const format::ChipTraits& traits : format::kChips) {
    const format::Chip chip = traits.chip;
    for (const bool sampled : {false, true}) {
      for (size_t count = 0; count <= kAllKinds.size(); ++count) {
        const CaptureFacts facts = Facts(chip, sampled, {kAllKinds.begin(), kAllKinds.begin() + count});
        std::set<uint32_t> numbers, indexes;
        for (const LayerPlace& place : PlacesOf(OlderExporter(facts.devices[0]), facts)) {
          EXPECT_LT(place.number, 32u);
          EXPECT_TRUE(numbers.insert(place.number).second)
              << format::NumberOf(chip) << " " << sampled << " " << count;
          EXPECT_TRUE(indexes.insert(place.sort_index).second)
              << format::NumberOf(chip) << " " << sampled << " " << count;
        }
      }
    }
  }
}

TEST(Layers, TheOlderExportersNumbers) {
  const LayerPlaces places = PlacesOf(true, Facts(format::Chip::k310P, false, {"ddr", "hbm", "qos"}));
  const auto number = [&places](Layer layer) { return places[static_cast<size_t>(layer)].number; };
  EXPECT_EQ(number(Layer::kHbm), 20u);
  EXPECT_EQ(number(Layer::kDdr), 21u);
  EXPECT_EQ(number(Layer::kQos), 22u);
  EXPECT_EQ(number(Layer::kOverlap), 31u);
  const LayerPlace other = places[static_cast<size_t>(Layer::kOther)];
  EXPECT_GT(other.sort_index, 31u);  // behind what the vendor shows
}

TEST(Layers, ProcessesOfTheTimelineAreOnesOwn) {
  const LayerPlaces places = PlacesOf(true, Facts(format::Chip::k910B, true, kAllKinds));
  std::map<uint64_t, std::string> found;
  for (const int64_t pid : {0, 1, 4242, 4243, 4'194'303}) {
    for (int device = -1; device < 64; ++device) {
      for (size_t layer = 0; layer < kLayers; ++layer) {
        const std::string whose =
            std::to_string(pid) + "/" + std::to_string(device) + "/" + std::to_string(layer);
        const auto [other, fresh] = found.emplace(TimelinePid(pid, places[layer].number, device), whose);
        EXPECT_TRUE(fresh) << whose << " and " << other->second;
      }
    }
  }
  EXPECT_EQ(TimelinePid(4242, 24, 0), 4344576u);
  EXPECT_EQ(TimelinePid(4242, 6, -1), uint64_t{4242} << 10 | 6 << 5 | 31);
}

}  // namespace
}  // namespace profd::client
