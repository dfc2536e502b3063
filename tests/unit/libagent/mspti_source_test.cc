// The MSPTI source inside the test's own process, where a sanitizer sees both it and the simulated library.
#include <dlfcn.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "libagent/src/emitter.h"
#include "libagent/src/mspti/source.h"
#include "libagent/src/process.h"
#include "libagent/src/tables/names.h"
#include "tests/unit/libagent/region.h"

namespace profd::agent::testing {
namespace {

// The simulated job works by the clock.
void SleepMs(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// The libraries live as long as the process, so there is one configuration for all tests: everything odd at
// once.
struct Toolkit {
  Toolkit() {
    folder = (std::filesystem::temp_directory_path() / "profd-mspti.XXXXXX").string();
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    std::filesystem::create_directory(folder + "/lib64");
    for (const char* name : {"libprofapi.so", "libmspti.so"}) {
      std::filesystem::create_symlink(std::string(PROFD_BUILD_DIR) + "/sim/" + name,
                                      folder + "/lib64/" + name);
    }
    // Not more than a sanitizer's build can read: its lanes are read as slowly as they fill.
    std::ofstream(folder + "/sim.yaml")
        << "scenario: {step_ms: 100}\n"
           "mspti: {truth: " +
               folder +
               "/truth, disable_ms: 0, odd_texts: true, "
               "free_texts: true, missing_every: 3, drop_every: 11, late_ms: 20, "
               "complete_jitter_us: 3000, rates: {kernel: 10000}}\n";
    ::setenv("PROFD_SIM_CONFIG", (folder + "/sim.yaml").c_str(), 1);
    ::setenv("ASCEND_HOME_PATH", folder.c_str(), 1);
    router = ::dlopen((folder + "/lib64/libprofapi.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(router, nullptr) << ::dlerror();
    EXPECT_NE(::dlopen((folder + "/lib64/libmspti.so").c_str(), RTLD_NOW | RTLD_LOCAL), nullptr)
        << ::dlerror();
  }
  ~Toolkit() { std::filesystem::remove_all(folder); }

  void Set(bool open) const {
    const auto notify =
        reinterpret_cast<int (*)(uint32_t, uint32_t, bool)>(::dlsym(router, "MsprofNotifySetDevice"));
    for (const uint32_t device : {0U, 1U}) notify(5, device, open);
  }
  // Of all kinds, since the library was loaded.
  uint64_t Delivered() const {
    nlohmann::json latest = {{"kinds", nlohmann::json::object()}};
    std::ifstream file(folder + "/truth");
    for (std::string line; std::getline(file, line);) latest = nlohmann::json::parse(line);
    uint64_t sum = 0;
    for (const auto& [kind, truth] : latest["kinds"].items()) sum += truth["delivered"].get<uint64_t>();
    return sum;
  }

  std::string folder;
  void* router = nullptr;
};
const Toolkit& TheToolkit() {
  static const Toolkit toolkit;
  return toolkit;
}

class MsptiSourceTest : public ::testing::Test {
 protected:
  void Attach(Geometry geometry) {
    delivered_before_ = TheToolkit().Delivered();
    region_ = std::make_unique<Region>(geometry);
    region_->Seal();
    ASSERT_EQ(AttachRegion(region_->fd(), ::dup(region_->wake())), AttachError::kOk);
    constexpr uint32_t kKinds = 1U << abi::kKernel | 1U << abi::kComm | 1U << abi::kApi;
    mspti::MissingKinds missing;
    ASSERT_EQ(mspti::Start(kKinds, {}, 10'000, &missing), mspti::Begun::kRecords);
    ASSERT_EQ(missing.count, 0U);
    ASSERT_NE(Arm({kKinds}), 0U);
  }
  // Tensors describe records, and count as none.
  void Drain() {
    for (const ReadRecord& record : EventsOf(region_->DrainAll()))
      stored_ += record.head.kind == abi::kTensors ? 0 : 1;
  }
  void Work(int ms, bool drain) {
    TheToolkit().Set(true);
    for (int passed = 0; passed < ms; passed += 5) {
      SleepMs(5);
      if (drain) Drain();
    }
    TheToolkit().Set(false);
    SleepMs(100);
  }
  void Finish() {
    Pause();
    AwaitStop();
    EXPECT_TRUE(Disarm());
    Drain();
  }
  // As long as it takes: a sanitizer's build on a busy machine may need more than it waits for itself.
  static void AwaitStop() {
    const auto begin = std::chrono::steady_clock::now();
    while (!mspti::Stop()) {
      ASSERT_LT(std::chrono::steady_clock::now() - begin, std::chrono::minutes(1));
      SleepMs(1);
    }
  }
  void TearDown() override { DetachRegion(); }

  std::unique_ptr<Region> region_;
  uint64_t delivered_before_ = 0;
  uint64_t stored_ = 0;
};

TEST_F(MsptiSourceTest, DeliveredIsStoredOrLost) {
  for (int round = 0; round < 3; ++round) {
    stored_ = 0;
    Attach({.lanes = 4, .slots = 1U << 17, .names_bytes = 1U << 20});
    Work(200, true);
    Finish();
    EXPECT_GT(stored_, 1000U);
    EXPECT_EQ(stored_ + region_->Lost(), TheToolkit().Delivered() - delivered_before_);
    DetachRegion();
  }
}

TEST_F(MsptiSourceTest, NobodyReads) {
  Attach({.lanes = 4, .slots = 4096, .names_bytes = 1U << 20});
  Work(1000, false);
  Finish();
  EXPECT_GT(region_->Lost(), 0U);
  EXPECT_EQ(stored_ + region_->Lost(), TheToolkit().Delivered() - delivered_before_);
}

TEST_F(MsptiSourceTest, TheLanesGoAwayInTheMiddle) {
  Attach({.lanes = 4, .slots = 4096, .names_bytes = 1U << 20});
  Work(50, true);
  DetachRegion();  // false where the worker does not get its turn to finish a record: its memory stays for it
  region_.reset();
  AwaitStop();
}

TEST_F(MsptiSourceTest, NoLaneIsFree) {
  Attach({.lanes = 1, .slots = 4096, .names_bytes = 1U << 20});
  std::thread([&] {  // takes the only one before the worker needs it, and keeps it
    profd_mark(profd_intern("mine"));
    Arm({1U << abi::kMark | mspti::kRecordKinds});
    profd_mark(profd_intern("mine"));
    Work(100, true);
    Finish();
  })
      .join();
  EXPECT_EQ(stored_ - 1 + region_->Lost(), TheToolkit().Delivered() - delivered_before_);
  EXPECT_EQ(stored_, 1U);
}

}  // namespace
}  // namespace profd::agent::testing
