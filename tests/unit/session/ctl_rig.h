// ctl with its own thread for what lives on it, and a spool; the time is the test's.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <thread>

#include "daemon/base/aside.h"
#include "daemon/base/executor.h"
#include "tests/unit/support/fake_timers.h"

namespace profd::session {

// **Thread:** that of the test. **Owns:** ctl's thread, and a folder that is gone with it.
class CtlRig {
 public:
  CtlRig() {
    spool = ::mkdtemp(spool.data());
    thread_ = std::thread([this] { ctl.Run(); });
  }
  // What lives on ctl has gone by now.
  ~CtlRig() {
    ctl.Stop();
    thread_.join();
    std::filesystem::remove_all(spool);
  }
  CtlRig(const CtlRig&) = delete;
  CtlRig& operator=(const CtlRig&) = delete;

  // On ctl; waits for it.
  void Do(const std::function<void()>& work) {
    std::promise<void> done;
    ctl.Post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  // Looks on ctl until it is so: of what nobody is told. False after 30 s, so that a broken test ends.
  bool Until(const std::function<bool()>& is_so) {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    for (bool now = false;; std::this_thread::yield()) {
      Do([&] { now = is_so(); });
      if (now || std::chrono::steady_clock::now() > patience) return now;
    }
  }
  void Advance(uint64_t ns) {
    Do([this, ns] { time.Advance(ns); });
  }

  std::string spool = ::testing::TempDir() + "profd-ctl-XXXXXX";
  FakeTimers time;
  base::Executor ctl;
  base::Aside aside{ctl};

 private:
  std::thread thread_;
};

}  // namespace profd::session
