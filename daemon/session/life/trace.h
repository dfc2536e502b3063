// One PROF directory while it is written: opens it, starts the sources of a plan into it, stops them, seals
// it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "daemon/agent/drain.h"
#include "daemon/agent/registry.h"
#include "daemon/auth/policy.h"
#include "daemon/base/aside.h"
#include "daemon/base/executor.h"
#include "daemon/config/config.h"
#include "daemon/fabric/clients.h"
#include "daemon/host/sampler.h"
#include "daemon/session/life/control_files.h"
#include "daemon/session/life/recordings/recordings.h"
#include "daemon/session/life/recordings/writers.h"
#include "daemon/session/node/node.h"
#include "daemon/session/node/perturbations.h"
#include "daemon/session/node/troubles.h"
#include "daemon/session/plan/plan.h"
#include "daemon/session/plan/types.h"
#include "format/directory/manifest.h"
#include "format/directory/prof_dir.h"

namespace profd::session {

// What traces share; outlives them all.
struct Services {
  base::Executor& ctl;
  base::Timers& timers;
  const config::Config& config;
  Node& node;
  Writers& writers;
  host::Sampler& sampler;
  agent::Registry& agents;
  agent::Drain& drain;
  base::Aside& aside;
  fabric::Clients& fabric;
};

// What a trace is told by its session.
struct TraceSetup {
  uint32_t id = 0;   // unique in this process
  uint32_t seq = 1;  // first number of the directory's name
  std::shared_ptr<const Plan> plan;
  auth::Caller owner;
  gid_t gid = 0;
  std::string holder;       // "session 3f2a91c0 of alice"
  base::UniqueFd parent;    // open directory
  std::string parent_path;  // its text, for people
  dev_t file_system = 0;    // that it is on
  bool in_spool = false;
  format::Target target;
  std::vector<pid_t> pids;
  std::shared_ptr<store::Budget> budget;         // of the session, for all its directories
  std::shared_ptr<store::RecentChunks> recent;   // … a flight recorder's memory; else null
  std::shared_ptr<Recordings> recordings;        // of the session, null without agents
  std::shared_ptr<Perturbations> perturbations;  // of the session
  uint64_t begin_raw_ns = 0;                     // of the session
  bool all_or_nothing = false;                   // what others hold is a refusal of the whole
  format::Manifest manifest;                     // what the session knows; the trace fills in the rest
};

// **Thread:** ctl only; callbacks run on ctl, never from inside the call.
class Trace : public std::enable_shared_from_this<Trace> {
 public:
  Trace(Services services, TraceSetup setup);
  ~Trace();

  // Arm() and Fire() as one: the sources start while the directory is being made, and what they deliver
  // waits.
  void Begin(std::function<void(base::Status)> done);
  // Pairs the clocks and writes the directory with all control files. On error nothing is left on disk.
  void Arm(std::function<void(base::Status)> done);
  // After a delay: the clocks of the start once more, into the start files.
  void Restamp(std::function<void()> done);
  // Starts every source. Ok when at least one kind runs or is pending; else the first reason, and the
  // directory is removed again.
  void Fire(std::function<void(base::Status)> done);
  // Stops the sources, writes what they still hold, closes the slices, writes the final control files.
  // With a storage limit or a flight recorder's memory, and EndReason::kNone for a session that goes on, the
  // slices stay open to ageing, and to WriteRecent(), until Close().
  void Seal(EndReason reason, const std::vector<std::string>& degraded, std::function<void()> done);
  // What has aged since Seal(), into the manifest. `done` is told whether more can, or is in memory.
  void RefreshAged(std::function<void(bool more)> done);
  void Close(std::function<void()> done);
  // A trace that was armed and never fired.
  void Discard(std::function<void()> done);

  // Host and device clocks once more, and what disturbs the session, into the manifest.
  void PairClocks(std::function<void()> done);
  // Nothing is stored from `at_ns` on, and nothing lost, or it goes on.
  void Pause(bool paused, uint64_t at_ns, std::function<void()> done);
  const std::vector<format::ManifestPause>& pauses() const { return setup_.manifest.pauses; }
  // Of a flight recorder, also after Seal(): … and what is in memory, of `from_ns` (host raw) and later.
  void WriteRecent(uint64_t from_ns, std::function<void()> done);
  // … all of it with Seal().
  void WriteRecentAtSeal();
  // Brings the manifest on disk up to date (counts, losses, verdicts).
  void RefreshManifest(const std::vector<std::string>& degraded);
  // When the session began.
  void SetBegin(uint64_t wall_ns, uint64_t raw_ns) {
    setup_.manifest.begin_wall_ns = wall_ns;
    setup_.begin_raw_ns = raw_ns;
  }
  // Of the session, up to the end of this directory.
  uint64_t elapsed_ns() const;
  // The first of its processes has become another program.
  void NoteTargetName(const std::string& name);
  void NotePidEnd(pid_t pid, const std::string& why) { setup_.manifest.pid_end[pid] = why; }
  void NoteSetting(const std::string& key, const std::string& value) {
    setup_.manifest.settings[key] = value;
  }
  void SetRemoved(std::vector<std::string> names) { setup_.manifest.removed = std::move(names); }
  void SetNext(const Trace& next) {
    setup_.manifest.next = next.name();
    next_id_ = next.id();
  }

