// The processes of one session: its targets with all their descendants, or the whole host.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "daemon/host/files/proc_file.h"
#include "daemon/host/files/tick.h"
#include "daemon/host/rows/sampled_process.h"

namespace profd::host {

// Every process that some session samples, once.
// **Thread:** sample.
class ProcessTable {
 public:
  ProcessTable(FdBudget& budget, ForeignFiles& files) : budget_(budget), files_(files) {}

  // nullptr when there is no such process.
  std::shared_ptr<Process> Get(pid_t pid, const std::shared_ptr<Process>& parent, bool newborn,
                               const Tick& tick);
  // That process if it is known already, else a new one, of which nothing is known yet.
  std::shared_ptr<Process> Find(pid_t pid, const std::shared_ptr<Process>& parent, bool newborn,
                                const Tick& tick);
  ForeignFiles& files() { return files_; }

 private:
  static constexpr size_t kMinPruneAt = 64;

  std::shared_ptr<Process> Make(pid_t pid, const std::shared_ptr<Process>& parent, bool newborn,
                                const Tick& tick);

  FdBudget& budget_;
  ForeignFiles& files_;
  std::unordered_map<pid_t, std::weak_ptr<Process>> processes_;
  size_t prune_at_ = kMinPruneAt;  // entries of processes that have gone are dropped at this size
};

// **Thread:** sample. **Owns:** its share of the processes.
class Family {
 public:
  // Empty `targets`: all processes of the host, kernel threads apart.
  Family(const std::vector<pid_t>& targets, ProcessTable& table, HostFiles& files, const Tick& tick);

  // What Update() will read.
  void WantUpdate();
  // Drops who has gone and takes in who has come. A child is known within one tick of its birth (two when it
  // was just being born) and stays known when its parent goes. The search for children costs a read per
  // thread, so it is made only when the kernel has given out a pid since the last one; who chooses a pid
  // (clone3) is found with the next.
  void Update(const Tick& tick);

  // Parents stand before their children.
  const std::vector<std::shared_ptr<Process>>& members() const { return members_; }
  size_t running() const { return running_; }

 private:
  std::shared_ptr<Process> Add(pid_t pid, const std::shared_ptr<Process>& parent, bool newborn,
                               const Tick& tick);
  void CountRunning();
  bool PidsGivenOut(const Tick& tick);
  void TakeInChildren(bool newborn, const Tick& tick);
  void TakeInAll(bool newborn, const Tick& tick);

  ProcessTable& table_;
  HostFiles& files_;
  const bool whole_host_;
  std::vector<std::shared_ptr<Process>> members_;
  std::unordered_set<pid_t> pids_;     // of the members
  std::unordered_set<pid_t> ignored_;  // kernel threads
  size_t running_ = 0;
  uint64_t last_pid_ = 0;
  int searches_left_ = 0;
  std::vector<pid_t> found_;
  std::vector<char> buffer_;
};

}  // namespace profd::host
