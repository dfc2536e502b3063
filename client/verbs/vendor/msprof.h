// profctl msprof: the vendor's command line.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "client/node/context.h"
#include "client/options/check.h"
#include "client/verbs/sessions/start.h"

namespace profd::client {

// What a command line of the vendor's msprof says: options by their names in the table, the program with its
// arguments, and options that are not the vendor's.
struct MsprofLine {
  options::Given given;
  std::vector<std::string> command;
  std::vector<std::string> others;
};
base::Result<MsprofLine> ParseMsprof(const std::vector<std::string>& words);

// With a program its calls, its tasks and their counters are on by themselves, unless what is asked for
// excludes them. Returns the options that were added.
std::set<std::string> AddDefaults(options::Given* given);
// With a program, or a running process: from its start to its end, or by words on the standard input.
ExitCode RunWithProgram(const Context& context, const MsprofLine& line);
bool IsOn(const options::Given& given, std::string_view name);
// Takes ids that are not there out of --sys-devices and says so; fails where none is there.
base::Status DropAbsentDevices(const Context& context, options::Given* given);
// The folders that a line makes for its result; at its end those go that nothing has come into.
class OutputFolders {
 public:
  OutputFolders() = default;
  OutputFolders(const OutputFolders&) = delete;
  OutputFolders& operator=(const OutputFolders&) = delete;
  ~OutputFolders();
  // Makes what is missing of the way to --output, as the vendor's does.
  base::Status Make(const std::string& path);

 private:
  std::vector<std::string> made_;  // outer ones first
};
// The session that `given` asks for.
StartOptions SessionOf(const options::Given& given);
// A collection is over: turns what it left into what --type says, and tells where it is. `code` is how it
// went.
ExitCode Conclude(const Context& context, const options::Given& given, const v1::SessionInfo& session,
                  ExitCode code);

}  // namespace profd::client
