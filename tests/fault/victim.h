// A test of this program that runs in a process of its own, to be killed in the middle of it.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

namespace profd::store {

// Starts the disabled test `victim`, which finds its folder in the environment variable `variable` and writes
// '!' to its standard output when it may be killed, at the earliest when its tree stands; kills it `delay`
// after that.
inline void RunAndKill(const std::string& victim, const char* variable,
                       const std::filesystem::path& directory, std::chrono::microseconds delay) {
  const std::string filter = "--gtest_filter=" + victim;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::dup2(ready[1], STDOUT_FILENO);
    ::setenv(variable, directory.c_str(), 1);
    ::execl("/proc/self/exe", "victim", filter.c_str(), "--gtest_also_run_disabled_tests", nullptr);
    ::_exit(1);
  }
  ::close(ready[1]);
  char seen = 0;
  while (seen != '!' && ::read(ready[0], &seen, 1) == 1) {
  }
  EXPECT_EQ(seen, '!');
  std::this_thread::sleep_for(delay);  // any moment: that is the test
  ::kill(child, SIGKILL);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  ::close(ready[0]);
}

}  // namespace profd::store
