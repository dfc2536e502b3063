// A pure function: what is asked × what the node has = what to start with which bytes, and a verdict for
// every kind. No clock, no driver call, no file: tests hold its answers against the vendor's tables.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/driver/driver.h"
#include "daemon/driver/offers.h"
#include "daemon/session/plan/types.h"
#include "format/decode/framing.h"
#include "format/device_files.h"
#include "format/events/agent_blocks.h"
#include "format/kind.h"

namespace profd::session {

// What a registered process says it can record.
struct AgentFacts {
  base::Status usable;  // why not at all
  std::string holder;   // who records it already; "" = nobody
  std::vector<agent::Capability> capabilities;
};

struct ProcessFacts {
  pid_t pid = 0;
  uid_t uid = 0;
  std::string name = {};  // as the kernel shows it
  bool exists = false;
  bool is_thread = false;  // a thread id that is not a process id
  uint64_t threads = 1;
  std::vector<uint32_t> open_devices;    // N of every /dev/davinciN it has open
  std::optional<AgentFacts> agent = {};  // none: no agent in it …
  bool agent_expected = false;           // … yet: it was started with one
  bool has_window = false;               // its own profiler records for the session
};

// All that a plan may look at.
struct NodeFacts {
  bool library_loaded = false;
  std::string library_error;  // why not, or why its devices are not known; one line with what to do
  uint32_t api_version = 0;
  bool host_counter_known = false;  // the driver measured the host counter (payload of channel 142)
  bool main_memory_anew = false;    // driver::CountsMainMemoryAnew() of the toolkit found
  std::vector<driver::DeviceFacts> devices;
  std::vector<ProcessFacts> processes;  // of the requested pids
  uint64_t cpus = 1, interfaces = 1;    // of the host
  // Auth's answers for the caller.
  bool device_kinds_allowed = true;      // of every device
  std::vector<uint32_t> leased_devices;  // … or of these
  std::string device_kinds_denied_reason;
  std::string host_kinds_denied_reason;   // "" = kinds of the whole host are allowed
  std::string breakpoints_denied_reason;  // "" = kinds that need breakpoints are allowed
};

// A kind that is files of a device's own system, which one channel brings in pieces.
struct DeviceFileStart {
  format::DeviceFile what = format::DeviceFile::kSystemCpu;
  size_t kind_index = 0;
};

struct ChannelStart {
  uint32_t device = 0;
  uint32_t channel = 0;
  driver::StartPara para;
  const format::StreamFormat* format = nullptr;
  std::string file;  // "hbm.data", "dvpp.vdec": below data/, without device and slice
  bool one_slice = false;
  bool late = false;
  bool needs_job = false;
  size_t kind_index = 0;               // into Plan::kinds; several channels may serve one kind (dvpp)
  std::string mode;                    // of that kind
  std::vector<size_t> also_kinds;      // one start may serve several (aicore and aivector on STARS chips)
  std::vector<DeviceFileStart> files;  // not empty: of each of the kinds, and nothing else is kept
  std::optional<driver::ProcessPara> process;  // … which this process on the device sends
  std::optional<uint32_t> twin;                // a device that is run by the same system
  std::vector<pid_t> gives_way;  // to the agents of these, when they record what needs the channel
};

struct HostStart {
  format::Kind kind = format::Kind::kHostCpu;
  uint32_t hz = 0;
  size_t kind_index = 0;
  std::vector<size_t> also_kinds;  // the same kind of the other targets
};

// What one process is to record of itself.
struct AgentStart {
  pid_t pid = 0;
  std::vector<format::Kind> kinds;
  bool announce = false;     // channels give way to it
  uint32_t call_levels = 0;  // of agent-api: agent::kCallLevels, by bit; 0 = all
  // Else kinds of MSPTI are what CANN's modules report.
  agent::Reported reports = agent::Reported::kNothing;
  // By format::AgentKind: into Plan::kinds, kNoKind where it is not recorded.
  std::array<size_t, format::kAgentKinds> kind_index;
};
inline constexpr size_t kNoKind = SIZE_MAX;

struct Plan {
  std::vector<KindState> kinds;        // one per kind × unit asked for; started means "to be started"
  std::vector<ChannelStart> channels;  // in the vendor's start order
  std::vector<HostStart> host;
  std::vector<AgentStart> agents;
  std::vector<uint32_t> devices;  // that get a device_N folder
  bool agents_in_memory = false;  // of a flight recorder
  double bytes_per_second = 0;    // estimate
  std::string held;               // what is skipped because another session has it, and who; "" = nothing
};

// Fails (nothing started) on bad input: unknown kind, rate out of range, device or pid that does not exist, a
// pid that is a thread, nothing at all to collect; the message names the value, what is allowed and what to
// do.
// Whatever devices the node has, the plan is the same: nothing of them, nor of agents, is asked for.
bool IsOfHostAlone(const SessionSpec& spec);
base::Result<Plan> MakePlan(const SessionSpec& spec, const NodeFacts& facts);

// What a plan may make at most, as far as is known: bytes per second.
double WriteRateOf(const Plan& plan, const std::vector<driver::DeviceFacts>& devices);

// The kinds of a device with their rates, for `profctl devices`.
struct KindOffer {
  format::Kind kind = format::Kind::kHbm;
  double min_hz = 0, max_hz = 0, default_hz = 0;  // 0 = no rate
  std::vector<std::string> modes;
  bool available = false;
  std::string reason;                             // why not
  std::vector<driver::ChannelUse> channels = {};  // that serve it there
  bool by_task = false;                           // of cores: counted by task
};
std::vector<KindOffer> DeviceKinds(const driver::DeviceFacts& device, uint32_t api_version);
std::vector<KindOffer> HostKinds();

}  // namespace profd::session
