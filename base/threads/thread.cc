#include "base/threads/thread.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/threads/spare_threads.h"
#include "base/unique_fd.h"

namespace profd::base {

namespace {

// Never destroyed: threads are started until the very end.
SpareThreads& TheSpares() {
  static SpareThreads& spares = *new SpareThreads;
  return spares;
}

constexpr int kFirst = -5;  // nice
// That of the others; nothing: all are alike.
std::atomic<int> g_usual_nice{INT_MIN};

std::function<void()> Named(std::string name, std::function<void()> body, unsigned long slack_ns) {
  return [name = std::move(name), body = std::move(body), slack_ns] {
    ::pthread_setname_np(::pthread_self(), name.substr(0, 15).c_str());
    if (slack_ns != 0) ::prctl(PR_SET_TIMERSLACK, slack_ns, 0, 0, 0);
    body();
  };
}

std::function<void()> AsUsual(std::function<void()> body) {
  return [body = std::move(body)] {
    ComeAsUsual();
    body();
  };
}

}  // namespace

std::thread StartThread(std::string name, std::function<void()> body, unsigned long slack_ns) {
  return TheSpares().Start(Named(std::move(name), AsUsual(std::move(body)), slack_ns));
}

void ComeFirst() {
  const int now = ::getpriority(PRIO_PROCESS, 0);
  // The service manager may have seen to it, or somebody wants profd to stand back.
  if (now > 0 || (now == 0 && ::setpriority(PRIO_PROCESS, 0, kFirst) != 0)) return;
  g_usual_nice = 0;
}

std::thread StartFirstThread(std::string name, std::function<void()> body) {
  return TheSpares().Start(Named(std::move(name), std::move(body), 0));
}

void ComeAsUsual() {
  if (const int usual = g_usual_nice; usual != INT_MIN) ::setpriority(PRIO_PROCESS, 0, usual);
}

std::thread StartThread(SpareThreads& spares, std::string name, std::function<void()> body) {
  return spares.Start(Named(std::move(name), AsUsual(std::move(body)), 0));
}

bool KeepSpareThreads(size_t count) { return TheSpares().Fill(count); }

ThreadState StateOf(pid_t thread) {
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[512];
  const ssize_t size = file ? ::read(file.get(), text, sizeof text) : 0;
  const std::string_view line(text, static_cast<size_t>(std::max<ssize_t>(size, 0)));
  // "4711 (its name) R …": proc(5)
  const size_t name_end = line.rfind(')');
  ThreadState state;
  state.runs = name_end < line.size() && line.substr(name_end).starts_with(") R");
  // CPUCLOCK_SCHED of a thread: how the kernel makes the number of its clock, <linux/posix-timers.h>.
  state.cpu_ns = ReadClockNs(static_cast<clockid_t>((~static_cast<uint32_t>(thread) << 3) | 6U));
  return state;
}

Status RoomForThreads() {
  if (TheSpares().Fill()) return Status::Ok();
  return {Code::kResourceExhausted,
          "the kernel makes no more threads for profd: the limit of its service (TasksMax) or of the node "
          "(kernel.threads-max, kernel.pid_max) is reached; end what takes them and try again"};
}

void PreferShortSlices(uint64_t slice_ns) {
  struct {
    uint32_t size = 48, policy = SCHED_OTHER;
    uint64_t flags = 1;  // SCHED_FLAG_RESET_ON_FORK
    int32_t nice = 0;
    uint32_t priority = 0;
    uint64_t runtime_ns = 0, deadline_ns = 0, period_ns = 0;
  } attributes;
  attributes.nice = ::getpriority(PRIO_PROCESS, 0);
  attributes.runtime_ns = slice_ns;
  ::syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace profd::base
