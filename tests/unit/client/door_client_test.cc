// profctl before doors that are missing, foreign, or say strange things.
#include "client/node/door_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "libagent/abi/door.h"

namespace profd::client {
namespace {

using base::Code;
using base::UniqueFd;
using testing::HasSubstr;

class DoorClientTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "doorXXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    socket_ = folder_ + "/p.sock";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  UniqueFd Listen(int type) const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (socket_ + ".door").copy(address.sun_path, sizeof(address.sun_path) - 1);
    UniqueFd fd(::socket(AF_UNIX, type, 0));
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(fd.get(), 1), 0);
    return fd;
  }

  // What a knock comes to when a door answers with these bytes (none = it closes at once).
  base::Status KnockAt(const void* answer, size_t size) {
    const UniqueFd listener = Listen(SOCK_SEQPACKET);
    std::thread door([&] {
      const UniqueFd peer(::accept(listener.get(), nullptr, nullptr));
      if (size == 0) return;
      EXPECT_EQ(::send(peer.get(), answer, size, MSG_NOSIGNAL), static_cast<ssize_t>(size));
      char hello[64];
      while (::recv(peer.get(), hello, sizeof(hello), 0) > 0) {
      }
    });
    base::Status status;
    {
      const base::Result<DoorClient> result = DoorClient::Knock(socket_, -1);
      status = result.status();
      if (result.ok()) welcomed_ticket_ = (*result).ticket();
    }  // the door waits for the client to go
    door.join();
    std::filesystem::remove(socket_ + ".door");
    return status;
  }

  static abi::DoorWelcome Answer(abi::DoorStatus status, const char* reason) {
    abi::DoorWelcome answer{};
    answer.magic = abi::kDoorMagic;
    answer.version = abi::kDoorVersion;
    answer.status = static_cast<uint16_t>(status);
    std::memset(answer.ticket, 'a', sizeof(answer.ticket));
    std::strncpy(answer.reason, reason, sizeof(answer.reason) - 1);
    return answer;
  }

  std::string folder_;
  std::string socket_;
  std::string welcomed_ticket_;
};

TEST_F(DoorClientTest, NobodyThere) {
  const base::Status missing = DoorClient::Knock(socket_, -1).status();
  EXPECT_EQ(missing.code(), Code::kUnavailable);
  EXPECT_THAT(missing.message(), HasSubstr("profd is not running at " + socket_));
  EXPECT_THAT(missing.message(), HasSubstr("start"));
  { const UniqueFd dead = Listen(SOCK_SEQPACKET); }
  EXPECT_EQ(DoorClient::Knock(socket_, -1).status().code(), Code::kUnavailable);
  EXPECT_EQ(DoorClient::Knock(folder_ + "/no/such", -1).status().code(), Code::kUnavailable);
  EXPECT_EQ(DoorClient::Knock("/" + std::string(200, 'x'), -1).status().code(), Code::kInvalidArgument);
}

TEST_F(DoorClientTest, SomebodyElseThere) {
  const UniqueFd other = Listen(SOCK_STREAM);
  const base::Status status = DoorClient::Knock(socket_, -1).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("another program"));
}

TEST_F(DoorClientTest, Welcome) {
  const abi::DoorWelcome answer = Answer(abi::DoorStatus::kWelcome, "");
  EXPECT_TRUE(KnockAt(&answer, sizeof(answer)).ok());
  EXPECT_EQ(welcomed_ticket_, std::string(64, 'a'));
}

TEST_F(DoorClientTest, RefusalsSayWhy) {
  using Case = std::pair<abi::DoorStatus, Code>;
  for (const auto& [status, code] : {Case(abi::DoorStatus::kBusy, Code::kResourceExhausted),
                                     Case(abi::DoorStatus::kOutputDir, Code::kInvalidArgument),
                                     Case(abi::DoorStatus::kVersion, Code::kUnavailable),
                                     Case(abi::DoorStatus::kMalformed, Code::kUnavailable),
                                     Case(abi::DoorStatus::kFailed, Code::kUnavailable),
                                     Case(static_cast<abi::DoorStatus>(999), Code::kUnavailable)}) {
    const abi::DoorWelcome answer = Answer(status, "because \x1b[31m");
    const base::Status got = KnockAt(&answer, sizeof(answer));
    EXPECT_EQ(got.code(), code);
    EXPECT_THAT(got.message(), HasSubstr("because ?[31m"));
  }
}

// profd was killed meanwhile: nothing is wrong with this release.
TEST_F(DoorClientTest, ADoorThatClosesSaysNothingOfReleases) {
  const base::Status closed = KnockAt(nullptr, 0);
  EXPECT_EQ(closed.code(), Code::kUnavailable);
  EXPECT_THAT(closed.message(), HasSubstr("closed its door without an answer"));
}

TEST_F(DoorClientTest, NonsenseIsNotTrusted) {
  abi::DoorWelcome answer = Answer(abi::DoorStatus::kWelcome, "");
  EXPECT_EQ(KnockAt(&answer, sizeof(answer) - 1).code(), Code::kUnavailable);
  answer.magic ^= 1;
  EXPECT_EQ(KnockAt(&answer, sizeof(answer)).code(), Code::kUnavailable);
  answer = Answer(abi::DoorStatus::kWelcome, "");
  answer.ticket[5] = '\n';  // would break out of the metadata
  EXPECT_EQ(KnockAt(&answer, sizeof(answer)).code(), Code::kUnavailable);
  answer = Answer(abi::DoorStatus::kBusy, "");
  std::memset(answer.reason, 'x', sizeof(answer.reason));  // no terminating zero
  EXPECT_EQ(KnockAt(&answer, sizeof(answer)).message(), std::string(sizeof(answer.reason), 'x'));
}

}  // namespace
}  // namespace profd::client
