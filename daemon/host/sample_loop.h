// The work of the thread "sample".
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/threads/wake_up.h"
#include "daemon/base/mailbox.h"
#include "daemon/host/files/sys_tree.h"
#include "daemon/host/files/tick.h"
#include "daemon/host/probes/probe.h"
#include "daemon/host/reading.h"
#include "daemon/host/rows/family.h"
#include "daemon/host/rows/row_stream.h"
#include "daemon/host/sampler.h"

namespace profd::host {

// What ctl asks of the thread, in order.
struct SampleCommand {
  enum class What : uint8_t { kStart, kStop, kRead, kQuit };

  SampleCommand(What is, std::function<void()> then) : what(is), done(std::move(then)) {}

  const What what;
  std::function<void()> done;  // runs on the thread
  SampleRequest request;       // kStart
  uint32_t trace = 0;          // kStop
  ReadingRequest reading_request;
  std::shared_ptr<HostReading> reading;  // kRead
};

// Shared by ctl and the thread.
struct SampleMailbox {
  base::Mailbox<std::unique_ptr<SampleCommand>> commands;
  base::WakeUp bell;
  std::atomic<uint64_t> ticks{0};
  std::atomic<uint64_t> missed_ticks{0};
  std::atomic<uint64_t> max_late_ns{0};
  std::atomic<uint32_t> one_in{1};  // samples that are taken
};

// All probes with one rate tick at the same instants, and those of a slower one at every n-th of them where
// the rates allow: deadline i of a rate is i / rate on CLOCK_MONOTONIC.
// **Thread:** sample. **Owns:** all recordings and every open file below /proc.
class SampleLoop {
 public:
  explicit SampleLoop(SampleMailbox& mailbox);
  void Run();

 private:
  struct Scheduled {
    std::unique_ptr<Probe> probe;
    uint32_t hz = 0;
    uint64_t next_index = 0;
    uint64_t last_raw_ns = 0;  // of the latest sample, or of the start
    // Empty where none of its processes can keep it waiting.
    std::function<void(pid_t pid, const std::string& why)> hangs = {};
  };
  // One session.
  struct Recording {
    explicit Recording(const SampleRequest& request)
        : trace(request.trace), output(request), targets(request.pids) {}
    const uint32_t trace;
    Output output;
    const std::vector<pid_t> targets;
    std::unique_ptr<Family> family;
    std::vector<Scheduled> probes;
    std::set<pid_t> said_to_hang;
    std::function<void()> started;  // set until all probes know what came of their start
    std::function<void()>
        stopped;  // set while probes come to their end and it waits for room to say its last
  };

  Tick BeginTick();
  bool HandleCommands();  // false: quit
  void Start(const SampleRequest& request, std::function<void()> done);
  bool FinishStarts();  // false: some are not known yet, try again soon
  void Stop(uint32_t trace, std::function<void()> done);
  bool FinishProbes(Recording& recording, const Tick& tick);
  bool FinishStopped();  // false: some could not say all, try again soon
  void RunTick(uint64_t deadline_ns);
  bool Due(const Scheduled& scheduled, const Tick& tick) const;
  void Want(const Recording& recording, const Tick& tick);
  void Sample(Recording& recording, const Tick& tick, uint64_t* missed);
  uint64_t DueIndex(const Scheduled& scheduled) const;
  uint64_t NextDeadline() const;
  uint64_t DeadlineAfter(uint64_t mono_ns) const;
  void TellOfHanging(Recording& recording) const;
  bool EndTick(uint64_t next_deadline_ns);  // false: some rows could not go, try again soon

  SampleMailbox& mailbox_;
  FdBudget budget_;
  const SysTree tree_;
  ForeignFiles foreign_;
  HostFiles files_;
  HostReader reader_;
  ProcessTable processes_;
  std::vector<std::unique_ptr<Recording>> recordings_;
  std::vector<chunk::Pipe*> kicked_;
  uint64_t tick_number_ = 0;
};

}  // namespace profd::host
