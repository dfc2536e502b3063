// Threads, signal handlers and forks, whatever the emitter is doing.
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <set>
#include <thread>

#include "libagent/src/tables/names.h"
#include "profd/agent.hpp"
#include "tests/unit/libagent/emitter_rig.h"

namespace profd::agent::testing {
namespace {

TEST_F(EmitterTest, ThreadsComeAndGo) {
  Attach({.lanes = 4, .slots = 1 << 17});
  Arm({});
  constexpr int kThreads = kTsan ? 500 : 20'000;
  for (int i = 0; i < kThreads; ++i) {
    std::thread([i] { profd_counter(1, i); }).join();
  }
  Disarm();
  std::set<uint64_t> seen;
  for (const ReadRecord& record : Events()) {
    EXPECT_NE(record.tid, static_cast<uint64_t>(::gettid()));
    seen.insert(record.head.value);
  }
  EXPECT_EQ(seen.size() + region_->Lost(), static_cast<size_t>(kThreads));
  EXPECT_EQ(region_->Lost(), 0U);
  uint32_t owners = 0;
  for (uint32_t i = 0; i < region_->lanes(); ++i) {
    owners += region_->lane(i)->owners;
    EXPECT_EQ(region_->lane(i)->owner_tid, 0U);
  }
  EXPECT_EQ(owners, static_cast<uint32_t>(kThreads));
}

TEST_F(EmitterTest, ThreadsWithoutALaneAreCountedAndServedLater) {
  Attach({.lanes = 2, .slots = 256});
  Arm({});
  std::atomic<int> arrived{0};
  std::atomic<bool> leave{false};
  std::vector<std::thread> threads;
  threads.reserve(5);
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 10; ++n) profd_mark(1);
      ++arrived;
      while (!leave) std::this_thread::yield();
    });
  }
  while (arrived < 5) std::this_thread::yield();
  leave = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Events().size(), 20U);
  EXPECT_EQ(region_->header()->lost_without_lane, 30U);
  // The lanes are free again.
  profd_mark(1);
  EXPECT_EQ(Events().size(), 1U);
}

pthread_key_t g_late_key;

TEST_F(EmitterTest, RecordsAfterTheThreadsDestructorsAreCounted) {
  Attach();
  Arm({});
  ASSERT_EQ(pthread_key_create(&g_late_key, [](void*) { profd_mark(1); }), 0);
  std::thread([] {
    pthread_setspecific(g_late_key, &g_late_key);
    profd_mark(1);
  }).join();
  pthread_key_delete(g_late_key);
  EXPECT_EQ(Events().size() + region_->Lost(), 2U);
}

std::atomic<uint64_t> g_from_handler;

TEST_F(EmitterTest, SignalHandlersMayRecord) {
  Attach({.lanes = 1, .slots = 1 << 16});
  Arm({});
  struct sigaction action {};
  action.sa_handler = [](int) {
    profd_counter(2, static_cast<int64_t>(g_from_handler.fetch_add(1)));
    profd_intern("from a handler");
  };
  struct sigaction before {};
  sigaction(SIGUSR1, &action, &before);
  std::atomic<bool> done{false};
  const pthread_t self = pthread_self();
  std::thread sender([&] {
    while (!done) {
      pthread_kill(self, SIGUSR1);
      std::this_thread::yield();
    }
  });
  uint64_t emitted = 0;
  uint64_t stored = 0;
  while (g_from_handler < 300) {
    for (int i = 0; i < 100; ++i, ++emitted) profd_mark(1);
    stored += Events().size();
  }
  done = true;
  sender.join();
  sigaction(SIGUSR1, &before, nullptr);
  Disarm();
  stored += Events().size();
  EXPECT_EQ(stored + region_->Lost(), emitted + g_from_handler);
}

