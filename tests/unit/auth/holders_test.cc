#include "daemon/auth/holders.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <future>
#include <thread>
#include <vector>

#include "base/unique_fd.h"

namespace profd::auth {
namespace {

using base::Code;
using base::UniqueFd;

constexpr uint64_t kEverNs = 3'600'000'000'000;

class HoldersTest : public testing::Test {
 protected:
  // Their end, and what gRPC calls ours, which is in passed_: ctl may look at it until it has stopped.
  struct Connection {
    UniqueFd theirs;
    std::string name = {};
  };

  HoldersTest() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in any = Loopback("127.0.0.1", 0);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any), 0);
    EXPECT_EQ(::listen(listener_.get(), 16), 0);
    port_ = ntohs(NameOf(listener_).sin_port);
  }
  ~HoldersTest() override {
    ctl_.Stop();
    if (thread_.joinable()) thread_.join();
  }

  void Open(Holders::Options options) {
    holders_ = std::make_unique<Holders>(ctl_, options);
    thread_ = std::thread([this] { ctl_.Run(); });
  }
  Connection Connect(const char* from = "127.0.0.2") {
    Connection made{.theirs = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))};
    const sockaddr_in source = Loopback(from, 0), to = Loopback("127.0.0.1", port_);
    EXPECT_EQ(::bind(made.theirs.get(), reinterpret_cast<const sockaddr*>(&source), sizeof source), 0);
    EXPECT_EQ(::connect(made.theirs.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    passed_.emplace_back(::accept(listener_.get(), nullptr, nullptr));
    made.name = std::string("ipv4:") + from + ":" + std::to_string(ntohs(NameOf(made.theirs).sin_port));
    Add(passed_.back());
    return made;
  }
  void Add(const UniqueFd& fd) {
    std::promise<void> added;
    ctl_.Post([&] {
      holders_->Add(fd.get());
      added.set_value();
    });
    added.get_future().wait();
  }
  Code Claim(const Connection& connection, const char* holder, bool is_limited = true) {
    return holders_->Claim(connection.name, holder, is_limited).code();
  }

  base::Executor ctl_;
  std::unique_ptr<Holders> holders_;
  std::vector<UniqueFd> passed_;

 private:
  static sockaddr_in Loopback(const char* address, uint16_t port) {
    sockaddr_in made{};
    made.sin_family = AF_INET;
    made.sin_port = htons(port);
    EXPECT_EQ(::inet_pton(AF_INET, address, &made.sin_addr), 1);
    return made;
  }
  static sockaddr_in NameOf(const UniqueFd& fd) {
    sockaddr_in name{};
    socklen_t size = sizeof name;
    EXPECT_EQ(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&name), &size), 0);
    return name;
  }

  UniqueFd listener_;
  uint16_t port_ = 0;
  std::thread thread_;
};

TEST_F(HoldersTest, ANameHoldsSoManyWhereverItConnectsFrom) {
  Open({.most = 2, .patience_ns = kEverNs});
  const Connection first = Connect("127.0.0.2"), second = Connect("127.0.0.3"), third = Connect("127.0.0.4");
  EXPECT_EQ(Claim(first, "eye"), Code::kOk);
  EXPECT_EQ(Claim(second, "eye"), Code::kOk);
  EXPECT_EQ(Claim(third, "eye"), Code::kResourceExhausted);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Claim(first, "eye"), Code::kOk) << "it is its already";
  EXPECT_EQ(Claim(third, "another"), Code::kOk);
}

// Of a socket that takes both, the kernel says ::ffff:127.0.0.2 and gRPC ipv4:127.0.0.2.
TEST_F(HoldersTest, AddressesAreTheSameHoweverTheyAreWritten) {
  Open({.most = 0, .patience_ns = kEverNs});
  const UniqueFd listener(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any), 0);
  ASSERT_EQ(::listen(listener.get(), 16), 0);
  for (const char* host : {"::1", "::ffff:127.0.0.1"}) {
    sockaddr_in6 to{};
    socklen_t size = sizeof to;
    ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&to), &size), 0);
    ASSERT_EQ(::inet_pton(AF_INET6, host, &to.sin6_addr), 1);
    const UniqueFd theirs(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(theirs.get(), reinterpret_cast<const sockaddr*>(&to), size), 0);
    const UniqueFd ours(::accept(listener.get(), nullptr, nullptr));
    ASSERT_EQ(::getsockname(theirs.get(), reinterpret_cast<sockaddr*>(&to), &size), 0);
    Add(ours);
    const std::string port = ":" + std::to_string(ntohs(to.sin6_port));
    const bool is_six = std::string_view(host) == "::1";
    for (const char* name : {"ipv6:%5B::1%5D", "ipv6:[::1]", "ipv6:[0:0::1%25lo]"}) {
      EXPECT_EQ(holders_->Claim(name + port, "eye", true).code(),
                is_six ? Code::kResourceExhausted : Code::kOk)
          << name;
    }
    EXPECT_EQ(holders_->Claim("ipv4:127.0.0.1" + port, "eye", true).code(),
              is_six ? Code::kOk : Code::kResourceExhausted);
  }
}

TEST_F(HoldersTest, WhoIsNotLimitedHoldsAsManyAsThereAre) {
  Open({.most = 1, .patience_ns = kEverNs});
  std::vector<Connection> many;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Claim(many.emplace_back(Connect()), "ops", false), Code::kOk);
}

TEST_F(HoldersTest, WhatIsClosedMakesRoom) {
  Open({.most = 1, .patience_ns = kEverNs});
  const Connection first = Connect(), second = Connect();
  EXPECT_EQ(Claim(first, "eye"), Code::kOk);
  EXPECT_EQ(Claim(second, "eye"), Code::kResourceExhausted);
  passed_.front().Reset();
  // Looked at again now and then, not with every call.
  while (Claim(second, "eye") != Code::kOk) std::this_thread::yield();
}

TEST_F(HoldersTest, AConnectionThatIsNotKnownCountsForNobody) {
  Open({.most = 1, .patience_ns = kEverNs});
  for (const char* name :
       {"", "unix:", "ipv4:127.0.0.2", "ipv4:127.0.0.2:99999", "ipv6:[::1]:1", "ipv6:%5B:::"})
    EXPECT_EQ(holders_->Claim(name, "eye", true).code(), Code::kOk);
  EXPECT_EQ(Claim(Connect(), "eye"), Code::kOk);
}

TEST_F(HoldersTest, WhatNobodyClaimsIsClosedAndNothingElse) {
  Open({.most = 1, .patience_ns = 20'000'000});
  char byte = 0;
  // Again where the claim came too late.
  for (bool is_open = false; !is_open;) {
    const Connection claimed = Connect();
    EXPECT_EQ(Claim(claimed, "ops", false), Code::kOk);
    const Connection silent = Connect();
    EXPECT_EQ(::recv(silent.theirs.get(), &byte, 1, 0), 0);
    is_open = ::recv(claimed.theirs.get(), &byte, 1, MSG_DONTWAIT) == -1;
  }
}

TEST_F(HoldersTest, OneTooManyIsClosed) {
  Open({.most = 0, .patience_ns = 20'000'000});
  const Connection one_too_many = Connect();
  static_cast<void>(Claim(one_too_many, "eye"));
  char byte = 0;
  EXPECT_EQ(::recv(one_too_many.theirs.get(), &byte, 1, 0), 0);
}

}  // namespace
}  // namespace profd::auth
