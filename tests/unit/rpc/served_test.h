// A server and a door on a socket of their own, with ctl running, over the fake manager.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "client/node/control_client.h"
#include "client/node/door_client.h"
#include "daemon/agent/registry.h"
#include "daemon/auth/door/door.h"
#include "daemon/fabric/door.h"
#include "daemon/rpc/server.h"
#include "tests/unit/rpc/fake_manager.h"

namespace profd::rpc {

class ServedTest : public testing::Test {
 protected:
  void SetUp() override {
    session::ResetFake();
    folder_ = testing::TempDir() + "rpcXXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    socket_ = folder_ + "/p.sock";
    config_.socket = socket_;
    base::Result<std::unique_ptr<Server>> server =
        Server::Start(config_, manager_, live_, agents_, ctl_, tickets_, audit_);
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = std::move(server).value();
    base::Result<std::unique_ptr<auth::Door>> door =
        auth::Door::Start(socket_ + ".door", ctl_, tickets_, DoorOptions());
    ASSERT_TRUE(door.ok()) << door.status().message();
    door_ = std::move(door).value();
    thread_ = std::thread([this] { ctl_.Run(); });
  }
  void TearDown() override {
    StopCtl();
    door_.reset();
    server_.reset();
    std::filesystem::remove_all(folder_);
  }
  void StopCtl() {
    ctl_.Stop();
    if (thread_.joinable()) thread_.join();
  }

  auth::Door::Options DoorOptions() {
    auth::Door::Options options;
    options.max_agents = options.max_agents_per_uid = 1024;
    options.take_seat = [this](const auth::Caller& caller) -> base::Result<auth::AgentSeat> {
      PROFD_ASSIGN_OR_RETURN(const agent::Registry::Seat seat,
                             agents_.TakeSeat({caller.pid, caller.uid, caller.gid, ""}));
      return auth::AgentSeat{seat.number, seat.region->memfd(), seat.region->wake_fd()};
    };
    options.leave_seat = [this](uint64_t seat) { agents_.LeaveSeat(seat); };
    options.look = [](uid_t, base::UniqueFd socket, const auth::Door::Options::Looked& looked) {
      looked(base::LookAtPassed(socket.get()));
    };
    return options;
  }
  template <typename Work>
  std::invoke_result_t<Work> OnCtl(Work work) {
    std::packaged_task<decltype(work())()> task(std::move(work));
    auto result = task.get_future();
    ctl_.Post([&task] { task(); });
    return result.get();
  }

  client::DoorClient Knock(int output_dir = -1) {
    base::Result<client::DoorClient> door = client::DoorClient::Knock(socket_, output_dir);
    EXPECT_TRUE(door.ok()) << door.status().message();
    return std::move(door).value();
  }

  std::string folder_;
  std::string socket_;
  base::Executor ctl_;
  auth::Tickets tickets_;
  config::Config config_;
  agent::Registry agents_{ctl_, {.geometry = {2, 256, 65536}, .max_peers = 4, .max_peers_per_uid = 3}};
  auth::Rights rights_;
  auth::Audit audit_;
  fabric::Service fabric_{"off", ctl_};
  session::Manager manager_{ctl_, ctl_, config_, nullptr, "", agents_, rights_, fabric_};
  live::Live live_{ctl_, config_, manager_, agents_};
  std::unique_ptr<Server> server_;
  std::unique_ptr<auth::Door> door_;
  std::thread thread_;
};

}  // namespace profd::rpc