  uint32_t id() const { return setup_.id; }
  const std::string& name() const { return name_; }
  std::string directory() const { return setup_.parent_path + "/" + name_; }
  // With live counters.
  std::vector<KindState> Kinds() const;
  uint64_t stored_bytes() const;
  // Reasons that came up while running (stuck channels, lost devices, write errors).
  std::vector<std::string> troubles() const;

 private:
  struct DeviceFile {
    DeviceFileStart start;
    chunk::StreamStatsPtr stats;
  };
  struct Channel {
    ChannelStart start;
    format::StreamKey key;
    chunk::StreamStatsPtr stats;
    std::vector<DeviceFile> files;  // where it brings pieces of these
    bool has_stream = false;        // the writer knows the key
    bool starting = false;          // the hub has been asked, and has not answered
    std::vector<std::function<void()>> on_answer;
    bool subscribed = false;  // the hub knows the key
    bool leaving = false;     // … until it has stopped it
    std::vector<std::function<void()>> on_left;
    Verdict verdict = Verdict::kFailed;
    std::string reason;
    double effective_hz = 0;
    device::StampShift shift;
  };
  struct HostKind {
    HostStart start;
    chunk::StreamStatsPtr stats;
  };

  // Keys of streams: channels, what the host is asked for, then these by channel, then what agents record.
  static constexpr uint32_t kFirstDeviceFile = 1u << 16;

  // Asks every device of `devices` for its clocks; `each` gets the answer, then `done` is called.
  using PairResult = base::Result<format::ClockPair>;
  void AskClocks(const std::vector<uint32_t>& devices,
                 const std::function<void(uint32_t, const PairResult&)>& each, std::function<void()> done,
                 bool ends);
  // Of the devices. `ends`: waits no longer than for a stop.
  void ReadClocks(std::function<void()> done, bool ends);
  void ReadStartClocks(std::function<void(base::Status)> done);
  void TakeWriter();
  void OpenDirectory(std::function<void(base::Status)> done);
  void StartSources(std::function<void()> done);
  void OnSourcesStarted(std::function<void(base::Status)> done);
  std::vector<store::ControlFile> StartFiles() const;
  ControlInput Input() const;
  format::Manifest WholeManifest() const;
  static store::ControlFile FileOf(const format::Manifest& manifest);
  bool IsLog(const Channel& channel) const;  // of tasks
  void StartChannel(Channel& channel, std::function<void()> done);
  std::shared_ptr<const device::FileSinks> SinksOf(const Channel& channel) const;
  void StartHost(std::function<void()> done);
  void StopChannel(Channel& channel, std::function<void()> done);
  void StartAgents(std::function<void()> done);
  void JudgeAgents();
  void MakeWay(pid_t target, std::function<void()> go_on);
  void TakeBack(pid_t target);
  bool HasGivenWay(const Channel& channel) const;
  void OnChannelEvent(size_t index, const device::ChannelEvent& event);
  void OnHostTrouble(size_t kind_index, const std::string& what);
  double EffectiveHz(const Channel& channel, uint32_t running_period_ms) const;
  void Settle();  // channel verdicts → kind verdicts
  void StopSources(std::function<void()> done);
  void EndSources();
  void WriteEnd(const store::TraceRecord& record, std::function<void()> done);
  void TakeRecord(const store::TraceRecord& record);
  void TakeAged(const store::TraceRecord& record);
  void CloseFiles(std::function<void()> done);
  void Trouble(const std::string& what);
  void TroubleOf(const Channel& channel, const std::string& what);

  Services services_;
  TraceSetup setup_;
  std::string name_;
  std::shared_ptr<Writer> writer_;
  std::vector<KindState> progress_;  // what became of the plan's kinds, in its order
  std::vector<Channel> channels_;
  std::vector<HostKind> host_kinds_;
  bool host_running_ = false;
  bool opening_ = false;  // the writer was told to make the directory
  format::HostFacts host_facts_;
  format::ClockPair host_start_;
  std::map<uint32_t, format::ClockPair> device_start_;
  std::set<uint32_t> silent_;     // devices that did not tell their clocks when last asked
  std::set<pid_t> made_way_for_;  // targets whose agents need the task log's channels
  base::Status refused_;          // why the first source that could not be started was not
  base::Status held_;             // the first of them that may be had later
  Troubles troubles_;
  format::Manifest sealed_;                           // the last one, once sealed
  uint64_t sources_from_ns_ = 0, sources_to_ns_ = 0;  // raw; 0: not yet
  std::optional<uint32_t> next_id_;                   // the trace that it goes on in
  uint64_t end_raw_ns_ = 0;                           // when all was stored
};

}  // namespace profd::session
