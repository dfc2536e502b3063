// One subscriber, what it may switch on, and how it and the process end.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "sim/mspti/config.h"
#include "sim/scenario/clock.h"
#include "tests/unit/sim_mspti/mspti_library.h"

namespace profd::sim::mspti {
namespace {

constexpr char kFast[] = "scenario: {step_ms: 20}\nmspti: {auto: true, disable_ms: 0, truth: $DIR/truth}\n";

// The child's wait status; a child that hangs is killed by its alarm.
int InChild(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    work();
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

std::vector<std::string> Threads() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(entry.path() / "comm"), name);
    names.push_back(name);
  }
  return names;
}

TEST(MsptiSubscriberTest, S1OneSubscriber) {
  MsptiLibrary library(kFast);
  EXPECT_EQ(library.Call<int(Subscriber*, CallbackFn, void*)>("msptiSubscribe")(nullptr, nullptr, nullptr),
            kInvalid);
  EXPECT_EQ(library.Unsubscribe(), kSuccess);
  EXPECT_EQ(library.Subscribe(), kSuccess);
  Subscriber second = nullptr;
  const auto subscribe = library.Call<int(Subscriber*, CallbackFn, void*)>("msptiSubscribe");
  EXPECT_EQ(subscribe(&second, nullptr, nullptr), kMultipleSubscribers);
  EXPECT_EQ(library.Call<int(Subscriber)>("msptiUnsubscribe")(&second), kInvalid);
  EXPECT_EQ(subscribe(&second, nullptr, nullptr), kMultipleSubscribers);
  EXPECT_EQ(library.Unsubscribe(), kSuccess);
  EXPECT_EQ(library.Unsubscribe(), kSuccess);
  EXPECT_EQ(library.Subscribe(), kSuccess);
}

TEST(MsptiSubscriberTest, S1SomebodyElseHoldsIt) {
  MsptiLibrary library("mspti: {busy: true}");
  EXPECT_EQ(library.Subscribe(), kMultipleSubscribers);
}

struct EnableCase {
  bool old, preloaded;
  int of_memory, of_runtime_api;
};
class MsptiEnableTest : public ::testing::TestWithParam<EnableCase> {};
TEST_P(MsptiEnableTest, S2CodesByKind) {
  const EnableCase& wanted = GetParam();
  MsptiLibrary library(kFast, {.old = wanted.old, .preloaded = wanted.preloaded});
  EXPECT_EQ(library.Subscribe(), kSuccess);
  EXPECT_EQ(library.Enable(0), kInvalid);
  EXPECT_EQ(library.Enable(kUnknownKind), kInvalid);
  for (const uint32_t kind : {kMarker, kKernel, kApi, kExternalCorrelation, kCommunication}) {
    EXPECT_EQ(library.Enable(kind), kSuccess) << kind;
    EXPECT_EQ(library.Disable(kind), kSuccess) << kind;
  }
  for (const uint32_t kind : {kHccl, kMemory, kMemset, kMemcpy})
    EXPECT_EQ(library.Enable(kind), wanted.of_memory);
  for (const uint32_t kind : {kAclApi, kNodeApi, kRuntimeApi})
    EXPECT_EQ(library.Enable(kind), wanted.of_runtime_api);
  EXPECT_EQ(library.Symbol("msptiActivityIsEnabled") == nullptr, wanted.old);
  if (wanted.old) return;
  EXPECT_TRUE(library.Call<bool(uint32_t)>("msptiActivityIsEnabled")(kAclApi));
}
INSTANTIATE_TEST_SUITE_P(Libraries, MsptiEnableTest,
                         ::testing::Values(EnableCase{false, false, kWithoutPreload, kSuccess},
                                           EnableCase{false, true, kSuccess, kSuccess},
                                           EnableCase{true, false, kSuccess, kInvalid},
                                           EnableCase{true, true, kSuccess, kInvalid}));

TEST(MsptiSubscriberTest, S2AnOldLibraryKnowsNoDevicesUnlessPreloaded) {
  for (const bool preloaded : {false, true}) {
    MsptiLibrary library(kFast, {.old = true, .preloaded = preloaded});
    library.Begin({kKernel});
    SleepMs(100);
    if (preloaded) Until([] { return MsptiLibrary::requests > 0; });  // for the first record
    library.End({kKernel});
    EXPECT_EQ(CountByKind(library.Buffers()).contains(kKernel), preloaded);
  }
}

TEST(MsptiSubscriberTest, S3EnabledTooEarlyGetsHostRecordsOnly) {
  MsptiLibrary library(kFast);
  EXPECT_EQ(library.Enable(kKernel), kSuccess);
  EXPECT_EQ(library.Enable(kNodeApi), kSuccess);
  library.Begin({});
  Until([&] {
    library.FlushAll();
    return CountByKind(library.Buffers())[kNodeApi] > 200;
  });
  EXPECT_EQ(CountByKind(library.Buffers())[kKernel], 0U);
  // A device that is set afterwards gets its reader.
  library.Profapi<int(uint32_t, uint32_t, bool)>("MsprofNotifySetDevice")(5, 0, true);
  Until([&] {
    library.FlushAll();
    return CountByKind(library.Buffers())[kKernel] > 0;
  });
  library.End({kKernel, kNodeApi});
}

