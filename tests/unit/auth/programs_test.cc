#include "daemon/auth/door/programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace profd::auth {
namespace {

size_t ThreadsThatAsk() {
  size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    std::getline(file, name);
    count += name == "programs" ? 1 : 0;
  }
  return count;
}

TEST(Programs, WhoeverAsksMuchHasNoMoreThreads) {
  constexpr int kMany = 500;
  base::Executor ctl;
  Programs programs(ctl);
  const std::string own = std::filesystem::read_symlink("/proc/self/exe");
  int answered = 0;
  size_t threads = 0;
  const auto ask = [&](uid_t user) {
    programs.Ask(user, ::getpid(), [&](const std::string& program) {
      EXPECT_EQ(program, own);
      if (++answered == kMany + 1) ctl.Stop();
    });
    threads = std::max(threads, ThreadsThatAsk());
  };
  ctl.Post([&] {
    for (int i = 0; i < kMany; ++i) ask(1000);
    ask(1001);
  });
  ctl.Run();
  EXPECT_LE(threads, 4U);
}

// On a busy machine time runs out while the answer is on its way.
TEST(Programs, AnAnswerThatComesAsTimeRunsOutIsTheAnswer) {
  base::Executor ctl;
  std::promise<void> go, second_is_asked;
  Programs programs(ctl, [&](pid_t pid) {
    pid == 1 ? go.get_future().wait() : second_is_asked.set_value();
    return "program " + std::to_string(pid);
  });
  std::vector<std::string> answers;
  const auto take = [&](const std::string& program) {
    answers.push_back(program);
    if (answers.size() == 2) ctl.Stop();
  };
  ctl.Post([&] {
    programs.Ask(1000, 1, take);
    ctl.After(900'000'000, [&] {
      programs.Ask(1000, 2, take);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));  // ctl is busy
    });
    // Due when that is over, as is the end of the patience: the answer comes between the two.
    ctl.After(950'000'000, [&] {
      go.set_value();
      second_is_asked.get_future().wait();
    });
  });
  ctl.Run();
  EXPECT_THAT(answers, testing::ElementsAre("program 1", "program 2"));
}

TEST(Programs, OneThatIsGoneHasNone) {
  base::Executor ctl;
  Programs programs(ctl);
  programs.Ask(1000, 0x3fffffff, [&](const std::string& program) {
    EXPECT_EQ(program, "");
    ctl.Stop();
  });
  ctl.Run();
}

}  // namespace
}  // namespace profd::auth
