// A training job in small, linked with libprofd_agent.so. Usage: workload WHAT; talks to its test by lines on
// stdin and stdout.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "profd/agent.hpp"

namespace {

// Waits for the test's next line.
std::string Hear() {
  char line[256];
  if (std::fgets(line, sizeof(line), stdin) == nullptr) std::exit(0);
  line[std::strcspn(line, "\n")] = '\0';
  return line;
}
void Say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

int Threads() {
  int threads = 0;
  std::FILE* status = std::fopen("/proc/self/status", "re");
  char line[256];
  while (status != nullptr && std::fgets(line, sizeof(line), status) != nullptr) {
    if (std::sscanf(line, "Threads: %d", &threads) == 1) break;
  }
  if (status != nullptr) std::fclose(status);
  return threads;
}

// Obeys: mark N | domain NAME N | steps N | fork | threads | spin | stop-spinning | exit | quit
int Interactive() {
  Say("threads " + std::to_string(Threads()));
  profd_name_thread("main");
  const profd_name name = profd_intern("work");
  uint64_t step = 0;
  std::atomic<bool> spinning{false};
  std::vector<std::thread> spinners;
  for (;;) {
    const std::string order = Hear();
    int count = 0;
    if (std::sscanf(order.c_str(), "mark %d", &count) == 1) {
      for (int i = 0; i < count; ++i) profd_counter(name, i);
      Say("done");
    } else if (char text[64]; std::sscanf(order.c_str(), "domain %63s %d", text, &count) == 2) {
      profd_event event{};
      event.size = sizeof(event);
      event.domain = std::strcmp(text, "default") == 0 ? 0 : profd_domain_create(text);
      event.name = profd_intern(text);
      for (int i = 0; i < count; ++i) {
        profd_mark_event(&event);
        profd_range_push_event(&event);
        profd_range_pop_in(event.domain);
        profd_range_end(profd_range_start_event(&event));
        if (event.domain == 0) profd_mark(event.name);
      }
      Say("done");
    } else if (std::sscanf(order.c_str(), "steps %d", &count) == 1) {
      for (int i = 0; i < count; ++i, ++step) {
        const profd::ScopedStep scoped(step);
        PROFD_SCOPE("forward");
      }
      Say("done");
    } else if (order == "fork") {
      // The DataLoader pattern: the child never execs, and says so itself.
      const pid_t child = fork();
      if (child == 0) {
        // A mark before anything else is the first call in the child.
        PROFD_MARK("first in child");
        Say("child " + std::to_string(getpid()));
        for (std::string line; (line = Hear()) != "quit";) {
          PROFD_MARK("from the child");
          Say("done");
        }
        _exit(0);
      }
      int status = 0;
      waitpid(child, &status, 0);
      Say("reaped " + std::to_string(status));
    } else if (order == "threads") {
      Say("threads " + std::to_string(Threads()));
    } else if (order == "spin") {
      spinning = true;
      for (int i = 0; i < 2; ++i) {
        spinners.emplace_back([&] {
          while (spinning) {
            PROFD_SCOPE("spin");
            std::this_thread::yield();
          }
        });
      }
      Say("done");
    } else if (order == "stop-spinning") {
      spinning = false;
      for (std::thread& spinner : spinners) spinner.join();
      spinners.clear();
      Say("done");
    } else if (order == "exit") {
      std::exit(3);  // static destructors and atexit handlers run while threads record
    } else {
      return 0;
    }
  }
}

// exit() as the very first calls are made.
int ExitRace() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([] {
      for (;;) profd_mark(profd_intern("racing"));
    });
  }
  usleep(static_cast<useconds_t>(getpid() % 3000));  // any moment: that is the test
  std::exit(0);
}

// Four threads record and fork; children record, exit with destructors, without, or exec.
int ForkStorm() {
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  profd_mark(profd_intern("first"));
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        for (int n = 0; n < 100; ++n) PROFD_MARK("parent");
        const pid_t child = fork();
        if (child == 0) {
          profd_mark(profd_intern("child"));
          if (i % 3 == 0) std::exit(0);
          if (i % 3 == 1) execl("/bin/true", "true", nullptr);
          _exit(0);
        }
        int status = -1;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Say("forked 400 failed " + std::to_string(failed));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "interactive") return Interactive();
  if (what == "exit-race") return ExitRace();
  if (what == "fork-storm") return ForkStorm();
  return 2;
}
