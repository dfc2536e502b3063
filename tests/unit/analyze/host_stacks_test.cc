#include "client/analyze/reading/host_stacks.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace profd::analyze {
namespace {

// Frames as "function@module", the innermost first; "k:function" of the kernel, "i:" of an installed package.
class HostStacksTest : public testing::Test {
 protected:
  client::ProfileFrame Frame(const std::string& function, const std::string& module, bool kernel,
                             bool installed = false) {
    const format::TextId name = texts_.Intern(function);
    return {.function = name,
            .module = texts_.Intern(module),
            .place = name,
            .line = 0,
            .kernel = kernel,
            .installed = installed};
  }
  std::vector<client::ProfileFrame> Frames(const std::vector<std::string>& list) {
    std::vector<client::ProfileFrame> frames;
    for (const std::string& one : list) {
      if (one.starts_with("k:")) {
        frames.push_back(Frame(one.substr(2), "[kernel]", true));
      } else {
        const bool installed = one.starts_with("i:");
        const std::string name = installed ? one.substr(2) : one;
        const size_t at = name.find('@');
        frames.push_back(Frame(name.substr(0, at), name.substr(at + 1), false, installed));
      }
    }
    return frames;
  }
  std::string Function(const std::vector<std::string>& list) {
    return std::string(texts_.Get(ProgramFunction(Frames(list), texts_).place));
  }
  HostPlace Place(const std::vector<std::string>& list) { return PlaceOf(Frames(list), texts_); }

