// The words of a session: what is asked, what came of it. Plain data, shared by plan, session, manager and
// rpc.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/agent/peer.h"
#include "daemon/auth/output_dir.h"
#include "daemon/fabric/options.h"
#include "daemon/store/spool/on_full.h"
#include "format/kind.h"

namespace profd::session {

// "hbm", "llc:write=50Hz": one kind, its mode where it has one, the rate in Hz (0 = the kind's default).
struct KindRequest {
  format::Kind kind = format::Kind::kHbm;
  std::string mode;
  double hz = 0;
  bool by_default = false;  // nobody asked for it by name
};

// When a flight recorder writes what a process that ends has in memory.
enum class SnapshotOn : uint8_t { kAsked, kExit, kCrash };

// What a flight recorder keeps of these kinds alone.
struct MemoryBuffer {
  std::vector<format::Kind> kinds;
  uint64_t bytes = 0;
  bool keeps_first = false;  // not the newest
};

struct SessionSpec {
  std::vector<KindRequest> kinds;
  std::string preset;  // node memory network host all; empty = none
  std::vector<pid_t> pids;
  bool agents_expected = false;  // they are about to execute programs with an agent
  bool all_agents = false;       // every registered process that the caller may record …
  std::map<std::string, std::string>
      agent_labels;                        // … and those with these labels; "0-7" is a range of numbers
  agent::StepSchedule steps;               // which steps of a training loop are recorded
  fabric::Options framework_options = {};  // of windows of programs without an agent
  agent::DomainFilter agent_domains = {};  // whose marks and ranges are recorded
  bool flight_recorder = false;  // the newest data stays in memory until a snapshot writes it out …
  std::vector<format::Kind> flight_recorder_kinds;  // … of these kinds; empty: of all
  std::vector<MemoryBuffer> buffers = {};           // parts of its memory
  SnapshotOn snapshot_on = SnapshotOn::kAsked;
  store::OnFull on_full = store::OnFull::kAge;
  bool resume = false;  // goes on in a new, linked directory after a restart of profd
  bool all_devices = false;
  std::vector<uint32_t> devices;
  uint64_t duration_ns = 0;  // 0 = config session.default_duration
  uint64_t delay_ns = 0;
  uint64_t at_wall_ns = 0;           // when the delay is over, wherever it was counted from; 0 = by delay_ns
  uint64_t storage_limit_bytes = 0;  // 0 = none
  std::string name;
  std::map<std::string, std::string> labels;
  std::string output;                           // text of --output for messages; the descriptor counts
  std::shared_ptr<auth::PassedDir> output_dir;  // through the door, nothing of it is proven; none = spool
  uint64_t wait_ns = 0;                         // for what others hold; then all of it or nothing
  std::function<bool()> abandoned = {};         // nobody waits any more; may be empty
  bool plan_only = false;                       // only says what would be collected, and how much that makes
};

inline constexpr char kNotRegistered[] =
    "its agent has not registered yet; it cannot get into static and setuid programs";

// What may be had later: somebody else has it now.
inline bool IsHeld(base::Code code) {
  return code == base::Code::kAborted || code == base::Code::kAlreadyExists ||
         code == base::Code::kResourceExhausted;
}

enum class Verdict : uint8_t { kStarted, kPending, kSkipped, kFailed };
enum class State : uint8_t { kPending, kArmed, kRunning, kStopping, kSealed, kFailed };
enum class EndReason : uint8_t {
  kNone,
  kStopped,
  kDuration,
  kTargetExit,
  kDaemonStop,
  kFailed,
  kInterrupted,
  kSteps,
  kDisk,
  kLease
};

const char* VerdictName(Verdict verdict);     // "started"
const char* StateName(State state);           // "running"
const char* EndReasonName(EndReason reason);  // "target_exit"; "" for kNone

// One kind on one unit ("host", "device:0", "pid:42").
struct KindState {
  format::Kind kind = format::Kind::kHbm;
  std::string unit;
  double requested_hz = 0;  // 0 = event driven or no rate
  double effective_hz = 0;
  Verdict verdict = Verdict::kSkipped;
  std::string reason;
  uint64_t bytes = 0;         // stored
  uint64_t records = 0;       // stored
  uint64_t lost = 0;          // records
  double bytes_per_s = 0;     // what it was expected to make; 0: nobody can know before
  uint32_t record_bytes = 0;  // … then what a record takes, about
  bool in_memory = false;     // of a flight recorder: until somebody asks for it …
  uint32_t buffer = 0;        // … in SessionSpec::buffers, from 1; 0: in what is left for all
};

// What disturbed the figures (format::ManifestPerturbation), in time since the session's begin.
struct Perturbation {
  std::string kind, text;
  uint64_t from_ns = 0, to_ns = 0;  // to 0: it lasts
};

// A time in which nothing was stored, since the session's begin; to 0: it lasts.
struct Pause {
  uint64_t from_ns = 0, to_ns = 0;
  std::string reason;
};

// What a program's own profiler records, as v1::Window says it.
struct Window {
  pid_t pid = 0;
  std::string door, client, state, text, path;
};

struct SessionInfo {
  std::string id;
  std::string name;
  std::map<std::string, std::string> labels;
  uid_t uid = 0;
  std::string user;
  std::string directory;                 // of the newest directory of the session
  std::vector<std::string> directories;  // all of them, oldest first (a long session rolls)
  State state = State::kPending;
  EndReason end_reason = EndReason::kNone;
  std::string error;                  // why failed
  std::vector<std::string> degraded;  // reasons, empty = whole
  std::vector<pid_t> pids;
  std::vector<uint32_t> devices;
  uint64_t start_wall_ns = 0;
  uint64_t elapsed_ns = 0;
  uint64_t duration_ns = 0;
  uint64_t storage_limit_bytes = 0;
  uint64_t bytes = 0;  // ever stored
  uint64_t lost = 0;
  uint64_t used_bytes = 0;  // what all its files take on disk
  uint64_t aged_bytes = 0;  // of `bytes`, removed again to keep within the limit
  uint64_t aged_records = 0;
  uint64_t window_ns = 0;             // what is on disk covers the last so many; 0 = not known
  uint64_t held_bytes = 0;            // of a flight recorder, in memory …
  uint64_t held_ns = 0;               // … which begins so long ago
  bool pinned = false;                // never removed for room
  std::vector<std::string> warnings;  // of what may become a loss
  std::string paused;                 // why nothing is stored at the moment
  std::vector<Perturbation> perturbations;
  std::vector<Pause> pauses;
  std::vector<KindState> kinds;
  std::vector<Window> windows;
};

// What sessions have stored and lost, by what it is of.
struct Totals {
  enum Source : uint8_t { kDevice, kHost, kAgent };
  std::array<uint64_t, 3> bytes{}, lost{};
  void Add(const SessionInfo& info);
};

// A directory in the spool that nothing is written to any more.
struct StoredTrace {
  std::string spool, user, name;
};

}  // namespace profd::session
