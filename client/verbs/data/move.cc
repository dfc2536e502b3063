#include "client/files/output_dir.h"
#include "client/verbs/data/keep.h"

namespace profd::client {

namespace {

struct Options {
  std::string session;
  std::string directory;
};

ExitCode Run(const Context& context, const Options& options) {
  const base::Result<OutputDir> output = OpenOutputDir(options.directory);
  if (!output.ok()) return context.Fail(output.status());
  const base::Result<Connection> connection = Connect(context, output->fd.get());
  const base::Result<v1::SessionInfo> info =
      connection.ok() ? connection->control->Move(options.session, output->path).Now() : connection.status();
  if (!info.ok()) DropOutputDir(*output);
  const bool known = info.ok() && !info->directory().empty();
  return ShowKept(context, info, "moved to " + (known ? info->directory() : output->path));
}

Action Define(cli::Arguments arguments) {
  const auto options = std::make_shared<Options>();
  arguments.Text("SESSION", &options->session, kSessionHelp).Required();
  arguments.Text("DIR", &options->directory, "Where to").Required();
  return {.run = [options](const Context& context) { return Run(context, *options); }};
}

}  // namespace

namespace verbs {
Verb Move() { return {"mv", "move a session's directories out of profd's spool", Reach::kHere, Define}; }
}  // namespace verbs

}  // namespace profd::client
