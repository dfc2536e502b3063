// A session::Manager with real sampler, writers and disk, whose sessions take their time from the test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/agent/registry.h"
#include "daemon/base/executor.h"
#include "daemon/fabric/door.h"
#include "daemon/session/manager.h"
#include "tests/unit/support/fake_timers.h"

namespace profd::session {

// **Thread:** that of the test. **Owns:** ctl's thread, and a spool that is gone with it.
class ManagerRig {
 public:
  explicit ManagerRig(const std::function<void(config::Config&)>& change = {}) {
    spool_ = ::mkdtemp(spool_.data());
    config_.store.spool = spool_;
    if (change) change(config_);
    thread_ = std::thread([this] { ctl_.Run(); });
    Do([this] {
      manager_.emplace(ctl_, time_, config_, nullptr, "no driver here", agents_, rights_, fabric_);
    });
  }
  ~ManagerRig() {
    Ask<bool>([this](auto done) { manager_->Shutdown([done] { done(true); }); });
    Do([this] { manager_.reset(); });
    ctl_.Stop();
    thread_.join();
    std::filesystem::remove_all(spool_);
  }
  ManagerRig(const ManagerRig&) = delete;
  ManagerRig& operator=(const ManagerRig&) = delete;

  // On ctl; waits for it.
  void Do(const std::function<void()>& work) {
    Ask<bool>([&work](auto done) {
      work();
      done(true);
    });
  }
  // Calls `question` on ctl and waits for its answer.
  template <typename Answer>
  Answer Ask(const std::function<void(std::function<void(Answer)>)>& question) {
    return Begin<Answer>(question).get();
  }
  // The same without waiting.
  template <typename Answer>
  std::future<Answer> Begin(const std::function<void(std::function<void(Answer)>)>& question) {
    const auto answer = std::make_shared<std::promise<Answer>>();
    ctl_.Post(
        [question, answer] { question([answer](Answer what) { answer->set_value(std::move(what)); }); });
    return answer->get_future();
  }
  // The clocks go forward, and with them what waits for them.
  void Advance(uint64_t ns) {
    Do([this, ns] { time_.Advance(ns); });
  }

  std::future<base::Result<SessionInfo>> BeginStart(SessionSpec spec) {
    return Begin<base::Result<SessionInfo>>(
        [this, spec = std::move(spec)](auto done) { manager_->Start(caller_, spec, done); });
  }
  base::Result<SessionInfo> Start(SessionSpec spec) { return BeginStart(std::move(spec)).get(); }
  // Also of one that ends by itself: answered once it is sealed.
  SessionInfo Stop(const std::string& id) {
    return Ask<base::Result<Stopped>>(
               [this, id](auto done) { manager_->Stop(caller_, {.session = id}, done); })
        .value()
        .sessions.front();
  }
  SessionInfo Get(const std::string& id) {
    return Ask<base::Result<SessionInfo>>([this, id](auto done) { done(manager_->Get(caller_, id)); })
        .value();
  }
  base::Result<SessionInfo> Pause(const std::string& id, bool paused) {
    return Ask<base::Result<SessionInfo>>(
        [this, id, paused](auto done) { manager_->Pause(caller_, id, paused, done); });
  }
  base::Result<SessionInfo> Remove(const std::string& id) {
    return Ask<base::Result<SessionInfo>>([this, id](auto done) { manager_->Remove(caller_, id, done); });
  }
  void Shutdown() {
    Ask<bool>([this](auto done) { manager_->Shutdown([done] { done(true); }); });
  }
  // Looks until it is so: of what nobody is told. False after 30 s, so that a broken test ends.
  bool Until(const std::string& id, const std::function<bool(const SessionInfo&)>& is_so) {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!is_so(Get(id))) {
      if (std::chrono::steady_clock::now() > patience) return false;
      std::this_thread::yield();
    }
    return true;
  }
  // PROF directories in the spool.
  std::vector<std::string> Directories() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(spool_))
      if (entry.path().filename().string().starts_with("PROF_")) found.push_back(entry.path());
    return found;
  }

  uint64_t WallNs() {
    return Ask<uint64_t>([this](auto done) { done(time_.WallNs()); });
  }

 private:
  std::string spool_ = ::testing::TempDir() + "profd-life-XXXXXX";
  config::Config config_;
  const auth::Caller caller_{.uid = ::getuid(),
                             .gid = ::getgid(),
                             .pid = ::getpid(),
                             .user = "tester",
                             .standing = auth::Standing::kAdmin};
  FakeTimers time_;
  base::Executor ctl_;
  agent::Registry agents_{ctl_, {}};
  auth::Rights rights_;
  fabric::Service fabric_{"off", ctl_};
  std::optional<Manager> manager_;
  std::thread thread_;
};

}  // namespace profd::session
