// How buffers come and go.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <set>
#include <thread>

#include "tests/unit/sim_mspti/mspti_library.h"

namespace profd::sim::mspti {
namespace {

// One device, 40 000 kernels a second beside the job's own.
constexpr char kMany[] =
    "devices: 1\nmspti: {auto: true, disable_ms: 0, truth: $DIR/truth, rates: {kernel: 40000}}\n";

uint64_t Delivered_(const nlohmann::json& truth, const char* kind) {
  return truth.contains(kind) ? truth[kind]["delivered"].get<uint64_t>() : 0;
}

TEST(MsptiBuffersTest, S4AskedOnTheRecordingThread) {
  static std::atomic<int64_t> asked_by;
  MsptiLibrary library(kMany);
  library.Subscribe();
  library.Call<int(RequestFn, CompleteFn)>("msptiActivityRegisterCallbacks")(
      [](uint8_t** buffer, size_t* size, size_t* most) {
        asked_by = ::syscall(SYS_gettid);
        MsptiLibrary::Request(buffer, size, most);
      },
      MsptiLibrary::Complete);
  EXPECT_EQ(library.Enable(kKernel), kSuccess);
  Until([] { return asked_by != 0; });
  EXPECT_NE(asked_by, ::syscall(SYS_gettid));
  library.End({kKernel});
}

TEST(MsptiBuffersTest, S4ARefusalCostsAThreadPerRecord) {
  MsptiLibrary library(
      "devices: 1\nmspti: {auto: true, disable_ms: 0, truth: $DIR/truth, rates: {kernel: 500}}\n");
  MsptiLibrary::buffer_bytes = 0;
  library.Begin({kKernel});
  Until([] { return MsptiLibrary::refused_completes > 50; });
  library.End({kKernel});
  const nlohmann::json truth = library.Truth();
  EXPECT_EQ(Delivered_(truth, "kernel"), 0U);
  // The first one's empty buffer came back with the second, the last one's with FlushAll.
  EXPECT_EQ(truth["kernel"]["dropped"], MsptiLibrary::refused_completes.load());
}

TEST(MsptiBuffersTest, S5HandedOverAtEightyPercentByAFreshThreadEach) {
  MsptiLibrary library(
      "devices: 1\nmspti: {auto: true, disable_ms: 0, truth: $DIR/truth, complete_jitter_us: 20000, "
      "rates: {kernel: 40000}}\n");
  MsptiLibrary::buffer_bytes = 56 * 100;
  library.Begin({kKernel});
  Until([] { return MsptiLibrary::Buffers().size() > 30; });
  std::set<int64_t> threads;
  uint64_t last = 0;
  bool out_of_order = false;
  for (const Delivered& buffer : MsptiLibrary::Buffers()) {
    EXPECT_EQ(buffer.bytes.size(), 56U * 80);
    threads.insert(buffer.thread);
    KernelRecord first;
    std::memcpy(&first, buffer.bytes.data(), sizeof first);
    out_of_order = out_of_order || first.start < last;
    last = first.start;
  }
  EXPECT_GT(threads.size(), 30U);
  EXPECT_TRUE(out_of_order);
  library.End({kKernel});
  EXPECT_EQ(Delivered_(library.Truth(), "kernel"), CountByKind(MsptiLibrary::Buffers())[kKernel]);
}

TEST(MsptiBuffersTest, S6FlushAllDeliversThePartialBufferOnTheCaller) {
  MsptiLibrary library(kMany);
  library.Begin({kKernel});
  Until([] { return MsptiLibrary::requests > 0; });
  library.FlushAll();
  const auto buffers = MsptiLibrary::Buffers();
  ASSERT_EQ(buffers.size(), 1U);
  EXPECT_EQ(buffers[0].thread, ::syscall(SYS_gettid));
  library.End({kKernel});
}

TEST(MsptiBuffersTest, DISABLED_RecordWhileCompleting) {
  ::alarm(5);
  MsptiLibrary library(kMany);
  static Function slots[7];
  static Function* tables[] = {nullptr, &slots[1], &slots[2], &slots[3], &slots[4], &slots[5], &slots[6]};
  library.Profapi<int(GetMstxTable)>("InitInjectionMstx")([](int, Function*** table, unsigned* size) {
    static Function unused[7];
    static Function* others[] = {nullptr,    &unused[1], &unused[2], &unused[3],
                                 &unused[4], &unused[5], &unused[6]};
    static int calls = 0;
    *table = calls++ == 0 ? tables : others;
    *size = 7;
    return 0;
  });
  library.Begin({kMarker});
  const auto mark = reinterpret_cast<void (*)(const char*, void*)>(slots[1]);
  mark("one", nullptr);
  MsptiLibrary::on_complete = [&](uint8_t*, size_t) { mark("another", nullptr); };
  library.FlushAll();
}

TEST(MsptiBuffersTest, S6ACompleteCallbackThatRecordsWaitsForEver) {
  const int status = RunAlone("RecordWhileCompleting");
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) << status;
}

TEST(MsptiBuffersTest, S7APeriodNeverBringsAPartialBuffer) {
  MsptiLibrary library(kMany);
  library.Call<int(uint32_t)>("msptiActivityFlushPeriod")(10);
  library.Begin({kKernel});
  Until([] { return MsptiLibrary::requests > 0; });
  SleepMs(100);
  EXPECT_TRUE(MsptiLibrary::Buffers().empty());
  library.End({kKernel});
  EXPECT_FALSE(MsptiLibrary::Buffers().empty());
}

TEST(MsptiBuffersTest, S8TheCursorIsTheThreads) {
  MsptiLibrary library(kMany);
  const auto next = library.Call<int(uint8_t*, size_t, void**)>("msptiActivityGetNextRecord");
  uint8_t buffer[56 * 2] = {};
  buffer[0] = buffer[56] = kKernel;
  void* record = nullptr;
  EXPECT_EQ(next(nullptr, sizeof buffer, &record), kInvalid);
  EXPECT_EQ(next(buffer, sizeof buffer, &record), kSuccess);
  EXPECT_EQ(record, buffer);
  std::thread([&] {  // starts at the beginning
    void* other = nullptr;
    EXPECT_EQ(next(buffer, sizeof buffer, &other), kSuccess);
    EXPECT_EQ(other, buffer);
  })
      .join();
  EXPECT_EQ(next(buffer, sizeof buffer, &record), kSuccess);
  EXPECT_EQ(record, buffer + 56);
  EXPECT_EQ(next(buffer, sizeof buffer, &record), kMaxLimit);
  EXPECT_EQ(next(buffer, sizeof buffer, &record), kSuccess);
  buffer[56] = kUnknownKind;
  EXPECT_EQ(next(buffer, sizeof buffer, &record), kInner);
  EXPECT_EQ(next(buffer, sizeof buffer, &record), kInner);  // stuck for this thread
}

TEST(MsptiBuffersTest, S17WhatGotLostInsideOnlyTheTruthKnows) {
  MsptiLibrary library(
      "devices: 1\nmspti: {auto: true, disable_ms: 0, truth: $DIR/truth, drop_every: 10, "
      "rates: {kernel: 40000}}\n");
  library.Begin({kKernel});
  Until([] { return MsptiLibrary::requests > 0; });  // for the first record
  SleepMs(100);
  library.End({kKernel});
  const nlohmann::json truth = library.Truth();
  const uint64_t delivered = Delivered_(truth, "kernel");
  EXPECT_EQ(delivered, CountByKind(MsptiLibrary::Buffers())[kKernel]);
  const uint64_t dropped = truth["kernel"]["dropped"];
  EXPECT_EQ(dropped, (delivered + dropped) / 10);
}

TEST(MsptiBuffersTest, S18RatesAndAnExhaustedClient) {
  MsptiLibrary library(
      "devices: 8\nmspti: {auto: true, disable_ms: 0, truth: $DIR/truth, "
      "rates: {kernel: 200000, marker: 125000}}\n");
  library.Begin({kKernel, kMarker});
  SleepMs(300);
  Until([] { return MsptiLibrary::requests > 1; });  // the first one is full
  MsptiLibrary::buffer_bytes = 0;                    // the client's pool is empty
  Until([] { return MsptiLibrary::refused_completes > 0; });
  MsptiLibrary::buffer_bytes = 4U << 20;
  library.End({kKernel, kMarker});
  const nlohmann::json truth = library.Truth();
  auto counts = CountByKind(MsptiLibrary::Buffers());
  EXPECT_EQ(Delivered_(truth, "kernel"), counts[kKernel]);
  EXPECT_EQ(Delivered_(truth, "marker"), counts[kMarker]);
  EXPECT_GT(counts[kKernel], 10'000U);
}

}  // namespace
}  // namespace profd::sim::mspti
