// A process that does one thing per line of its standard input and answers each with one line:
//   hello             -> ok
//   thread            starts a thread that waits           -> its tid
//   end-thread        ends the newest thread               -> ok
//   end-leader        ends the first thread, the others go on (no answer after this one)
//   fork              forks a child that waits             -> its pid
//   fork-thread       the same, from a thread that waits   -> its pid
//   fork-as PID       the same with this pid               -> its pid or -errno
//   fork-write B F    the same, the child writes B bytes to F first
//   end-child         kills the newest child and waits for it
//   kill-child        kills the newest child, leaves a zombie
//   write B F         writes and syncs B bytes
//   name HEX          sets its name
//   davinci N         opens /dev/davinciN of a private /dev -> ok or -errno
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Waiter {
  std::mutex mutex;
  std::condition_variable changed;
  bool end = false;
  bool fork = false;
  pid_t child = 0;
  pid_t tid = 0;
  std::thread thread;
};

bool WriteFile(const std::string& path, size_t bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const std::vector<char> zeros(bytes);
  const bool ok = ::write(fd, zeros.data(), bytes) == static_cast<ssize_t>(bytes) && ::fsync(fd) == 0;
  ::close(fd);
  return ok;
}

// Forks a child that does `first` and then waits to be killed, by its parent's end at the latest, so that a
// test leaves nothing behind. Its pid once it waits, else -errno or -1. A `pid` of 0 leaves the choice to the
// kernel.
long ForkChild(pid_t pid, const std::function<bool()>& first) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return -errno;
  clone_args args{};
  args.exit_signal = SIGCHLD;
  args.set_tid = reinterpret_cast<uint64_t>(&pid);
  args.set_tid_size = 1;
  long child = pid == 0 ? ::fork() : ::syscall(SYS_clone3, &args, sizeof args);
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const char ok = first() ? 1 : 0;
    if (::write(ends[1], &ok, 1) != 1) ::_exit(1);
    while (true) ::pause();
  }
  if (child < 0) child = -errno;
  ::close(ends[1]);
  char ok = 0;
  if (child > 0 && (::read(ends[0], &ok, 1) != 1 || ok != 1)) child = -1;
  ::close(ends[0]);
  return child;
}

bool Nothing() { return true; }

void RunWaiter(Waiter* self) {
  std::unique_lock lock(self->mutex);
  self->tid = ::gettid();
  self->changed.notify_all();
  while (!self->end) {
    if (self->fork) {
      self->child = static_cast<pid_t>(ForkChild(0, Nothing));
      self->fork = false;
      self->changed.notify_all();
    }
    self->changed.wait(lock);
  }
}

int OpenDavinci(const std::string& number) {
  if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("dev", "/dev", "tmpfs", 0, nullptr) != 0) {
    return -errno;
  }
  for (const std::string& name : {"davinci" + number, "davinci" + number, std::string("davinci_manager")}) {
    if (::open(("/dev/" + name).c_str(), O_RDWR | O_CREAT, 0600) < 0) return -errno;
  }
  return 0;
}

}  // namespace

int main() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::vector<std::unique_ptr<Waiter>> threads;
  std::vector<pid_t> children;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    std::string answer = "ok";
    if (verb == "hello") {
    } else if (verb == "thread") {
      Waiter& waiter = *threads.emplace_back(std::make_unique<Waiter>());
      waiter.thread = std::thread(RunWaiter, &waiter);
      std::unique_lock lock(waiter.mutex);
      waiter.changed.wait(lock, [&] { return waiter.tid != 0; });
      answer = std::to_string(waiter.tid);
    } else if (verb == "end-thread") {
      Waiter& waiter = *threads.back();
      {
        const std::lock_guard lock(waiter.mutex);
        waiter.end = true;
      }
      waiter.changed.notify_all();
      waiter.thread.join();
      threads.pop_back();
    } else if (verb == "end-leader") {
      std::cout << answer << std::endl;
      ::syscall(SYS_exit, 0);
    } else if (verb == "fork") {
      children.push_back(static_cast<pid_t>(ForkChild(0, Nothing)));
      answer = std::to_string(children.back());
    } else if (verb == "fork-thread") {
      Waiter& waiter = *threads.back();
      std::unique_lock lock(waiter.mutex);
      waiter.fork = true;
      waiter.changed.notify_all();
      waiter.changed.wait(lock, [&] { return !waiter.fork; });
      children.push_back(waiter.child);
      answer = std::to_string(waiter.child);
    } else if (verb == "fork-as") {
      pid_t pid = 0;
      words >> pid;
      const long child = ForkChild(pid, Nothing);
      if (child > 0) children.push_back(static_cast<pid_t>(child));
      answer = std::to_string(child);
    } else if (verb == "fork-write") {
      size_t bytes = 0;
      std::string path;
      words >> bytes >> path;
      children.push_back(static_cast<pid_t>(ForkChild(0, [&] { return WriteFile(path, bytes); })));
      answer = std::to_string(children.back());
    } else if (verb == "end-child" || verb == "kill-child") {
      ::kill(children.back(), SIGKILL);
      siginfo_t info{};
      const int how = verb == "kill-child" ? WEXITED | WNOWAIT : WEXITED;
      ::waitid(P_PID, static_cast<id_t>(children.back()), &info, how);
      if (verb == "end-child") children.pop_back();
    } else if (verb == "write") {
      size_t bytes = 0;
      std::string path;
      words >> bytes >> path;
      if (!WriteFile(path, bytes)) answer = "failed";
    } else if (verb == "name") {
      std::string hex;
      words >> hex;
      std::string name;
      for (size_t i = 0; i + 1 < hex.size(); i += 2)
        name += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
      ::prctl(PR_SET_NAME, name.c_str());
    } else if (verb == "davinci") {
      std::string number;
      words >> number;
      if (const int result = OpenDavinci(number); result != 0) answer = std::to_string(result);
    } else {
      answer = "unknown";
    }
    std::cout << answer << std::endl;
  }
  // The kernel ends the threads and, by their own wish, the children.
  ::_exit(0);
}
