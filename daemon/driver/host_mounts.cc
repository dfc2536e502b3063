#include "daemon/driver/host_mounts.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#include <condition_variable>
#include <cstdio>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <utility>

#include "base/threads/spare_threads.h"
#include "base/threads/thread.h"
#include "base/unique_fd.h"

namespace profd::driver {

namespace {

using base::Status;

// Of the host's mount namespace: for each device's calls, and for the pump.
constexpr size_t kSpares = 4;

// The driver asks a thread of the kernel's own. In a pid namespace of one's own there is none: process 1 is
// as far out as one can see.
const char* HostMounts() {
  constexpr unsigned kKernelThread = 0x00200000;
  unsigned flags = 0;
  if (std::FILE* stat = std::fopen("/proc/2/stat", "re")) {
    // NOLINTNEXTLINE(cert-err34-c): the kernel writes it
    if (std::fscanf(stat, "2 (%*[^)]) %*c %*d %*d %*d %*d %*d %u", &flags) != 1) flags = 0;
    std::fclose(stat);
  }
  return (flags & kKernelThread) != 0 ? "/proc/2/ns/mnt" : "/proc/1/ns/mnt";
}

// A thread is born where the one is that starts it. **Thread:** any.
class Nursery {
 public:
  Status Open(base::UniqueFd mounts, const std::function<Status()>& enter) {
    const auto entered = std::make_shared<std::promise<Status>>();
    std::thread thread = base::StartThread("host-mounts", [this, entered, enter, mounts = mounts.get()] {
      Status status = Status::Ok();
      // A mount namespace changes for a thread with a root and a folder of its own only.
      if (::unshare(CLONE_FS) != 0 || ::setns(mounts, CLONE_NEWNS) != 0) {
        status = Status::FromErrno("enter the mount namespace of the host");
      } else {
        status = enter();
      }
      const bool open = status.ok();
      if (open) spares_.Fill(kSpares);
      entered->set_value(std::move(status));
      if (open) Serve();
    });
    Status status = entered->get_future().get();
    if (!status.ok()) {
      thread.join();
      return status;
    }
    thread.detach();  // lives as long as the process
    open_ = true;
    return status;
  }

  std::thread Start(std::string name, std::function<void()> body) {
    if (!open_) return base::StartThread(std::move(name), std::move(body));
    std::packaged_task<std::thread()> birth([&] {
      spares_.Fill();
      return base::StartThread(spares_, std::move(name), std::move(body));
    });
    std::future<std::thread> born = birth.get_future();
    {
      const std::lock_guard lock(mutex_);
      births_.push_back(std::move(birth));
    }
    wanted_.notify_one();
    return born.get();
  }

 private:
  void Serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      wanted_.wait(lock, [this] { return !births_.empty(); });
      std::packaged_task<std::thread()> birth = std::move(births_.front());
      births_.pop_front();
      lock.unlock();
      birth();
      lock.lock();
    }
  }

  bool open_ = false;  // set before there are other threads
  base::SpareThreads spares_;
  std::mutex mutex_;
  std::condition_variable wanted_;
  std::deque<std::packaged_task<std::thread()>> births_;
};

// Never destroyed: its thread waits in it.
Nursery& TheNursery() {
  static Nursery& nursery = *new Nursery;
  return nursery;
}

}  // namespace

Status EnterHostMounts(const std::function<Status()>& enter) {
  const char* path = HostMounts();
  base::UniqueFd mounts(::open(path, O_RDONLY | O_CLOEXEC));
  struct stat host {};
  struct stat own {};
  if (!mounts || ::fstat(mounts.get(), &host) != 0 || ::stat("/proc/self/ns/mnt", &own) != 0) {
    return Status::FromErrno(std::string("look at ") + path);
  }
  if (host.st_ino == own.st_ino) return Status::Ok();
  return TheNursery().Open(std::move(mounts), enter);
}

std::thread StartDriverThread(std::string name, std::function<void()> body) {
  return TheNursery().Start(std::move(name), std::move(body));
}

}  // namespace profd::driver