  format::Texts texts_{1 << 20};
};

TEST_F(HostStacksTest, AThreadOfTheAgentIsNotTheProgram) {
  const auto is_agents = [this](const std::vector<std::string>& list) {
    return IsAgents(Frames(list), texts_);
  };
  EXPECT_TRUE(
      is_agents({"k:poll", "__poll@libc.so.6", "Attend@libprofd_agent.so", "start_thread@libc.so.6"}));
  EXPECT_FALSE(is_agents({"k:[waits for a CPU]", "profd_mark@libprofd_agent.so", "main@job"}));
  EXPECT_FALSE(is_agents({"k:[waits for a CPU]", "profd_mark@libprofd_agent.so", "step@train.py"}));
  EXPECT_FALSE(is_agents({"k:poll", "__poll@libc.so.6"}));
}

TEST_F(HostStacksTest, TheProgramsFunctionAndNotTheWait) {
  EXPECT_EQ(Function({"k:schedule", "k:futex_wait", "__futex_abstimed_wait@libc.so.6",
                      "PyThread_acquire@python3.11", "wait (threading.py:320)@threading.py",
                      "get (queue.py:180)@queue.py", "batch (train.py:12)@train.py",
                      "main (train.py:80)@train.py"}),
            "batch (train.py:12)");
  // Nothing here sleeps.
  EXPECT_EQ(Function({"k:schedule", "nanosleep@libc.so.6", "planted::Wait()@hot", "main@hot"}),
            "planted::Wait()");
  // Nothing but a library: that.
  EXPECT_EQ(Function({"k:schedule", "run (threading.py:975)@threading.py"}), "run (threading.py:975)");
  EXPECT_EQ(Function({"k:schedule", "read@libc.so.6"}), "read");
  // It calls CANN, which waits.
  EXPECT_EQ(Function({"k:schedule", "poll@libc.so.6", "Wait@libruntime.so",
                      "aclrtSynchronizeStream@libascendcl.so", "planted::Step()@hot", "main@hot"}),
            "planted::Step()");
  EXPECT_FALSE(
      ProgramFunction(Frames({"poll@libc.so.6", "aclrtSynchronizeStream@libascendcl.so"}), texts_).is_own);
  EXPECT_FALSE(ProgramFunction(Frames({"k:schedule", "read@libc.so.6"}), texts_).is_own);
  EXPECT_TRUE(ProgramFunction(Frames({"poll@libc.so.6", "planted::Wait()@hot"}), texts_).is_own);
  EXPECT_EQ(Function({"k:schedule", "k:kthread"}), "");
  EXPECT_EQ(Function({}), "");
}

// Who computes in a package was sent there by the program: both have a name.
TEST_F(HostStacksTest, TheProgramsFunctionAndThePackagesThatItIsIn) {
  const auto places = [this](const std::vector<std::string>& list) {
    const ProgramPlace of = ProgramFunction(Frames(list), texts_);
    return std::pair(std::string(texts_.Get(of.place)), std::string(texts_.Get(of.within)));
  };
  using Names = std::pair<std::string, std::string>;
  EXPECT_EQ(places({"i:iterencode (encoder.py:261)@encoder.py", "i:encode (encoder.py:200)@encoder.py",
                    "i:dumps (__init__.py:238)@__init__.py", "report (train.py:31)@train.py",
                    "main (train.py:80)@train.py"}),
            Names("report (train.py:31)", "iterencode (encoder.py:261)"));
  // What waits within a package says nothing: whom it waits for does.
  EXPECT_EQ(places({"k:futex_wait", "i:wait (threading.py:320)@threading.py",
                    "i:fetch (client.py:12)@client.py", "load (train.py:4)@train.py"}),
            Names("load (train.py:4)", "fetch (client.py:12)"));
  EXPECT_EQ(places({"k:futex_wait", "i:wait (threading.py:320)@threading.py", "load (train.py:4)@train.py"}),
            Names("load (train.py:4)", ""));
  // A program that is a package itself.
  EXPECT_EQ(places({"i:step (loop.py:9)@loop.py", "i:main (cli.py:3)@cli.py"}),
            Names("step (loop.py:9)", ""));
}

TEST_F(HostStacksTest, WhatAStackSaysOfItsReason) {
  EXPECT_EQ(Place({"k:[waits for a CPU]", "k:schedule", "k:futex_wait", "pthread_mutex_lock@libc.so.6"}),
            HostPlace::kOther);
  EXPECT_EQ(Place({"k:schedule", "k:futex_wait", "pthread_mutex_lock@libc.so.6"}), HostPlace::kLock);
  EXPECT_EQ(Place({"k:schedule", "k:do_nanosleep", "clock_nanosleep@libc.so.6"}), HostPlace::kSleep);
  EXPECT_EQ(
      Place({"k:io_schedule", "k:folio_wait_bit_common", "k:filemap_read", "k:vfs_read", "read@libc.so.6"}),
      HostPlace::kDisk);
  EXPECT_EQ(Place({"k:io_schedule", "k:filemap_fault", "k:handle_mm_fault", "k:exc_page_fault", "f@program"}),
            HostPlace::kFault);
  EXPECT_EQ(Place({"k:schedule_timeout", "k:wait_woken", "k:tcp_recvmsg", "recv@libc.so.6"}),
            HostPlace::kNetwork);
  EXPECT_EQ(Place({"k:schedule", "k:do_signal_stop", "k:get_signal", "futex_wait@libc.so.6", "work@program"}),
            HostPlace::kStopped);
  // A read of a socket is none of a disk, and a lock that is waited for in a collector is the collector's.
  EXPECT_EQ(
      Place({"k:schedule", "k:unix_stream_read_generic", "k:sock_read_iter", "k:vfs_read", "read@libc.so.6"}),
      HostPlace::kNetwork);
  EXPECT_EQ(Place({"dict_traverse@python3.11", "gc_collect_main@python3.11", "step (train.py:3)@train.py"}),
            HostPlace::kGarbage);
  EXPECT_EQ(Place({"k:futex_wait", "_try_get_data (dataloader.py:1120)@dataloader.py",
                   "main (train.py:80)@train.py"}),
            HostPlace::kLoader);
  EXPECT_EQ(Place({"k:schedule", "k:pipe_read", "k:vfs_read", "read@libc.so.6"}), HostPlace::kOther);
  EXPECT_EQ(Place({"work (train.py:9)@train.py"}), HostPlace::kOther);
  // time.sleep() of Python 3.8 to 3.10; and a wait for files, which is none.
  EXPECT_EQ(Place({"k:schedule_hrtimeout_range", "k:do_select", "k:core_sys_select", "select@libc.so.6",
                   "pause (train.py:9)@train.py"}),
            HostPlace::kSleep);
  EXPECT_EQ(Place({"k:do_select", "select@libc.so.6", "select (selectors.py:315)@selectors.py",
                   "main (train.py:9)@train.py"}),
            HostPlace::kOther);
  EXPECT_EQ(Place({"k:do_select", "select@libc.so.6", "poll@program"}), HostPlace::kOther);
}

}  // namespace
}  // namespace profd::analyze