TEST(MsptiSubscriberTest, DevicesThatTheProcessSetsLater) {
  MsptiLibrary library("scenario: {step_ms: 20}\nmspti: {disable_ms: 0}\n");
  library.Begin({kKernel});
  SleepMs(50);
  library.FlushAll();
  EXPECT_TRUE(CountByKind(library.Buffers()).empty());
  library.Profapi<int(uint32_t, uint32_t, bool)>("MsprofNotifySetDevice")(5, 1, true);
  Until([&] {
    library.FlushAll();
    return !CountByKind(library.Buffers()).empty();
  });
  library.End({kKernel});
  const auto kernels = RecordsOf<KernelRecord>(library.Buffers(), kKernel);
  ASSERT_FALSE(kernels.empty());
  for (const KernelRecord& kernel : kernels) EXPECT_EQ(kernel.device, 1U);
}

// A collective that began before the subscription ends after it, between kernels that were launched since.
TEST(MsptiSubscriberTest, BegunInTheMiddleOfTasksItGoesOn) {
  MsptiLibrary library("scenario: {step_ms: 4000}\nmspti: {auto: true, disable_ms: 0}\n");
  const Configs configs = LoadConfigs(std::getenv("PROFD_SIM_CONFIG"));
  const TrainingLoad load(configs.node.scenario, configs.node.seed, 0, *configs.node.devices[0].chip);
  Until([&] {
    const uint32_t permille = load.Permille(RawNs());
    return permille >= 746 && permille < 760;
  });
  library.Begin({kKernel});
  Until([&] {
    SleepMs(100);
    library.FlushAll();
    return CountByKind(library.Buffers())[kKernel] > 20;
  });
  library.End({kKernel});
}

// Of a chip that the library has no channels for it tells what the host does.
TEST(MsptiSubscriberTest, NothingOfDevicesOfOtherChips) {
  for (const std::string chip : {"310", "910", "310P"}) {
    MsptiLibrary library("chip: " + chip + "\nscenario: {step_ms: 20}\nmspti: {auto: true}\n");
    library.Begin({kKernel, kCommunication, kMarker, kNodeApi});
    Until([&] {
      SleepMs(20);
      library.FlushAll();
      return CountByKind(library.Buffers())[kNodeApi] > 200;
    });
    library.End({kKernel, kCommunication, kMarker, kNodeApi});
    auto counts = CountByKind(library.Buffers());
    EXPECT_EQ(counts[kKernel], 0U) << chip;
    EXPECT_EQ(counts[kCommunication], 0U) << chip;
    const auto markers = RecordsOf<MarkerRecord>(library.Buffers(), kMarker);
    EXPECT_FALSE(markers.empty()) << chip;
    for (const MarkerRecord& marker : markers) EXPECT_EQ(marker.source_kind, 0U) << chip;
  }
}

TEST(MsptiSubscriberTest, SilentAfterSoManyKernels) {
  MsptiLibrary library("scenario: {step_ms: 20}\nmspti: {auto: true, disable_ms: 0, silent_after: 7}\n");
  library.Begin({kKernel, kNodeApi});
  Until([&] {
    SleepMs(20);
    library.FlushAll();
    auto counts = CountByKind(library.Buffers());
    return counts[kNodeApi] > 200 && counts[kKernel] >= 7;
  });
  library.End({kKernel, kNodeApi});
  EXPECT_EQ(CountByKind(library.Buffers())[kKernel], 7U);
}

TEST(MsptiSubscriberTest, S19ThousandCyclesLeaveNothing) {
  MsptiLibrary library(kFast);
  library.Begin({kKernel});
  library.End({kKernel});
  const size_t before = Threads().size();
  for (int cycle = 0; cycle < 1000; ++cycle) {
    ASSERT_EQ(library.Subscribe(), kSuccess);
    ASSERT_EQ(library.Enable(kKernel), kSuccess);
    ASSERT_EQ(library.Disable(kKernel), kSuccess);
    ASSERT_EQ(library.Unsubscribe(), kSuccess);
  }
  EXPECT_EQ(Threads().size(), before);
}

TEST(MsptiSubscriberTest, S19DisableKeepsTheDeviceThreadsUntilUnsubscribe) {
  MsptiLibrary library(kFast);
  library.Begin({kKernel});
  EXPECT_EQ(library.Disable(kKernel), kSuccess);
  const auto channel_threads = [] {
    int count = 0;
    for (const std::string& name : Threads()) count += name == "sim-channel" ? 1 : 0;
    return count;
  };
  Until([&] { return channel_threads() == 1; });
  library.Unsubscribe();
  EXPECT_EQ(channel_threads(), 0);
}

TEST(MsptiSubscriberTest, DISABLED_LoadWithoutProfapi) { MsptiLibrary library("", {.with_profapi = false}); }

TEST(MsptiSubscriberTest, S20EndsTheProcessWithoutProfapi) {
  const int status = RunAlone("LoadWithoutProfapi");
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
}

