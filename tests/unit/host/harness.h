// What the tests of this folder share: a process that does as told, a writer that keeps everything, files as
// they would lie on the disk.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/threads/wake_up.h"
#include "base/unique_fd.h"
#include "daemon/chunk/pipe.h"
#include "daemon/host/sampler.h"

namespace profd::host {

// The worker of worker.cc.
class Worker {
 public:
  Worker();
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  pid_t pid() const { return pid_; }
  // Returns when it has answered and sleeps again.
  std::string Tell(const std::string& command);
  pid_t TellForPid(const std::string& command) { return static_cast<pid_t>(std::stol(Tell(command))); }
  // Kills it and waits.
  void End();

 private:
  pid_t pid_ = 0;
  base::UniqueFd to_;
  base::UniqueFd from_;
};

// Stands in for ctl: closures posted from any thread run in RunPosted().
class FakeCtl {
 public:
  Post MakePost() {
    return [this](std::function<void()> closure) {
      const std::lock_guard lock(mutex_);
      posted_.push_back(std::move(closure));
    };
  }
  void RunPosted();

 private:
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
};

struct StoredFile {
  std::string folder;
  std::string name;
  std::string text;
  uint64_t records = 0;  // by the chunk headers
  uint64_t chunks = 0;
  std::vector<format::Loss> losses;
};

// Reads a pipe as the writer does and holds it to the rules of the road: files are announced before their
// data, chunks are numbered without gaps and end with a whole line, nothing follows the end mark. Broken
// rules are test failures.
class FakeWriter {
 public:
  FakeWriter(size_t chunk_bytes, size_t chunks) : pipe_("test", chunk_bytes, chunks, bell_) {}

  chunk::Pipe& pipe() { return pipe_; }
  void Drain();
  bool Ended(uint32_t trace) const { return ended_.contains(trace); }
  // Makes the numbers of all sessions new again.
  void Forget() {
    files_.clear();
    ended_.clear();
  }
  // nullptr when there is none.
  const StoredFile* File(uint32_t trace, const std::string& name) const;
  std::string Text(uint32_t trace, const std::string& name) const;
  std::vector<std::string> Names(uint32_t trace) const;

  // For SampleRequest::make_spec.
  static std::shared_ptr<const chunk::StreamSpec> MakeSpec(const std::string& folder, const std::string& file,
                                                           const chunk::StreamStatsPtr& stats);

 private:
  base::WakeUp bell_;
  chunk::Pipe pipe_;
  std::map<std::pair<uint32_t, uint32_t>, StoredFile> files_;
  std::set<uint32_t> ended_;
};

// A sampler between the two.
class SamplerRig {
 public:
  explicit SamplerRig(size_t chunk_bytes = 1u << 20, size_t chunks = 64)
      : writer(chunk_bytes, chunks), sampler(ctl.MakePost()) {}

  // `kinds`: "host-cpu@50". Fails the test when the sampler refuses.
  void Start(uint32_t trace, const std::vector<std::string>& kinds, std::vector<pid_t> pids);
  SampleRequest Request(uint32_t trace, const std::vector<std::string>& kinds, std::vector<pid_t> pids);
  base::Status TryStart(SampleRequest request);
  // Until stopped and everything is drained; the end mark must have come.
  void Stop(uint32_t trace);
  // Drains until `condition` holds; a test failure when it does not within a minute.
  void Until(const std::string& what, const std::function<bool()>& condition);
  chunk::StreamStats& Stats(uint32_t trace, const std::string& kind) { return *stats[{trace, kind}]; }

  FakeCtl ctl;
  FakeWriter writer;
  std::map<std::pair<uint32_t, std::string>, chunk::StreamStatsPtr> stats;
  Sampler sampler;
};

std::vector<std::string> Lines(const std::string& text);
std::vector<std::string> Words(const std::string& line);

// host_cpu.data.
struct CpuBlock {
  uint64_t time_ns = 0;
  std::string uptime;
  std::map<pid_t, std::vector<std::string>> threads;  // fields of the stat line by tid
};
std::vector<CpuBlock> ParseCpuBlocks(const std::string& text);

// The files with TimeStamp/Index/DataLen blocks.
struct Block {
  uint64_t time_ns = 0;
  uint64_t index = 0;
  std::string body;
};
std::vector<Block> ParseBlocks(const std::string& text);

// bytes written by /proc/PID/io, less the cancelled ones.
int64_t WrittenBytes(pid_t pid);
std::string ReadFile(const std::string& path);

}  // namespace profd::host