TEST_F(EmitterTest, NoThreadWritesAfterAStop) {
  Attach({.lanes = 4, .slots = 1 << 12});
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!done) {
        profd_mark(1);
        if (!PROFD_ON()) std::this_thread::yield();
      }
    });
  }
  for (int round = 0; round < (kTsan ? 50 : 300); ++round) {
    Arm({.overwrite = true});
    if (round % 4 == 0) std::this_thread::yield();
    ASSERT_TRUE(DisarmInTime());
    const uint64_t slots = CountTotals().slots;
    for (int i = 0; i < 10; ++i) std::this_thread::yield();
    ASSERT_EQ(CountTotals().slots, slots);
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(EmitterTest, RegionsComeAndGoUnderRunningThreads) {
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!done) {
        profd_range_push(1);
        profd_range_pop();
        if (!PROFD_ON()) std::this_thread::yield();
      }
    });
  }
  uint64_t seen = 0;
  int unmapped = 0;
  for (int round = 0; round < 100; ++round) {
    Attach({.lanes = 1U + static_cast<uint32_t>(round % 4), .slots = 256});
    Arm({});
    while (CountTotals().slots == 0) std::this_thread::yield();
    // Where a thread does not get its turn to finish a record, its memory stays for it.
    unmapped += DetachRegion() ? 1 : 0;
    seen += Events().size();
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(seen, 0U);
  EXPECT_GT(unmapped, 50);
}

TEST_F(EmitterTest, AForkedChildNeverWritesToItsParentsLanes) {
  if (kTsan) GTEST_SKIP() << "a forked child has no threads that TSan could follow";
  Attach();
  Arm({});
  profd_mark(profd_intern("parent"));
  const int wake = Own(kLaneWakeFd).get();
  const pid_t child = ::fork();
  if (child == 0) {
    // Not kNotStarted's work: no thread here.
    const bool clean = Generation() == kNotStarted && IsForkedChild() && ::fcntl(wake, F_GETFD) < 0;
    __atomic_store_n(&profd_agent_active, kIdle, __ATOMIC_RELAXED);
    for (int i = 0; i < 1000; ++i) profd_mark(1);
    // Names outlive the fork, new ones stay its own.
    const bool named = profd_intern("parent") == Intern("parent") && profd_intern("child only") != 0;
    // It may have a region of its own.
    Region own;
    own.Seal();
    const bool attached = AttachRegion(own.fd(), ::dup(own.wake())) == AttachError::kOk && Arm({}) != 0;
    profd_mark(profd_intern("child"));
    const auto events = EventsOf(own.DrainAll());
    const bool recorded =
        events.size() == 1 && events[0].name == "child" && events[0].tid == static_cast<uint64_t>(::gettid());
    ::_exit(clean && named && attached && recorded ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  profd_mark(profd_intern("parent again"));
  const auto events = Events();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].name, "parent again");
  for (const auto& [number, text] : region_->Names(abi::kNameText)) EXPECT_NE(text, "child only");
}

TEST_F(EmitterTest, ARawCloneLeavesTheLanesAlone) {
  if (kTsan) GTEST_SKIP() << "as above";
  Attach();
  Arm({});
  profd_mark(1);
  // Runs no fork handlers; only the wiped page tells.
  const long child = ::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) {
    profd_mark(1);
    __atomic_store_n(&profd_agent_active, kIdle, __ATOMIC_RELAXED);
    profd_mark(1);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(static_cast<pid_t>(child), &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Events().size(), 1U);
}

TEST_F(EmitterTest, ForksFromBusyThreads) {
  if (kTsan) GTEST_SKIP() << "as above";
  Attach({.lanes = 8, .slots = 1 << 12});
  Arm({.overwrite = true});
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        for (int n = 0; n < 50; ++n)
          profd_mark(profd_intern(("t" + std::to_string(t * 10'000 + i * 50 + n)).c_str()));
        const pid_t child = ::fork();
        if (child == 0) {
          __atomic_store_n(&profd_agent_active, kIdle, __ATOMIC_RELAXED);
          profd_mark(profd_intern("in a child, with whatever lock was held"));
          ::_exit(0);
        }
        int status = 1;
        ::waitpid(child, &status, 0);
        if (status != 0) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace profd::agent::testing
