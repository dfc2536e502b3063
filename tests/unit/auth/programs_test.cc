#include "daemon/auth/door/programs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

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
