// A verb of profctl. Each has a file of this folder that says what it is called, what it takes and what it
// does; all.cc lists them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/cli/arguments.h"
#include "base/status.h"
#include "client/node/asking.h"
#include "client/node/context.h"
#include "client/words/exit_code.h"

namespace profd::client {

enum class Reach {
  kHere,       // this machine: files, programs
  kOneNode,    // one profd
  kManyNodes,  // … or many at once: a conversation with each, whose words become one answer (client/fleet)
  kStreams,    // … or many, from each of which more comes than an answer
};

// What is done with what a command line says. Lives as long as the command line.
struct Action {
  std::function<ExitCode(const Context&)> run = {};          // of all but kManyNodes
  std::function<Asking<ExitCode>(const Context&)> ask = {};  // of kManyNodes
  // Once, before the first node is asked.
  std::function<base::Status(Context*)> prepare = {};
  // In place of `run`, once for all of --hosts, of which `parallel` at one time. May be empty.
  std::function<ExitCode(const Context&, const std::vector<std::string>& hosts, size_t parallel)>
      run_on_many = {};
  // Why not with --hosts; "" = nothing is against it.
  std::function<std::string()> against_many = {};
  // Takes what stands behind `--`. Such a verb of reach kHere becomes the program, which inherits our
  // signals.
  std::function<void(std::vector<std::string>)> take_program = {};
  // Takes what stands behind the verb, whatever it is; leaves what is not its own.
  std::function<base::Result<std::vector<std::string>>(const std::vector<std::string>&)> take_words = {};
  // Before --help is shown (not --help-all). What it returns stands below; "" = nothing.
  std::function<std::string(const Context&)> before_help = {};
};

struct Verb {
  const char* name;
  const char* summary;
  Reach reach;
  Action (*define)(cli::Arguments);
  bool is_of_all = false;  // looks at what the other verbs take
};

// Of every verb that takes a session.
constexpr char kSessionHelp[] = "Its id, its name, or last: the newest of one's own";

}  // namespace profd::client