TEST(MsptiSubscriberTest, S21CallbacksBringGarbageButSiteAndName) {
  static std::atomic<int> enters, exits, odd;
  enters = exits = odd = 0;
  MsptiLibrary library(kFast, {.preloaded = true});
  const auto callback = [](void* user, uint32_t domain, uint32_t id, const CallbackData* data) {
    if (user != &enters || (domain != kRuntimeDomain && domain != kHcclDomain)) ++odd;
    if (std::string(data->function) != (domain == kHcclDomain ? "HcclAllReduce" : "aclrtLaunchKernel")) ++odd;
    if (id != (domain == kHcclDomain ? kAllReduce : kLaunchKernel)) ++odd;
    if (data->correlation != 0xA5A5A5A5A5A5A5A5) ++odd;
    ++(data->site == 0 ? enters : exits);
  };
  const auto enable_domain = library.Call<int(uint32_t, Subscriber, uint32_t)>("msptiEnableDomain");
  EXPECT_EQ(enable_domain(1, nullptr, kRuntimeDomain), kSuccess);  // not subscribed: silently nothing
  EXPECT_EQ(library.Subscribe(callback, &enters), kSuccess);
  EXPECT_EQ(enable_domain(1, nullptr, kRuntimeDomain), kInvalid);
  EXPECT_EQ(enable_domain(1, library.subscriber(), 3), kInvalid);
  EXPECT_EQ(enable_domain(1, library.subscriber(), kRuntimeDomain), kSuccess);
  EXPECT_EQ(enable_domain(1, library.subscriber(), kHcclDomain), kSuccess);
  Until([] { return exits > 50; });
  library.Unsubscribe();
  EXPECT_EQ(enters, exits);
  EXPECT_EQ(odd, 0);
}

TEST(MsptiSubscriberTest, S21CallbacksNeedPreload) {
  MsptiLibrary library(kFast);
  EXPECT_EQ(library.Subscribe(), kSuccess);
  EXPECT_EQ(
      library.Call<int(uint32_t, Subscriber, uint32_t)>("msptiEnableDomain")(1, library.subscriber(), 1),
      kWithoutPreload);
}

TEST(MsptiSubscriberTest, S22SlowDisableAndUnsubscribe) {
  MsptiLibrary library("devices: 4\nmspti: {auto: true, disable_ms: 20, unsubscribe_ms: 60}");
  library.Begin({kKernel, kNodeApi});
  const auto took_ms = [](const std::function<void()>& call) {
    const auto begin = std::chrono::steady_clock::now();
    call();
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin)
        .count();
  };
  EXPECT_GE(took_ms([&] { library.Disable(kKernel); }), 80);
  EXPECT_GE(took_ms([&] { library.Unsubscribe(); }), 60);
}

TEST(MsptiSubscriberTest, S23ForkWhileSubscribed) {
  MsptiLibrary library(kFast);
  library.Begin({kKernel, kNodeApi});
  Until([&] {
    library.FlushAll();
    return CountByKind(library.Buffers())[kKernel] > 0;
  });
  // Its threads do not live on in the child, and its locks, the allocator's among them, may be held for ever:
  // nobody may call it there, or have memory. The folder of threads has a link for each, and two of its own.
  EXPECT_EQ(InChild([] {
              struct stat tasks {};
              ::_exit(::stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 3 ? 0 : 1);
            }),
            0);
  library.End({kKernel, kNodeApi});
}

TEST(MsptiSubscriberTest, DISABLED_ExitSubscribed) {
  static auto* library = new MsptiLibrary(kFast);
  library->Begin({kKernel});
  Until([] { return MsptiLibrary::requests > 0; });  // for the first record
  constexpr int kCompleted = 4;
  MsptiLibrary::on_complete = [](uint8_t*, size_t) { ::_exit(kCompleted); };
  std::exit(0);
}

TEST(MsptiSubscriberTest, S23ExitWithoutUnsubscribeCompletesLate) {
  const int status = RunAlone("ExitSubscribed");
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 4) << status;
}

TEST(MsptiSubscriberTest, ReportsGoToMsptiAloneWhileItIsSubscribed) {
  MsptiLibrary library(kFast);
  static std::atomic<int> switches;
  switches = 0;
  library.Profapi<int(uint32_t, int (*)(uint32_t, void*, uint32_t))>("MsprofRegisterCallback")(
      7, [](uint32_t type, void* command, uint32_t bytes) {
        EXPECT_EQ(type, 1U);
        EXPECT_EQ(bytes, kCommandBytes);
        EXPECT_EQ(static_cast<Command*>(command)->device_count, 2U);
        ++switches;
        return 0;
      });
  library.Begin({kKernel});
  EXPECT_EQ(switches, 1);
  library.End({kKernel});
  EXPECT_EQ(switches, 2);
  const auto set_command = library.Profapi<int(void*, uint32_t)>("profSetProfCommand");
  EXPECT_NE(set_command(&switches, 4), 0);
}

}  // namespace
}  // namespace profd::sim::mspti
