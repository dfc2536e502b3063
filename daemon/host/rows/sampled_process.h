// One process that is sampled, read at most once per tick for all sessions.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/host/files/proc_file.h"
#include "daemon/host/files/tick.h"
#include "daemon/host/scouts/foreign_files.h"

namespace profd::host {

// Bytes from and to storage. Signed: what is cancelled before it reaches the storage counts against whoever
// cancels.
struct IoBytes {
  int64_t read = 0;
  int64_t written = 0;

  IoBytes& operator+=(const IoBytes& other) {
    read += other.read;
    written += other.written;
    return *this;
  }
  friend IoBytes operator-(const IoBytes& a, const IoBytes& b) {
    return {.read = a.read - b.read, .written = a.written - b.written};
  }
};

using StatmPages = std::array<uint64_t, 7>;

// Identity is pid and start time, so that a reused pid is another Process.
// **Thread:** sample. **Owns:** the open files of the process and of its threads.
class Process {
 public:
  // `newborn`: forked while profd looked on, so that everything it has done so far is to be counted.
  Process(pid_t pid, const std::weak_ptr<Process>& parent, bool newborn, uint64_t tick_number,
          FdBudget& budget, ForeignFiles& files);

  // What Refresh() will read, with the next ForeignFiles::Ask(); so of the others that begin like this.
  void WantRefresh() { leader_.stat.Want(); }
  // Looks whether it lives; the other members answer for this tick once it has run.
  void Refresh(const Tick& tick);

  pid_t pid() const { return pid_; }
  pid_t parent_pid() const { return parent_pid_; }  // 0: it was not found as somebody's child
  bool alive() const { return alive_; }             // is there, perhaps as a zombie
  bool running() const { return alive_ && !exited_; }
  bool kernel_thread() const { return kernel_thread_; }
  uint64_t first_tick() const { return first_tick_; }
  const std::string& comm() const { return comm_; }
  // Something of this tick's is missing, because the kernel has not said it in time.
  bool late() const { return late_at_ == refreshed_at_; }
  // Since when it keeps those waiting who ask about it, CLOCK_REALTIME.
  std::optional<uint64_t> HangsSince() const { return files_.HangsSince(pid_); }

  // One stat line per thread. A thread that has started or ended since the last tick shows in the number of
  // threads or in a failing read; only then the list is read anew.
  void WantThreadLines();
  std::string_view ThreadLines(const Tick& tick);
  // The stat line of the whole process; empty when it cannot be read.
  void WantStatLine() { stat_.Want(); }
  std::string_view StatLine(const Tick& tick);
  // nullptr when it cannot be read.
  const StatmPages* Statm(const Tick& tick);
  // What it read and wrote since profd first looked (a newborn: since its birth), its children apart.
  // ReadIo() is false when that cannot be read; a process that has gone keeps its last totals. Read children
  // before their parent.
  void WantIo() { io_file_.Want(); }
  bool ReadIo(const Tick& tick);
  const IoBytes& io() const { return io_; }
  // Appends the pids of the children of all threads.
  void AppendChildren(std::vector<pid_t>& children, std::vector<char>& buffer);

 private:
  struct Thread {
    Thread(pid_t id, ForeignFile file, FdBudget& budget) : tid(id), stat(std::move(file)), children(budget) {}
    pid_t tid;
    ForeignFile stat;
    ProcFile children;
  };

  ForeignFile StatOf(pid_t tid) { return ForeignFile(files_, ForeignFile::Name::kStat, pid_, tid, user_); }
  // As ForeignFile::Read(), remembers what is late.
  ssize_t ReadLine(ForeignFile& file, char* buffer, size_t size);
  void MarkGone();
  // Brings `threads_` up to date; new ones stand at the end, from the position returned.
  size_t ListThreads();
  // Reads the lines of the threads from position `from` on, dropping those that have gone.
  void AppendThreadLines(size_t from);
  void AppendChildrenOf(Thread& thread, std::vector<pid_t>& children, std::vector<char>& buffer);

  const pid_t pid_;
  const std::weak_ptr<Process> parent_;
  const pid_t parent_pid_;
  const uint64_t first_tick_;
  const uid_t user_;
  FdBudget& budget_;
  ForeignFiles& files_;

  bool alive_ = true;
  bool exited_ = false;
  bool kernel_thread_ = false;
  uint64_t start_ticks_ = 0;   // 0 = not yet known
  uint64_t thread_count_ = 0;  // as the kernel says
  std::string comm_;
  uint64_t refreshed_at_ = 0;
  uint64_t late_at_ = UINT64_MAX;

  Thread leader_;
  std::string leader_line_;
  std::vector<Thread> threads_;  // all but the leader
  std::string thread_lines_;
  uint64_t thread_lines_at_ = 0;

  ForeignFile stat_;
  std::string stat_line_;
  uint64_t stat_line_at_ = 0;

  ProcFile statm_file_;
  StatmPages statm_{};
  bool statm_ok_ = false;
  uint64_t statm_at_ = 0;

  // Once a parent has waited for a child, the kernel adds the child's counters to the parent's: `inherited_`
  // is what of that was counted before, as the child's own.
  ForeignFile io_file_;
  const bool newborn_;
  IoBytes io_;
  IoBytes io_seen_;
  IoBytes inherited_;
  bool io_started_ = false;
  bool io_ok_ = false;
  uint64_t io_at_ = 0;
};

}  // namespace profd::host
