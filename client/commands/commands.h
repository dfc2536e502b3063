// One function per verb: takes what the command line said, prints, answers the exit code.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/control_client.h"
#include "client/door_client.h"
#include "client/exit_code.h"
#include "node/peer.h"
#include "options/check.h"

namespace profd::client {

struct Common {
  std::string socket;         // --socket as given
  std::string host;           // --host, "" = this node
  std::string ca, cert, key;  // --tls-…: PEM files for --host
  bool plain = false;         // --plain
  uint64_t deadline_ns = 0;   // --timeout, as base::MonotonicNs(); 0 = each call's own patience
  bool json = false;
  Exchange* exchange = nullptr;  // others ask `host`
};

struct StartOptions {
  std::vector<std::string> pids;
  std::vector<std::string> devices;
  std::vector<std::string> collect;
  std::string preset;
  std::string duration;
  std::string delay;
  uint64_t at_wall_ns = 0;  // --at, 0 = now
  std::string once;         // of a start that may have to be asked for again
  std::string output;
  std::string storage_limit;
  std::string on_full;
  std::string name;
  std::vector<std::string> labels;
  bool all_agents = false;
  std::string steps;
  std::string step;
  std::string domains;          // --agent-domains
  std::string domains_exclude;  // --agent-domains-exclude
  bool flight_recorder = false;
  std::string snapshot_on;
  bool resume = false;
  bool split = false;     // a session for each of the pids
  std::string container;  // whose pids they are
  bool dry_run = false;   // only says what would be collected, and how much that makes
  bool wait = false;
  bool wait_lease = false;
  std::string wait_lease_for;
  options::Given vendor;                       // what is given in the vendor's words
  std::set<std::string> vendor_defaults = {};  // of these, what nobody gave: by name
  // What a refusal means to who asks; none: what profd says.
  std::function<base::Status(const base::Status&)> explain = {};
};
struct RunOptions {
  std::vector<std::string> labels;
  std::vector<std::string> command;
};
struct PauseOptions {
  std::string session;
};
struct SnapshotOptions {
  std::string session;
  std::string last;
};
struct KeepOptions {
  std::string session;
};
struct MoveOptions {
  std::string session;
  std::string directory;
};
struct LeaseOptions {
  std::string user;
  std::string devices;
  std::string duration;
  std::string lease;
};
struct FetchOptions {
  std::string session;
  std::string out;
};
struct StopOptions {
  std::string session;
  std::string pid;
  bool all = false;
};
struct StatusOptions {
  std::string session;
  bool watch = false;
};
struct WatchOptions {
  std::vector<std::string> kinds;
  std::string interval;
  uint64_t count = 0;  // 0 = without end
  std::vector<std::string> devices, pids;
};
struct TopOptions {
  bool once = false;
  std::string sort;
  std::vector<std::string> devices, pids;
};
struct VerifyOptions {
  std::vector<std::string> directories;
};
struct ExportArguments {
  std::vector<std::string> directories;
  std::string format, out, from, to, devices, kinds, split, jobs, iteration, model;
  bool vendor_compatible = false;
  bool gzip = false;
  bool resume = false;
  bool recursive = false;   // into all that are found below a folder, too
  bool per_device = false;  // a directory of its own for each
  bool dry_run = false;     // only says what would be written
  // A folder stands for the PROF directories right in it: `msprof --export` of the vendor's.
  bool is_vendors = false;
};
struct RepairOptions {
  std::vector<std::string> directories;
};
struct QueryOptions {
  std::vector<std::string> directories;
};
struct DoctorOptions {
  std::string pid;
};

ExitCode RunDevices(const Common& common);
ExitCode RunStart(const Common& common, const StartOptions& options);
// Becomes the program; comes back only when it cannot.
ExitCode RunCommand(const Common& common, const RunOptions& options);
ExitCode RunPause(const Common& common, const PauseOptions& options, bool paused);
ExitCode RunSnapshot(const Common& common, const SnapshotOptions& options);
ExitCode RunStop(const Common& common, const StopOptions& options);
ExitCode RunPin(const Common& common, const KeepOptions& options, bool pinned);
ExitCode RunMove(const Common& common, const MoveOptions& options);
ExitCode RunFetch(const Common& common, const FetchOptions& options);
ExitCode RunRemove(const Common& common, const KeepOptions& options);
ExitCode RunLeaseAdd(const Common& common, const LeaseOptions& options);
ExitCode RunLeaseRemove(const Common& common, const LeaseOptions& options);
ExitCode RunLeaseList(const Common& common);
ExitCode RunStatus(const Common& common, const StatusOptions& options);
ExitCode RunList(const Common& common);
ExitCode RunTargets(const Common& common);
ExitCode RunWatch(const Common& common, const WatchOptions& options);
ExitCode RunTop(const Common& common, const TopOptions& options);
ExitCode RunVerify(const Common& common, const VerifyOptions& options);
// Not of a daemon's: with the caller's rights.
ExitCode RunRepair(const Common& common, const RepairOptions& options);
ExitCode RunExport(const Common& common, const ExportArguments& arguments);
ExitCode RunQuery(const Common& common, const QueryOptions& options);
ExitCode RunDoctor(const Common& common, const DoctorOptions& options);

// Shared by the verbs.

// What nodes are shown.
base::Result<node::Credentials> CredentialsOf(const Common& common);

// `at_wall_ns` by the clock that is `clock` ahead of ours. For the record the labels have how far that is,
// and how sure.
void SetInstant(uint64_t at_wall_ns, const ClockDistance& clock, v1::SessionSpec* spec);

// A way to a daemon that speaks the same protocol: to this node's through the door.
struct Connection {
  std::optional<DoorClient> door;
  std::unique_ptr<ControlClient> control;
};
base::Result<Connection> Connect(const Common& common, int output_dir = -1);

// The PROF directories at and below what was given as DIR. Where that is a session instead, the error says
// which is its directory.
base::Result<std::vector<std::string>> FindDirectories(const Common& common, const std::string& given,
                                                       bool only_right_in_it = false);

// One of those, and the part of it that was meant.
struct Found {
  std::string directory;
  std::optional<int> side;  // PROF_…/device_<N> was given, or PROF_…/host (-1); else all of it
};
base::Result<std::vector<Found>> FindSides(const Common& common, const std::string& given,
                                           bool only_right_in_it = false);

// One line on stderr (commands/transcript.h).
ExitCode Fail(const base::Status& status);
// The same for what is worth a line and no failure.
void Note(const std::string& text);
void Print(const std::string& text);

}  // namespace profd::client
