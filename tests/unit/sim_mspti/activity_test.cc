// What the records say.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>

#include "sim/hal/channels/truth.h"
#include "sim/scenario/clock.h"
#include "sim/scenario/load.h"
#include "tests/unit/sim_mspti/mspti_library.h"

namespace profd::sim::mspti {
namespace {

// Fields of the packed records lie unaligned: a plus makes a copy of one before somebody takes a reference.

std::string Yaml(const std::string& more = "") {
  return "scenario: {step_ms: 20}\nmspti: {auto: true, disable_ms: 0, truth: $DIR/truth" + more + "}\n";
}

constexpr std::initializer_list<uint32_t> kAll = {kMarker,
                                                  kKernel,
                                                  kApi,
                                                  kMemory,
                                                  kMemset,
                                                  kMemcpy,
                                                  kAclApi,
                                                  kNodeApi,
                                                  kRuntimeApi,
                                                  kCommunication,
                                                  kExternalCorrelation,
                                                  kHccl};

int64_t WallMinusRawNs() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec - static_cast<int64_t>(RawNs());
}

TEST(MsptiActivityTest, S9PackedRecordsOfAllKindsInOneBuffer) {
  MsptiLibrary library(Yaml(), {.preloaded = true});
  library.Begin(kAll);
  SleepMs(200);
  // All kinds but that of who pushes ids, which nobody does.
  Until([&] {
    library.FlushAll();
    return CountByKind(MsptiLibrary::Buffers()).size() >= kAll.size() - 1;
  });
  library.End(kAll);
  const auto buffers = MsptiLibrary::Buffers();
  auto counts = CountByKind(buffers);
  const nlohmann::json truth = library.Truth();
  for (const auto& [name, kind] :
       std::initializer_list<std::pair<const char*, uint32_t>>{{"marker", kMarker},
                                                               {"kernel", kKernel},
                                                               {"api", kApi},
                                                               {"hccl", kHccl},
                                                               {"memory", kMemory},
                                                               {"memset", kMemset},
                                                               {"memcpy", kMemcpy},
                                                               {"communication", kCommunication},
                                                               {"acl_api", kAclApi},
                                                               {"node_api", kNodeApi},
                                                               {"runtime_api", kRuntimeApi}}) {
    EXPECT_GT(counts[kind], 0U) << name;
    EXPECT_EQ(truth[name]["delivered"].get<uint64_t>(), counts[kind]) << name;
  }
  uint64_t checksum = 0;
  for (const KernelRecord& kernel : RecordsOf<KernelRecord>(buffers, kKernel)) {
    EXPECT_EQ(kernel.padding, 0xEEEEEEEE);
    checksum += Crc32(0, {reinterpret_cast<const char*>(&kernel), sizeof kernel});
  }
  EXPECT_EQ(truth["kernel"]["checksum"].get<uint64_t>(), checksum);
}

TEST(MsptiActivityTest, S10AKindNobodyKnowsAndALargerOne) {
  for (const char* odd : {", unknown_every: 7", ", larger_kernels: true"}) {
    MsptiLibrary library(Yaml(odd));
    library.Begin({kKernel});
    SleepMs(150);
    Until([&] {
      library.FlushAll();
      const nlohmann::json truth = library.Truth();
      return truth.contains("kernel") && truth["kernel"]["delivered"].get<uint64_t>() > 100;
    });
    library.End({kKernel});
    // A walker with today's sizes stops short of the end.
    const uint64_t delivered = library.Truth()["kernel"]["delivered"];
    EXPECT_LT(CountByKind(MsptiLibrary::Buffers())[kKernel], delivered) << odd;
  }
}

TEST(MsptiActivityTest, S11S14OddTexts) {
  std::set<std::string> seen;
  bool null = false;
  bool no_count = false;
  const auto look = [&](uint8_t* bytes, size_t valid) {  // texts end with the subscription
    const std::vector<Delivered> buffer = {{std::string(reinterpret_cast<char*>(bytes), valid), valid, 0}};
    for (const CommunicationRecord& record : RecordsOf<CommunicationRecord>(buffer, kCommunication)) {
      for (const char* text : {record.name, record.alg, record.comm}) {
        null = null || text == nullptr;
        if (text != nullptr) seen.insert(text);
      }
      no_count = no_count || record.count == 0;
    }
  };
  MsptiLibrary library(Yaml(", odd_texts: true, free_texts: true"));
  library.Begin({kCommunication});
  MsptiLibrary::on_complete = look;
  Until([&] {  // their buffer does not get full: it comes on this thread
    SleepMs(20);
    library.FlushAll();
    return seen.size() > 10;
  });
  EXPECT_EQ(library.Disable(kCommunication), kSuccess);
  library.FlushAll();
  MsptiLibrary::on_complete = nullptr;  // a record that is still under way comes when its texts are gone
  library.End({});
  EXPECT_TRUE(null && no_count);
  EXPECT_TRUE(seen.contains(""));
  EXPECT_TRUE(
      std::any_of(seen.begin(), seen.end(), [](const std::string& text) { return text.size() > 4096; }));
}

TEST(MsptiActivityTest, S12MarkersInAnyOrder) {
  MsptiLibrary library(Yaml(", missing_every: 3"));
  library.Begin({kMarker});
  SleepMs(400);
  Until([&] {
    library.FlushAll();
    return CountByKind(MsptiLibrary::Buffers())[kMarker] > 100;
  });
  library.End({kMarker});
  std::map<uint64_t, std::vector<MarkerRecord>> ranges;
  bool end_first = false;
  for (const MarkerRecord& marker : RecordsOf<MarkerRecord>(MsptiLibrary::Buffers(), kMarker)) {
    auto& range = ranges[+marker.id];
    end_first = end_first || (range.empty() && marker.flag == kEnd);
    range.push_back(marker);
    EXPECT_EQ(marker.source_kind, marker.flag >= kInstant << kDeviceShift ? 1U : 0U);
    EXPECT_STREQ(marker.domain, marker.flag == kStart ? "default" : "");
  }
  bool quartet = false;
  bool host_only = false;
  for (const auto& [id, range] : ranges) {
    quartet = quartet || range.size() == 4;
    host_only = host_only || (range.size() == 2 && range[0].source_kind == 0 && range[1].source_kind == 0);
  }
  EXPECT_TRUE(end_first && quartet && host_only);
}

TEST(MsptiActivityTest, MarkerDomains) {
  MsptiLibrary library(Yaml());
  const auto disable = library.Call<int(const char*)>("msptiActivityDisableMarkerDomain");
  EXPECT_EQ(disable(nullptr), kInvalid);
  EXPECT_EQ(disable(std::string(255, 'x').c_str()), kInvalid);
  EXPECT_EQ(disable("default"), kSuccess);
  library.Begin({kMarker});
  SleepMs(60);
  library.End({kMarker});
  EXPECT_TRUE(CountByKind(MsptiLibrary::Buffers()).empty());
}

TEST(MsptiActivityTest, S13KernelsAreTheTasksOfTheScenario) {
  MsptiLibrary library(Yaml());
  const int64_t offset = WallMinusRawNs();
  library.Begin({kKernel, kApi, kNodeApi});
  SleepMs(200);
  Until([&] {  // of both devices, in forward, backward and optimizer
    library.FlushAll();
    std::set<std::pair<uint32_t, uint32_t>> seen;
    for (const KernelRecord& kernel : RecordsOf<KernelRecord>(MsptiLibrary::Buffers(), kKernel))
      seen.emplace(+kernel.device, +kernel.stream);
    return seen.size() >= 4;
  });
  library.End({kKernel, kApi, kNodeApi});
  const auto kernels = RecordsOf<KernelRecord>(MsptiLibrary::Buffers(), kKernel);
  const TrainingLoad load({.step_ms = 20}, 1, 0, *FindChip("910B"));
  std::set<uint32_t> devices;
  std::set<uint32_t> streams;
  for (const KernelRecord& kernel : kernels) {
    devices.insert(kernel.device);
    streams.insert(kernel.stream);
    EXPECT_GE(+kernel.end, +kernel.start);
    // Stream 2 is forward and backward, stream 3 the optimizer: between these permilles of the driver's own
    // steps.
    const auto raw = static_cast<int64_t>((kernel.start + kernel.end) / 2) - offset;
    const uint32_t permille = load.Permille(static_cast<uint64_t>(raw));
    EXPECT_TRUE(kernel.stream == 2 ? permille >= 95 && permille <= 825 : permille >= 895) << permille;
  }
  EXPECT_EQ(devices, (std::set<uint32_t>{0, 1}));
  EXPECT_EQ(streams, (std::set<uint32_t>{2, 3}));
  // Two kinds tell of the same calls.
  const auto apis = RecordsOf<ApiRecord>(MsptiLibrary::Buffers(), kApi);
  const auto nodes = RecordsOf<ApiRecord>(MsptiLibrary::Buffers(), kNodeApi);
  ASSERT_GT(nodes.size(), 1U);
  ASSERT_GT(apis.size(), 1U);
  EXPECT_EQ(+apis[1].start, +nodes[apis[1].correlation == nodes[1].correlation ? 1 : 0].start);
}

TEST(MsptiActivityTest, S13KernelsComeLateAfterDisable) {
  MsptiLibrary library(Yaml(", late_ms: 500"));
  library.Begin({kKernel});
  EXPECT_EQ(library.Disable(kKernel), kSuccess);
  library.FlushAll();
  const uint64_t before = CountByKind(MsptiLibrary::Buffers())[kKernel];
  Until([&] {
    library.FlushAll();
    return CountByKind(MsptiLibrary::Buffers())[kKernel] > before;
  });
  library.End({});
}

TEST(MsptiActivityTest, S14SomeOperationsAreSilentlyMissing) {
  uint64_t counts[2] = {};
  for (const int missing : {0, 2}) {
    MsptiLibrary library(Yaml(", rates: {communication: 1000}, missing_every: " + std::to_string(missing)));
    library.Begin({kCommunication, kKernel});
    Until([&] {
      library.FlushAll();
      return CountByKind(MsptiLibrary::Buffers())[kKernel] > 300;
    });
    library.End({kCommunication, kKernel});
    auto found = CountByKind(MsptiLibrary::Buffers());
    counts[missing / 2] = found[kCommunication] * 100 / found[kKernel];
  }
  EXPECT_LT(counts[1] * 3, counts[0] * 2);
}

TEST(MsptiActivityTest, S15TheClockStepsAndJumps) {
  MsptiLibrary library(
      Yaml(", rates: {node_api: 2000}, clock: {resync_s: 0.05, step_us: 3000, jump_s: -5, "
           "jump_at_s: 0.3, device_offset_ns: 1000000}"));
  library.Begin({kNodeApi});
  SleepMs(600);
  Until([&] {  // two tenths of a second and more behind the jump
    library.FlushAll();
    const auto records = RecordsOf<ApiRecord>(MsptiLibrary::Buffers(), kNodeApi);
    return std::ranges::count_if(records, [](const ApiRecord& record) {
             return record.name != nullptr && std::string_view(record.name) == "flood";
           }) > 1000;
  });
  library.End({kNodeApi});
  bool stepped = false;
  bool jumped = false;
  uint64_t last = 0;
  for (const ApiRecord& record : RecordsOf<ApiRecord>(MsptiLibrary::Buffers(), kNodeApi)) {
    if (record.name == nullptr || std::string(record.name) != "flood") continue;
    const auto advance = static_cast<int64_t>(record.start - last);
    if (last != 0) {
      // By 5 s, less what a busy machine lets pass between two records.
      jumped = jumped || advance < -1'000'000'000;
      stepped = stepped || (advance < -2'000'000 && advance > -4'000'000) ||
                (advance > 3'000'000 && advance < 9'000'000);
    }
    last = record.start;
  }
  EXPECT_TRUE(stepped);
  EXPECT_TRUE(jumped);
}

TEST(MsptiActivityTest, S16ExternalCorrelation) {
  MsptiLibrary library(Yaml());
  const auto push = library.Call<int(uint32_t, uint64_t)>("msptiActivityPushExternalCorrelationId");
  const auto pop = library.Call<int(uint32_t, uint64_t*)>("msptiActivityPopExternalCorrelationId");
  uint64_t last = 0;
  EXPECT_EQ(pop(2, &last), kQueueEmpty);
  EXPECT_EQ(pop(2, nullptr), kInvalid);
  // The stack is the process's, whatever the header says of threads.
  std::thread([&] { EXPECT_EQ(push(2, 77), kSuccess); }).join();
  library.Begin({kExternalCorrelation, kNodeApi});
  Until([] { return MsptiLibrary::requests > 0; });  // for the first record
  SleepMs(100);
  library.End({kExternalCorrelation, kNodeApi});
  EXPECT_EQ(pop(2, &last), kSuccess);
  EXPECT_EQ(last, 77U);
  const auto buffers = MsptiLibrary::Buffers();
  ASSERT_FALSE(buffers.empty());
  // Each launch's comes before it.
  std::set<uint64_t> told;
  for (size_t at = 0; at < buffers[0].bytes.size();) {
    uint32_t kind;
    std::memcpy(&kind, buffers[0].bytes.data() + at, sizeof kind);
    if (kind == kExternalCorrelation) {
      ExternalCorrelationRecord record;
      std::memcpy(&record, buffers[0].bytes.data() + at, sizeof record);
      EXPECT_EQ(+record.external_id, 77U);
      told.insert(+record.correlation);
    } else {
      ApiRecord record;
      std::memcpy(&record, buffers[0].bytes.data() + at, sizeof record);
      EXPECT_TRUE(told.contains(+record.correlation));
    }
    at += BytesOf(kind);
  }
  EXPECT_FALSE(told.empty());
}

}  // namespace
}  // namespace profd::sim::mspti
