// What samples one kind for one session.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/status.h"
#include "daemon/chunk/stream_stats.h"
#include "daemon/host/files/proc_file.h"
#include "daemon/host/files/sys_tree.h"
#include "daemon/host/files/tick.h"
#include "daemon/host/rows/family.h"
#include "daemon/host/rows/row_stream.h"

namespace profd::host {

// What the probes of one session work with.
struct ProbeContext {
  HostFiles& files;
  Output& output;
  Family* family;  // nullptr: no probe of the session looks at processes
  const std::vector<pid_t>& targets;
  const SysTree& tree;
  FdBudget& budget;
};

// **Thread:** sample.
class Probe {
 public:
  virtual ~Probe() = default;
  // Whether it is known what came of its start, and told in its outcome. Asked again soon; others do not
  // wait.
  virtual bool MayBegin(const Tick&) { return true; }
  // Before Sample(): wants what it will read of the processes that are known, so that one question is enough
  // for all of them.
  virtual void Want() {}
  virtual void Sample(const Tick& tick) = 0;
  // `count` deadlines since `from_raw_ns` had passed before the work of this tick began; called before
  // Sample().
  virtual void Miss(const Tick& tick, uint64_t from_raw_ns, uint64_t count) = 0;
  // The session ends. False: what it looks with has not come to its end yet, and it is asked again soon;
  // others do not wait for it.
  virtual bool MayFinish() { return true; }
  // Then: last lines.
  virtual void Finish(const Tick&) {}
};

// A file per process, opened when the process has lived through a tick, so that a burst of short-lived
// children does not leave a file each. A process that gets the number of an earlier one goes on in its file.
// **Thread:** sample.
class ProcessStreams {
 public:
  static constexpr size_t kMaxFiles = 1024;

  ProcessStreams(Output& output, std::string folder, std::string suffix, chunk::StreamStatsPtr stats)
      : output_(output), folder_(std::move(folder)), suffix_(std::move(suffix)), stats_(std::move(stats)) {}

  // nullptr: none yet, or none any more because there are too many; the latter counts as a lost row.
  RowStream* Of(const Process& process, const Tick& tick);
  void Miss(const Family& family, const Tick& tick, uint64_t from_raw_ns, uint64_t count);

 private:
  Output& output_;
  const std::string folder_;
  const std::string suffix_;
  const chunk::StreamStatsPtr stats_;
  std::unordered_map<pid_t, RowStream*> streams_;
  RowStream* first_ = nullptr;  // carries the losses of those that got no file
};

// The kinds that the session asked for, as far as one probe's files depend on another's.
struct ProbeOptions {
  std::string kind;
  chunk::StreamStatsPtr stats;
  uint32_t hz = 0;
  std::shared_ptr<ProbeOutcome> outcome = {};  // may be empty
  std::function<void(const std::string&)> trouble = {};
  bool per_process_elsewhere = false;  // host-pid-cpu beside host-cpu, host-pid-mem beside host-mem
};

bool KnownKind(const std::string& kind);
uint32_t KindMaxHz(const std::string& kind);  // 0: it has no rate
// How often its probe runs at a rate of `hz`: that, unless the kernel gathers by itself.
uint32_t KindTickHz(const std::string& kind, uint32_t hz);
bool KindNeedsTargets(const std::string& kind);
bool KindReadsProcesses(const std::string& kind);  // has the family of the targets
// Of those, the ones that have nothing of a process that hangs while it executes a program.
bool KindReadsForeignFiles(const std::string& kind);
std::unique_ptr<Probe> MakeProbe(const ProbeOptions& options, const ProbeContext& context);

}  // namespace profd::host
