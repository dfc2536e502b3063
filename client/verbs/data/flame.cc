#include "client/export/stacks/flame.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "client/export/exporter.h"
#include "client/export/write/output_file.h"
#include "client/files/temporary_folder.h"
#include "client/verbs/directories.h"
#include "client/verbs/verb.h"
#include "client/words/jobs.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

using base::Code;
using base::Result;
using base::Status;

struct Options {
  std::string directory;
  std::string output;
  std::string title;
  bool off_cpu = false;
};

// The collapsed stacks of all directories, one behind the other, by way of `folder`.
Result<std::string> Collapsed(const Context& context, const Options& options, const std::string& folder) {
  PROFD_ASSIGN_OR_RETURN(const std::vector<std::string> directories,
                         FindDirectories(context, options.directory));
  const std::string wanted = options.off_cpu ? "off_cpu_" : "cpu_profile_";
  std::ostringstream text;
  Status why;
  for (size_t i = 0; i < directories.size(); ++i) {
    ExportOptions what;
    what.formats = {ExportFormat::kCollapsed};
    what.out = folder + "/" + std::to_string(i);
    what.jobs = OwnJobs();
    Progress progress;
    const Result<ExportResult> result = Export(directories[i], what, progress);
    if (!result.ok()) {
      why = result.status();
      continue;
    }
    for (const std::string& path : result->files) {
      if (std::filesystem::path(path).filename().string().starts_with(wanted))
        text << std::ifstream(path, std::ios::binary).rdbuf();
    }
  }
  std::string stacks = text.str();
  if (!stacks.empty()) return stacks;
  if (!why.ok() && why.code() != Code::kNotFound) return why;
  const std::string kind = options.off_cpu ? "host-off-cpu" : "host-cpu-profile";
  return Status(Code::kNotFound, OneLine(options.directory) + ": no " + kind +
                                     " is in it; collect one with --pid and --collect " + kind);
}

ExitCode Run(const Context& context, const Options& options) {
  if (options.output.empty())
    return context.Fail({Code::kInvalidArgument, "flame: name the file to write: -o flame.svg"});
  const auto folder = TemporaryFolder::Make("flame");
  if (!folder.ok()) return context.Fail(folder.status());
  const Result<std::string> stacks = Collapsed(context, options, folder->path());
  if (!stacks.ok()) return context.Fail(stacks.status());
  FlameWords words{options.title, options.off_cpu ? "µs" : "samples"};
  if (words.title.empty())
    words.title = std::string(options.off_cpu ? "Waiting" : "On a CPU") + ": " + options.directory;
  const Result<std::string> svg = FlameSvg(*stacks, words);
  if (!svg.ok()) return context.Fail(svg.status());
  auto file = OutputFile::CreateNamed(options.output);
  if (!file.ok()) return context.Fail(file.status());
  (*file)->Append(*svg);
  if (const Status written = (*file)->Finish(); !written.ok()) return context.Fail(written);
  context.Print(OneLine(options.output) + ": " + FormatBytes(static_cast<double>(svg->size())) + "\n");
  return ExitCode::kOk;
}

Action Define(cli::Arguments arguments) {
  const auto options = std::make_shared<Options>();
  arguments.Text("DIR", &options->directory, "a PROF directory, a folder of such, or a session").Required();
  arguments.Text("-o,--output", &options->output, "the file to write; an existing one is replaced");
  arguments.Flag("--off-cpu", &options->off_cpu, "what waited, of host-off-cpu, instead of what ran");
  arguments.Text("--title", &options->title, "its title; default DIR");
  return {.run = [options](const Context& context) { return Run(context, *options); }};
}

}  // namespace

namespace verbs {
Verb Flame() { return {"flame", "a flame graph of a CPU profile, as one file of SVG", Reach::kHere, Define}; }
}  // namespace verbs

}  // namespace profd::client
