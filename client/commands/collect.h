// Sessions and programs for verbs that do more with them than to show them.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "client/commands/commands.h"

namespace profd::client {

// As RunStart, without a word about what went well: `session` gets its newest state.
ExitCode Collect(const Common& common, const StartOptions& options, v1::SessionInfo* session);

// Fails as Collect() would where the chips of the node do not have what is asked for in the vendor's words.
base::Status CheckWishes(const StartOptions& options, ControlClient& control);

// Puts the agent into the environment, for the program that this process becomes or starts: a child of
// `parent`, which is registered from its begin on.
base::Status PutAgentInPlace(const Common& common, const std::vector<std::string>& labels, pid_t parent);
// … and MSPTI of the toolkit that ASCEND_HOME_PATH names, if it is there: of memory it tells only programs
// that start with it.
void PutMsptiInPlace();

// What a command line of the vendor's msprof says: options by their names in the table, the program with its
// arguments, and options that are not the vendor's.
struct MsprofLine {
  options::Given given;
  std::vector<std::string> command;
  std::vector<std::string> others;
};
base::Result<MsprofLine> ParseMsprof(const std::vector<std::string>& words);
ExitCode RunMsprof(const Common& common, MsprofLine line);

// With a program, or a running process: from its start to its end, or by words on the standard input.
ExitCode RunWithProgram(const Common& common, const MsprofLine& line);
bool IsOn(const options::Given& given, std::string_view name);
// Takes ids that are not there out of --sys-devices and says so; fails where none is there.
base::Status DropAbsentDevices(const Common& common, options::Given* given);
// Makes what is missing of the way to --output, as the vendor's does.
base::Status MakeOutput(const std::string& path);
// The session that `given` asks for.
StartOptions SessionOf(const options::Given& given);
// A collection is over: turns what it left into what --type says, and tells where it is. `code` is how it
// went.
ExitCode Conclude(const Common& common, const options::Given& given, const v1::SessionInfo& session,
                  ExitCode code);

}  // namespace profd::client
