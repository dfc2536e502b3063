// Many nodes at once: a conversation with each, and one answer out of what they said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "client/node/context.h"

namespace profd::client {

// What one node said.
struct Answer {
  std::string host;
  std::string via = {};  // the relay that asked it, "" = asked directly
  ExitCode code = ExitCode::kFailed;
  std::string out;  // what the verb would have printed
  std::string err;  // and its one line of error, without "profctl: "
  std::optional<Firing> firing;
};

// Runs `verb` for every host on a thread, `parallel` at once, each with its `host` in the context: for verbs
// that get streams. A host whose turn has not come by `context.deadline_ns` is not asked, and says so.
std::vector<Answer> AskEach(const Context& context, const std::vector<std::string>& hosts, size_t parallel,
                            const std::function<ExitCode(const Context&)>& verb);

// The code of all when they agree, else kSomeHosts.
ExitCode CodeOf(const std::vector<Answer>& answers);

// Prints one table of all, the errors by what they say, and how far apart the nodes fired; with --json a line
// for each host. Returns CodeOf() them.
ExitCode ReportAnswers(const Context& context, const std::vector<Answer>& answers);

}  // namespace profd::client
