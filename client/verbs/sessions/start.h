// profctl start, and what other verbs do with sessions that they start.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/node/asking.h"
#include "client/node/connection.h"
#include "client/node/context.h"
#include "client/options/check.h"

namespace profd::client {

class Program;

struct StartOptions {
  std::vector<std::string> pids;
  std::vector<std::string> devices;
  std::vector<std::string> collect;
  std::string preset;
  std::string duration;
  std::string delay;
  std::string once;  // of a start that may have to be asked for again
  std::string output;
  std::string storage_limit;
  std::string on_full;
  std::string name;
  std::vector<std::string> labels;
  std::vector<std::string> extras;  // kinds that come along where they can be had, as those of a preset
  bool all_agents = false;
  bool agents_expected = false;  // the pids are about to execute a program with one
  std::string steps;
  std::string step;
  std::string domains;                 // --agent-domains
  std::string domains_exclude;         // --agent-domains-exclude
  std::vector<std::string> framework;  // --framework-options
  bool flight_recorder = false;
  std::string in_memory;  // which of the kinds
  std::vector<std::string> buffers;
  std::string snapshot_on;
  bool resume = false;
  bool split = false;     // a session for each of the pids
  std::string container;  // whose pids they are
  bool dry_run = false;   // only says what would be collected, and how much that makes
  bool wait = false;
  std::string max_loss;  // of --wait, in percent
  bool wait_lease = false;
  std::string wait_lease_for;
  options::Given vendor;                       // what is given in the vendor's words
  std::set<std::string> vendor_defaults = {};  // of these, what nobody gave: by name
  // Runs once the session is there, before the wait for its end.
  std::function<void()> started = {};
  // What the line of --wait says; none: how far the session is.
  std::function<std::string(const v1::SessionInfo&)> progress = {};
};

// The session is of `program`, which waits for it and goes once it is there. `program` outlives the options.
void RecordFromBegin(Program& program, StartOptions* options);

// Starts a session and says so; with a `session` it says nothing of what went well, and that gets the newest
// state.
Asking<ExitCode> Collect(const Context& context, const StartOptions& options, v1::SessionInfo* session);

// Fails as Collect() would where the chips of the node do not have what is asked for in the vendor's words.
base::Status CheckWishes(const StartOptions& options, ControlClient& control);

}  // namespace profd::client
