// One registered process: who it is, its lanes, the commands it is given.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "daemon/agent/lanes/region.h"
#include "format/kind.h"

namespace profd::agent {

// proto/profd/v1/agent.proto in plain structs.
// From the step numbered `from_step`, after `skip_first` steps, cycles of `wait` + `warmup` unrecorded and
// `active` recorded ones.
struct StepSchedule {
  uint64_t skip_first = 0, wait = 0, warmup = 0;
  uint64_t active = 0;  // 0: no schedule
  uint64_t repeat = 0;  // 0: until stopped
  uint64_t from_step = 0;
  bool skip_first_wait = false;  // the first cycle does not wait
  uint64_t round_up = 0;         // the first step is a multiple of it
};
inline constexpr char kDefaultDomain[] = "default";
// Marks and ranges of these domains, or of all but these; "default" is the one without a name.
struct DomainFilter {
  std::vector<std::string> names;  // none: all domains
  bool exclude = false;
};
// What the calls of agent-api are of; the first is bit 0 (v1::CallLevels).
inline constexpr std::string_view kCallLevels[] = {"acl", "node", "runtime"};
// How much CANN's modules are told to report; a later one is more.
enum class Reported : uint8_t { kNothing, kTasks, kOperators, kAttributes };
struct Arm {
  std::vector<format::Kind> kinds;
  bool flight_recorder = false;
  StepSchedule steps;
  DomainFilter domains;
  bool fire = false;          // and begin at once: one Ack for both
  bool announce = false;      // what needs CANN waits for AddKinds, even where CANN is loaded
  bool device_marks = false;  // beside MSPTI's kinds, when marks and ranges on a stream ran on its device
  uint32_t call_levels = 0;   // of agent-api: kCallLevels, by bit; 0 = all
  Reported reports = Reported::kNothing;  // else kinds of MSPTI are what CANN's modules report
};
// … of the recording, that could not be had when it was armed.
struct AddKinds {
  std::vector<format::Kind> kinds;
};
struct Fire {
  uint64_t at_raw_ns = 0;  // 0: now
};
struct StopRecording {};
struct PairClocks {};
// What can be recorded as things are now: Peer::hello() has it before the Ack.
struct Describe {};
using Action = std::variant<Arm, Fire, StopRecording, PairClocks, AddKinds, Describe>;

struct Command {
  uint64_t id = 0;
  Action action;
};
// A kind that was asked for and cannot be had.
struct Missing {
  format::Kind kind = format::Kind::kAgentRange;
  std::string why;
  bool later = false;  // it may still come

  bool operator==(const Missing&) const = default;
};
struct Ack {
  uint64_t command_id = 0;
  base::Status status;
  std::vector<Missing> missing{};
  uint64_t ticks = 0;
  uint64_t slots = 0, lost = 0, lost_without_lane = 0;  // totals of the region since it was attached
  uint64_t missed_ns = 0;  // of AddKinds: how long the kinds could have been there, at most
};
struct StepWindow {
  uint64_t cycle = 0, step = 0, ticks = 0;
  bool opened = false, last = false;
};

struct Capability {
  std::string kind;
  bool available = false;
  std::string reason;
  bool later = false;  // not yet
};
// What a process says of itself; lengths and counts are bounded where it is decoded.
struct Hello {
  std::string agent_version;
  uint32_t protocol = 0;
  uint32_t pid = 0, parent_pid = 0;  // innermost pid namespace
  bool forked = false;
  uint64_t start_time_ticks = 0;
  std::string executable;
  std::vector<std::string> command_line;
  std::map<std::string, std::string> labels;
  std::vector<uint32_t> devices;
  std::vector<Capability> capabilities;
};
// The kernel's word, through the door.
struct Identity {
  pid_t pid = 0;  // profd's pid namespace
  uid_t uid = 0;
  gid_t gid = 0;
  std::string user;
};

// The stream to the process. **Thread:** ctl; implemented by rpc.
class Link {
 public:
  virtual ~Link() = default;
  virtual void Send(const Command& command) = 0;
  virtual void Close(const base::Status& why) = 0;
};

// **Thread:** ctl only; callbacks run on ctl, never from inside the call.
class Peer {
 public:
  virtual ~Peer() = default;

  virtual const Identity& identity() const = 0;
  virtual const Hello& hello() const = 0;
  virtual const std::shared_ptr<Region>& region() const = 0;
  virtual uint64_t registered_wall_ns() const = 0;
  virtual uint64_t last_seen_wall_ns() const = 0;  // its last word: an idle process says nothing
  virtual bool gone() const = 0;
  // Why this profd can't record it (another protocol), else ok. Claim() is refused then.
  virtual base::Status Usable() const = 0;

  // `done` comes exactly once: the process's answer, kUnavailable when it went away, kDeadlineExceeded after
  // `timeout_ns`.
  virtual void Send(Action action, uint64_t timeout_ns, std::function<void(const Ack&)> done) = 0;

  // One recording at a time. False when somebody has it (holder() says who), it has gone or is not usable.
  virtual bool Claim(const std::string& holder) = 0;
  virtual void Unclaim() = 0;
  virtual const std::string& holder() const = 0;  // "" = nobody records it

  // For the claimant; replaced by a new call, dropped by Unclaim(). Commands that wait are answered before
  // `gone`.
  virtual void OnGone(std::function<void()> gone) = 0;
  virtual void OnStepWindow(std::function<void(const StepWindow&)> window) = 0;
  // hello() has new capabilities.
  virtual void OnCapabilities(std::function<void()> changed) = 0;
};

}  // namespace profd::agent
