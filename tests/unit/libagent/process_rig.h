// The agent in real processes, against a profd made of grpc++.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/libagent/child.h"
#include "tests/unit/libagent/fake_daemon.h"

namespace profd::agent::testing {

extern const std::string kAgent, kPrograms;  // the library, the folder of programs

class ProcessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/profd-agent-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    socket_ = folder_ + "/profd.sock";
  }
  void TearDown() override {
    daemon_.reset();
    std::filesystem::remove_all(folder_);
  }

  void StartDaemon(Geometry geometry = {}) { daemon_ = std::make_unique<FakeDaemon>(socket_, geometry); }
  std::vector<std::string> Environment(std::vector<std::string> more = {}) {
    more.push_back("PROFD_ADDRESS=unix:" + socket_);
    return more;
  }
  std::unique_ptr<Child> Workload(std::vector<std::string> arguments = {"interactive"}) {
    std::vector<std::string> command = {kPrograms + "workload"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return std::make_unique<Child>(std::move(command), Environment());
  }
  // An interactive workload that has registered.
  struct Attached {
    std::unique_ptr<Child> child;
    std::shared_ptr<AgentPeer> peer;
  };
  Attached Attach() {
    Attached attached{Workload(), nullptr};
    attached.child->Hear();
    attached.peer = daemon_->Accept();
    return attached;
  }  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): `attached` owns the child

  std::string folder_;
  std::string socket_;
  std::unique_ptr<FakeDaemon> daemon_;
};

}  // namespace profd::agent::testing
