// The writers: one per file system in use, each with a pipe from every source thread. A writer stays for some
// seconds after the last trace that held it, since who starts one session often starts the next: an idle
// daemon has neither its thread nor its buffers.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/executor.h"
#include "daemon/chunk/ledger.h"
#include "daemon/config/config.h"
#include "daemon/store/trace_writer.h"

namespace profd::session {

struct Writer {
  enum class Source : uint8_t { kPump, kSampler, kDrain };
  // Every pipe that there is, with what fills it.
  void ForEachPipe(const std::function<void(Source, chunk::Pipe&)>& use) const;

  std::unique_ptr<store::TraceWriter> thread;
  std::vector<chunk::Pipe*> pumps;     // by pump number
  std::vector<chunk::Pipe*> samplers;  // by the sampler's thread; nullptr: nothing has come of it
  chunk::Pipe* drain = nullptr;        // of agents
};

// How full the way from one source to the disks is, over all file systems.
struct QueueLoad {
  std::string source;  // pump sample drain
  size_t chunks = 0, room = 0;
  uint64_t bytes = 0;
};

// **Thread:** ctl only.
class Writers {
 public:
  Writers(base::Executor& ctl, base::Timers& timers, const config::Config& config);

  // Users choose the file systems of --output, and some of those take nothing: what waits for them shares
  // what others leave. The spool's is not theirs.
  enum class Of : uint8_t { kSpool, kOutput };
  std::shared_ptr<Writer> For(dev_t file_system, Of of, size_t pump_count);
  chunk::Pipe& SamplerPipe(Writer& writer, size_t thread);
  std::vector<QueueLoad> Loads() const;
  // What this user's flight recorders may have in memory.
  std::shared_ptr<chunk::Account> RecorderAccount(uid_t user);

 private:
  struct Entry {
    std::shared_ptr<Writer> writer;
    bool of_spool = false;
    bool unused = false;  // at the last look
  };

  std::shared_ptr<Writer> Make();
  chunk::Pipe& AddPipe(Writer& writer, const std::string& name, uint64_t chunk_bytes, uint64_t chunks);
  void LookForUnused();
  void LetGoOfUnused();

  base::Executor& ctl_;
  base::Timers& timers_;
  const config::Config& config_;
  const std::shared_ptr<chunk::Ledger> waiting_, recorders_;
  std::map<uid_t, std::weak_ptr<chunk::Account>> recorder_accounts_;
  std::map<dev_t, Entry> writers_;
  bool looking_ = false;
  uint64_t most_taken_ = 0;  // of both ledgers, since the allocator last gave back what it keeps
};

}  // namespace profd::session
