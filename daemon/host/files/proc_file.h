// Files below /proc that are read again and again.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "daemon/host/files/tick.h"

namespace profd::host {

// How many descriptors may be kept open; files beyond it are opened for every reading. Several that share
// `left` have no more each than what they leave to the others.
// **Thread:** sample.
class FdBudget {
 public:
  explicit FdBudget(size_t limit) : left_(limit) {}
  explicit FdBudget(std::atomic<size_t>& left) : left_(SIZE_MAX), shared_left_(&left) {}
  bool TryTake() {
    if (left_ == 0 || !TakeShared()) return false;
    --left_;
    ++taken_;
    return true;
  }
  void GiveBack() {
    ++left_;
    --taken_;
    if (shared_left_ != nullptr) shared_left_->fetch_add(1, std::memory_order_relaxed);
  }

 private:
  bool TakeShared() {
    if (shared_left_ == nullptr) return true;
    size_t left = shared_left_->load(std::memory_order_relaxed);
    do {
      if (left <= taken_) return false;
    } while (!shared_left_->compare_exchange_weak(left, left - 1, std::memory_order_relaxed));
    return true;
  }

  size_t left_, taken_ = 0;
  std::atomic<size_t>* const shared_left_ = nullptr;
};

// "/proc/NAME", "/proc/PID/NAME" or "/proc/PID/task/TID/NAME".
struct ProcPath {
  const char* name = "";
  pid_t pid = 0;
  pid_t tid = 0;
};

// One such file, kept open while the budget lasts. An open one belongs to its process for ever: when that has
// gone, reading fails (a list of children is empty) even though its number may be in use again.
// **Thread:** sample. **Owns:** the descriptor.
class ProcFile {
 public:
  explicit ProcFile(FdBudget& budget) : budget_(&budget) {}
  ProcFile(ProcFile&& other) noexcept = default;
  ProcFile& operator=(ProcFile&& other) noexcept;
  ProcFile(const ProcFile&) = delete;
  ProcFile& operator=(const ProcFile&) = delete;
  ~ProcFile() { Close(); }

  // Reads up to `size` bytes from the start; one system call in the steady state. -1 with errno set. For
  // files whose whole text the kernel hands out at once.
  ssize_t Read(const ProcPath& path, char* buffer, size_t size);
  // Reads to the end, growing `buffer` as needed; the view lies in it. Null data when the file cannot be
  // read.
  std::string_view ReadAll(const ProcPath& path, std::vector<char>& buffer);

 private:
  // The descriptor to read from; `opened` holds it when it is for this reading only.
  int Open(const ProcPath& path, base::UniqueFd& opened);
  void Close();

  FdBudget* budget_;
  base::UniqueFd kept_;
};

// errno of a read or open that means: the process or thread has gone.
bool MeansGone(int error);

// A file of the whole host, read at most once per tick for all sessions.
// **Thread:** sample. **Owns:** the text of the last reading.
class HostFile {
 public:
  HostFile(const char* name, FdBudget& budget) : name_(name), file_(budget), buffer_(4096) {}

  // Empty when it cannot be read. Valid until the next tick.
  std::string_view Text(const Tick& tick);

 private:
  const char* name_;
  ProcFile file_;
  std::vector<char> buffer_;
  std::string_view text_;
  uint64_t read_at_ = 0;
};

// The files that probes of several sessions share.
struct HostFiles {
  explicit HostFiles(FdBudget& budget)
      : uptime("uptime", budget),
        stat("stat", budget),
        meminfo("meminfo", budget),
        net_dev("1/net/dev", budget),  // the unit gives profd a network of its own
        loadavg("loadavg", budget) {}

  HostFile uptime;
  HostFile stat;
  HostFile meminfo;
  HostFile net_dev;
  HostFile loadavg;
};

}  // namespace profd::host
