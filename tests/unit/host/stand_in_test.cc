#include "daemon/host/process/stand_in.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace profd::host {
namespace {

TEST(StandIn, Answers) {
  const auto answer = StandIn::AskOnce(
      1, [] { return StandIn::Answer([](std::string_view request) { return std::string(request) + "!"; }); },
      "here");
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(*answer, "here!");
}

// What it has read of a process may have taken it over: then its answers are of any length.
TEST(StandIn, ALengthThatCannotBeIsNotBelieved) {
  const StandIn::Duty lie = [] {
    return StandIn::Answer([](std::string_view) {
      const std::string head(16, '\xff'), more(64 << 10, 'x');
      for (int fd = 3; fd < 256; ++fd) {
        for (const std::string& text : {head, more}) ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
      }
      ::pause();
      return std::string();
    });
  };
  EXPECT_FALSE(StandIn::AskOnce(2, lie, "how much?").ok());
}

TEST(StandIn, SaysSoMuchAtMost) {
  const StandIn::Duty says = [] {
    return StandIn::Answer(
        [](std::string_view bytes) { return std::string(std::stoul(std::string(bytes)), 'x'); });
  };
  const auto most = StandIn::AskOnce(3, says, std::to_string(TextChannel::kMostBytes));
  ASSERT_TRUE(most.ok()) << most.status().message();
  EXPECT_EQ(most->size(), size_t{4} << 20);
  EXPECT_FALSE(StandIn::AskOnce(3, says, std::to_string(TextChannel::kMostBytes + 1)).ok());
}

// What it holds a user's program has made it hold.
TEST(StandIn, IsWhatTheKernelEndsWhereMemoryIsShort) {
  const auto adjusted = StandIn::AskOnce(
      4,
      [] {
        return StandIn::Answer([](std::string_view) {
          std::ifstream file("/proc/self/oom_score_adj");
          return std::string(std::istreambuf_iterator<char>(file), {});
        });
      },
      "?");
  ASSERT_TRUE(adjusted.ok()) << adjusted.status().message();
  EXPECT_EQ(*adjusted, "1000\n");
}

}  // namespace
}  // namespace profd::host
