// A process that uses CANN, linked with libprofd_agent.so. Talks to its test by lines on stdin and stdout.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "profd/agent.hpp"
#include "tests/unit/libagent/programs/mstx_api.h"

namespace {

void* g_router;

std::string Hear() {
  char line[512];
  if (std::fgets(line, sizeof(line), stdin) == nullptr) std::exit(0);
  line[std::strcspn(line, "\n")] = '\0';
  return line;
}
void Say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

std::string StatusOf(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":"))
      return std::to_string(std::strtoul(line.c_str() + key.size() + 1, nullptr, 10));
  }
  return "?";
}

bool SetDevice(unsigned device, bool open) {
  const auto notify =
      reinterpret_cast<int (*)(uint32_t, uint32_t, bool)>(dlsym(g_router, "MsprofNotifySetDevice"));
  return notify != nullptr && notify(5, device, open) == 0;
}

// Another tool of the process takes the one subscription.
std::string SubscribeFrom(const std::string& library) {
  void* mspti = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (mspti == nullptr) return dlerror();
  static void* subscriber;
  const auto subscribe = reinterpret_cast<int (*)(void**, void*, void*)>(dlsym(mspti, "msptiSubscribe"));
  return std::to_string(subscribe(&subscriber, nullptr, nullptr));
}

}  // namespace

// Obeys: load LIBRARY | subscribe LIBRARY | open N | close N | fork | worker | mark | steps N | mstx N |
// status KEY | exit | quit
int main() {
  profd_mark(profd_intern("started"));
  Say("ready");
  for (;;) {
    const std::string order = Hear();
    const size_t space = order.find(' ');
    const std::string what = order.substr(0, space);
    const std::string argument = space == std::string::npos ? "" : order.substr(space + 1);
    if (what == "load") {
      g_router = dlopen(argument.c_str(), RTLD_NOW | RTLD_LOCAL);
      Say(g_router != nullptr ? "done" : dlerror());
    } else if (what == "subscribe") {
      Say(SubscribeFrom(argument));
    } else if (what == "open" || what == "close") {
      Say(SetDevice(static_cast<unsigned>(std::stoul(argument)), what == "open") ? "done" : "failed");
    } else if (what == "mark") {
      profd_mark(profd_intern("mark"));
      Say("done");
    } else if (what == "steps") {
      for (int step = 0; step < std::stoi(argument); ++step) {
        const profd::ScopedStep scoped(static_cast<uint64_t>(step));
        const profd::ScopedRange forward("forward");
        usleep(100'000);  // how long a step is, which is recorded
      }
      Say("done");
    } else if (what == "mstx") {
      auto* const stream = reinterpret_cast<void*>(0x1234);
      for (int i = 0; i < std::stoi(argument); ++i) {
        mstx::Mark("on a stream", stream);
        mstx::Mark("on none", nullptr);
        const uint64_t range = mstx::RangeStart("copy", stream);
        usleep(2'000);  // how long a range is, which is recorded
        mstx::RangeEnd(range);
      }
      Say("done");
    } else if (what == "status") {
      Say(StatusOf(argument));
    } else if (what == "fork") {
      const pid_t child = fork();
      if (child == 0) {
        profd_mark(profd_intern("child"));
        Say("child");
        if (Hear() == "exit") std::exit(0);
        _exit(0);
      }
      int status = -1;
      waitpid(child, &status, 0);
      Say("reaped " + std::to_string(status));
    } else if (what == "worker") {
      // The child makes no call of the agent's, and obeys.
      const pid_t child = fork();
      if (child == 0) {
        Say("worker");
        continue;
      }
      int status = -1;
      waitpid(child, &status, 0);
      Say("reaped " + std::to_string(status));
    } else if (what == "exit") {
      std::exit(3);
    } else {
      return 0;
    }
  }
}
