#include "daemon/auth/door/conduit.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "daemon/auth/door/frame_scan.h"
#include "daemon/auth/door/message_scan.h"

namespace profd::auth {
namespace {

using base::UniqueFd;
using Clock = std::chrono::steady_clock;

constexpr uid_t kUser = 1000;
const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string FrameOf(uint8_t type, uint8_t flags, uint32_t stream, const std::string& payload) {
  std::string bytes;
  for (const int shift : {16, 8, 0}) bytes += static_cast<char>(payload.size() >> shift);
  bytes += static_cast<char>(type);
  bytes += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(stream >> shift);
  return bytes + payload;
}
std::string Call(uint32_t stream) { return FrameOf(Frame::kHeaders, 4, stream, "head"); }

struct Pair {
  UniqueFd client, grpc;
};

class ConduitTest : public testing::Test {
 protected:
  void Start(Conduit::Options options) {
    auto conduit = Conduit::Start(options);
    ASSERT_TRUE(conduit.ok()) << conduit.status().message();
    conduit_ = std::move(conduit).value();
  }
  Pair Connect(uid_t uid = kUser) {
    std::array<int, 2> pair{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
    auto grpc = conduit_->Carry(UniqueFd(pair[0]), uid);
    EXPECT_TRUE(grpc.ok());
    return {UniqueFd(pair[1]), std::move(grpc).value()};
  }
  static void Say(const UniqueFd& fd, std::string_view bytes) {
    while (!bytes.empty()) {
      pollfd room{fd.get(), POLLOUT, 0};
      ::poll(&room, 1, -1);
      const ssize_t sent = ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EAGAIN) continue;
      ASSERT_GT(sent, 0);
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  // Some bytes, "" at the end.
  static std::string Hear(const UniqueFd& fd) {
    std::array<char, 65536> bytes;
    pollfd wait{fd.get(), POLLIN, 0};
    ::poll(&wait, 1, -1);
    const ssize_t got = ::recv(fd.get(), bytes.data(), bytes.size(), 0);
    return got <= 0 ? "" : std::string(bytes.data(), static_cast<size_t>(got));
  }
  static std::string Hear(const UniqueFd& fd, size_t size) {
    std::string all;
    while (all.size() < size) {
      const std::string some = Hear(fd);
      if (some.empty()) break;
      all += some;
    }
    return all;
  }

  std::unique_ptr<Conduit> conduit_;
};

TEST_F(ConduitTest, BytesGoBothWaysAsTheyAre) {
  Start({.frames_per_s = 1e6});
  const Pair pair = Connect();
  std::string inward = kPreface, outward;
  for (uint32_t i = 0; i < 300; ++i) {
    inward += FrameOf(Frame::kData, 0, 1, std::string(i * 3, static_cast<char>(i)));
    outward += FrameOf(Frame::kData, 0, 1, std::string(i * 11, static_cast<char>(i)));
  }
  Say(pair.client, inward);
  EXPECT_EQ(Hear(pair.grpc, inward.size()), inward);
  std::thread answer([&] { Say(pair.grpc, outward); });  // more than a socket holds
  EXPECT_EQ(Hear(pair.client, outward.size()), outward);
  answer.join();
}

TEST_F(ConduitTest, WhenOneEndIsClosedSoIsTheOther) {
  Start({});
  Pair pair = Connect();
  Say(pair.client, kPreface);
  pair.client.Reset();
  EXPECT_EQ(Hear(pair.grpc, 1000), kPreface);
  pair = Connect();
  Say(pair.grpc, "last words");
  pair.grpc.Reset();
  EXPECT_EQ(Hear(pair.client, 1000), "last words");
}

TEST_F(ConduitTest, WhatGrpcSaidGoesOutBeforeTheEnd) {
  Start({});
  const Pair pair = Connect();
  Say(pair.client, kPreface);
  EXPECT_EQ(Hear(pair.grpc, kPreface.size()), kPreface);  // it is there
  Say(pair.grpc, "last words");
  conduit_.reset();
  EXPECT_EQ(Hear(pair.client, 1000), "last words");
}

// So many bytes of a message of `of`.
std::string Piece(uint32_t of, size_t bytes) {
  std::string said(1, '\0');
  for (const int shift : {24, 16, 8, 0}) said += static_cast<char>(of >> shift);
  return said + std::string(bytes, 'x');
}

TEST_F(ConduitTest, OfMessagesThatDoNotEndAUserHasSoMuch) {
  Start({.max_unfinished_per_uid = 10'000});
  const Pair whole = Connect(), half = Connect(), other = Connect(kUser + 1);
  std::string said = kPreface + Call(1);
  const std::string one = FrameOf(Frame::kData, 0, 1, Piece(1000, 1000));
  for (int i = 0; i < 50; ++i) said += one;
  Say(whole.client, said);
  EXPECT_EQ(Hear(whole.grpc, said.size()), said) << "whole ones are as many as one likes";
  const std::string begun = kPreface + Call(1) + FrameOf(Frame::kData, 0, 1, Piece(60'000, 6'000));
  Say(half.client, begun);
  EXPECT_EQ(Hear(half.grpc, begun.size()), begun);
  Say(other.client, begun);
  EXPECT_EQ(Hear(other.grpc, begun.size()), begun) << "another user has his own";
  const Pair more = Connect();
  Say(more.client, begun);
  EXPECT_EQ(Hear(more.client), "") << "it is closed";
  Say(half.client, FrameOf(Frame::kReset, 0, 1, "gone"));
  Hear(half.grpc);
  const Pair again = Connect();
  Say(again.client, begun);
  EXPECT_EQ(Hear(again.grpc, begun.size()), begun) << "what was given up is free again";
}

TEST_F(ConduitTest, TheYoungestWithoutACallMakesRoom) {
  Start({});
  const Pair first = Connect(), second = Connect(), busy = Connect(), other = Connect(kUser + 1);
  const std::string begun = kPreface + Call(1);
  Say(busy.client, begun);
  EXPECT_EQ(Hear(busy.grpc, begun.size()), begun);
  conduit_->Relieve(kUser);
  EXPECT_EQ(Hear(second.client), "");
  conduit_->Relieve(kUser);
  EXPECT_EQ(Hear(first.client), "");
  conduit_->Relieve(kUser);  // there is none left
  Say(busy.client, Call(3));
  EXPECT_EQ(Hear(busy.grpc, Call(3).size()), Call(3));
  Say(other.client, kPreface);
  EXPECT_EQ(Hear(other.grpc, kPreface.size()), kPreface);
}

TEST_F(ConduitTest, NothingCompressedIsCarried) {
  Start({});
  const Pair plain = Connect(), compressed = Connect();
  const std::string message = Piece(300, 300);
  const std::string said = kPreface + Call(1) + FrameOf(Frame::kData, 0, 1, message);
  Say(plain.client, said);
  EXPECT_EQ(Hear(plain.grpc, said.size()), said);
  Say(compressed.client, kPreface + Call(1) + FrameOf(Frame::kData, 0, 1, '\1' + message.substr(1)));
  EXPECT_EQ(Hear(compressed.grpc), "") << "it is closed";
}

TEST_F(ConduitTest, OfLargeRequestsWithoutAnAnswerAUserHasSoMuch) {
  Start({.max_unfinished_per_uid = 250'000});
  const Pair pair = Connect();
  const auto large = [](uint32_t stream) {
    return Call(stream) + FrameOf(Frame::kData, Frame::kEndStream, stream, Piece(100'000, 100'000));
  };
  const std::string two = kPreface + large(1) + large(3);
  Say(pair.client, two);
  EXPECT_EQ(Hear(pair.grpc, two.size()), two);
  const std::string answer = FrameOf(Frame::kHeaders, 4 | Frame::kEndStream, 1, "no");
  Say(pair.grpc, answer);
  EXPECT_EQ(Hear(pair.client, answer.size()), answer);
  Say(pair.client, large(5));
  EXPECT_EQ(Hear(pair.grpc, large(5).size()), large(5)) << "one is answered";
  Say(pair.client, large(7));
  EXPECT_LT(Hear(pair.grpc, large(7).size()).size(), large(7).size()) << "it is closed";
}

TEST(MessageScanTest, SeesWhatIsCompressed) {
  MessageScan scan;
  scan.Add(Piece(300, 300) + std::string(1, '\0'));
  EXPECT_FALSE(scan.compressed());
  scan.Add(Piece(300, 300).substr(1) + '\1');
  EXPECT_TRUE(scan.compressed());
}

TEST(MessageScanTest, KeepsWhatIsNotWhole) {
  MessageScan scan;
  const std::string message = Piece(300, 300);
  for (const char byte : message.substr(0, message.size() - 1)) scan.Add({&byte, 1});
  EXPECT_EQ(scan.kept(), 304U);
  scan.Add("x" + Piece(0, 0) + Piece(7, 2));
  EXPECT_EQ(scan.kept(), 7U);
  scan.AddPadded(100);
  scan.Add("12345");
  EXPECT_EQ(scan.kept(), 100U) << "nobody knows what of it is padding";
}

TEST_F(ConduitTest, FramesComeNoFasterThanTheyMayAndAllOfThemCome) {
  constexpr double kPerS = 40;
  Start({.frames_per_s = kPerS});
  const auto begun = Clock::now();
  const Pair pair = Connect(), other = Connect();  // one share for both
  std::string said = kPreface;
  const std::string ping = FrameOf(Frame::kPing, 0, 0, "12345678");
  for (int i = 0; i < 60; ++i) said += ping;
  Say(pair.client, said);
  Say(other.client, said);
  std::string heard, heard_of_other;
  while (heard.size() < said.size() || heard_of_other.size() < said.size()) {
    std::array<pollfd, 2> waits{pollfd{pair.grpc.get(), POLLIN, 0}, pollfd{other.grpc.get(), POLLIN, 0}};
    ::poll(waits.data(), waits.size(), -1);
    if (waits[0].revents != 0) heard += Hear(pair.grpc);
    if (waits[1].revents != 0) heard_of_other += Hear(other.grpc);
    const auto frames =
        static_cast<double>((heard.size() + heard_of_other.size() - 2 * kPreface.size()) / ping.size());
    EXPECT_LE(frames - 2, kPerS + kPerS * std::chrono::duration<double>(Clock::now() - begun).count());
  }
  EXPECT_EQ(heard, said);
  EXPECT_EQ(heard_of_other, said);
}

TEST_F(ConduitTest, OfAcknowledgementsAndWindowUpdatesThereMayBeAHundredTimesAsMany) {
  Start({.frames_per_s = 31});
  const auto begun = Clock::now();
  const Pair pair = Connect();
  std::string said = kPreface;
  for (int i = 0; i < 1000; ++i) {
    said += FrameOf(Frame::kPing, Frame::kAck, 0, "12345678") +
            FrameOf(Frame::kWindowUpdate, 0, 0, std::string("\0\0\0\1", 4)) +
            FrameOf(Frame::kSettings, Frame::kAck, 0, "");
  }
  Say(pair.client, said);
  EXPECT_EQ(Hear(pair.grpc, said.size()), said);
  EXPECT_LT(Clock::now() - begun, std::chrono::seconds(60)) << "as others they would have taken 96 s";
}

TEST_F(ConduitTest, AHeaderCostsByItsSize) {
  Start({.frames_per_s = 100});
  const auto begun = Clock::now();
  const Pair pair = Connect();
  const std::string large = FrameOf(Frame::kHeaders, 4, 1, std::string(12'000, 'x'));
  const std::string said = kPreface + large + large + large + large;
  Say(pair.client, said);
  EXPECT_EQ(Hear(pair.grpc, said.size()), said);
  EXPECT_GE(std::chrono::duration<double>(Clock::now() - begun).count(), 4 * 47 / 100. - 1);
}

TEST_F(ConduitTest, AConnectionThatOpensTooManyCallsIsEnded) {
  Start({.max_calls_per_connection = 3});
  const Pair pair = Connect();
  Say(pair.client, kPreface + Call(1) + Call(3) + Call(5));
  const size_t size = kPreface.size() + 3 * Call(1).size();
  EXPECT_EQ(Hear(pair.grpc, size).size(), size);
  // One that was answered or given up makes room.
  const std::string answer = FrameOf(Frame::kHeaders, Frame::kEndStream | 4, 3, "");
  Say(pair.grpc, answer);
  EXPECT_EQ(Hear(pair.client, answer.size()), answer);
  const std::string more = Call(7) + FrameOf(Frame::kReset, 0, 1, "oops") + Call(9);
  Say(pair.client, more);
  EXPECT_EQ(Hear(pair.grpc, more.size()), more);
  Say(pair.client, Call(11));
  EXPECT_EQ(Hear(pair.client), "");
  EXPECT_LT(Hear(pair.grpc, 1000).size(), Call(11).size());
}

TEST_F(ConduitTest, AUserWhoOpensTooManyCallsLosesTheConnectionThatDid) {
  Start({.max_calls_per_uid = 2});
  const Pair first = Connect(), second = Connect(), of_another = Connect(kUser + 1);
  const std::string said = kPreface + Call(1);
  for (const Pair* pair : {&first, &second, &of_another}) {
    Say(pair->client, said);
    EXPECT_EQ(Hear(pair->grpc, said.size()), said);
  }
  Say(first.client, Call(3));
  EXPECT_EQ(Hear(first.client), "");
  Say(second.client, Call(3));  // the first one's are gone
  EXPECT_EQ(Hear(second.grpc, Call(3).size()), Call(3));
  Say(of_another.client, Call(3));
  EXPECT_EQ(Hear(of_another.grpc, Call(3).size()), Call(3));
}

TEST_F(ConduitTest, AReaderWhoDoesNotReadHoldsNobodyElseUp) {
  Start({});
  const Pair slow = Connect(), other = Connect();
  const std::string data = FrameOf(Frame::kData, 0, 1, std::string(16'000, 'x'));
  // Until the way out is full.
  while (::send(slow.grpc.get(), data.data(), data.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
  }
  Say(other.grpc, data);
  EXPECT_EQ(Hear(other.client, data.size()), data);
}

TEST(ConduitNames, AreThoseOfUsers) {
  EXPECT_EQ(Conduit::UserOf("unix-abstract:profd-of-user-1234-99"), 1234U);
  for (const char* other : {"unix:", "unix:/tmp/profd-of-user-0-1", "unix-abstract:profd-of-user-",
                            "unix-abstract:x", "ipv4:127.0.0.1:7"})
    EXPECT_EQ(Conduit::UserOf(other), std::nullopt) << other;
}

}  // namespace
}  // namespace profd::auth
