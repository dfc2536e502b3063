#include "client/verbs/sessions/run.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/files/whole_file.h"
#include "base/join.h"
#include "client/options/table.h"
#include "client/verbs/program.h"
#include "client/verbs/verb.h"
#include "client/words/args.h"
#include "format/mspti.h"

namespace profd::client {

namespace {

namespace fs = std::filesystem;

// What env(1) and the shell say.
constexpr int kCannotRun = 126;
constexpr int kNoSuchCommand = 127;

constexpr size_t kMostOfLibrary = 512 << 20;

// What was there stays, and stays in front.
void Append(const char* name, char separator, const std::string& value) {
  const char* present = std::getenv(name);
  const std::string all =
      present == nullptr || *present == '\0' ? value : std::string(present) + separator + value;
  ::setenv(name, all.c_str(), 1);
}

// A function that came two months after CANN 9 changed that: a library without it may be older. Source:
// Ascend/mspti, history of csrc/include.
bool ReportsToAnyone(const fs::path& library) {
  constexpr char kFunction[] = "msptiActivityIsEnabled";
  const base::Result<std::string> bytes = base::ReadWhole(library, kMostOfLibrary);
  return bytes.ok() && bytes->find(kFunction) != std::string::npos;
}

}  // namespace

std::optional<fs::path> FindAgentLibrary() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return std::nullopt;
  const fs::path lib = self.parent_path().parent_path() / "lib";
  if (fs::exists(lib / kAgentLibrary, error)) return lib / kAgentLibrary;
  for (const fs::directory_entry& entry : fs::directory_iterator(lib, error)) {
    if (fs::exists(entry.path() / kAgentLibrary, error)) return entry.path() / kAgentLibrary;
  }
  return std::nullopt;
}

base::Status PutAgentInPlace(const Context& context, const std::vector<std::string>& given_labels,
                             pid_t parent) {
  using base::Code;
  using base::Status;
  PROFD_ASSIGN_OR_RETURN(const std::string socket, SocketPath(context.socket, std::getenv("PROFD_ADDRESS")));
  std::string labels;
  for (const std::string& text : given_labels) {
    PROFD_ASSIGN_OR_RETURN(const auto label, ParseLabel(text));
    if (label.second.find(',') != std::string::npos)
      return Status(Code::kInvalidArgument, "--label '" + text + "': the value must not hold a comma");
    base::AddTo(labels, text, ",");
  }
  const std::optional<fs::path> library = FindAgentLibrary();
  if (!library) {
    return {Code::kFailedPrecondition, std::string("run: ") + kAgentLibrary +
                                           " is not beside profctl (../lib): install it, or build it with "
                                           "./scripts/quickstart.sh"};
  }
  Append("LD_PRELOAD", ':', *library);
  ::setenv("MSTX_INJECTION_PATH", library->c_str(), 0);
  ::setenv("NVTX_INJECTION64_PATH", library->c_str(), 0);
  ::setenv("PROFD_ADDRESS", socket.c_str(), 1);
  ::setenv("PROFD_AGENT_LAUNCHER", std::to_string(parent).c_str(), 1);
  Append("PYTHONPATH", ':', library->parent_path() / "profd" / "python");
  if (!labels.empty()) Append("PROFD_LABELS", ',', labels);
  return {};
}

void PutMsptiInPlace(ControlClient& control) {
  const char* const home = std::getenv("ASCEND_HOME_PATH");
  if (home == nullptr || *home == '\0') return;
  const fs::path library = fs::path(home) / "lib64" / "libmspti.so";
  std::error_code error;
  if (!fs::exists(library, error)) return;
  if (const base::Result<v1::DevicesReply> node = control.Devices().Now(); node.ok()) {
    options::Chips chips;
    for (const v1::Device& device : node->devices()) chips = chips | options::ChipOf(device.chip());
    if (!chips.empty() && (chips & format::kKnownToMspti).empty()) return;
  }
  if (!ReportsToAnyone(library)) Append("LD_PRELOAD", ':', library);
}

bool IsMsptiInPlace() {
  const char* const preload = std::getenv("LD_PRELOAD");
  return preload != nullptr && std::strstr(preload, "libmspti.so") != nullptr;
}

namespace {

struct Options {
  std::vector<std::string> labels;
  std::vector<std::string> command;
};

// Becomes the program; comes back only when it cannot.
ExitCode Run(const Context& context, const Options& options) {
  using base::Code;
  if (options.command.empty()) {
    return context.Fail(
        {Code::kInvalidArgument, "run: name the program behind --: profctl run -- python3 train.py"});
  }
  if (const base::Status placed = PutAgentInPlace(context, options.labels, ::getppid()); !placed.ok())
    return context.Fail(placed);

  std::vector<char*> arguments;
  for (const std::string& argument : options.command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  const int error = errno;
  std::fprintf(stderr, "profctl: run %s: %s\n", arguments[0], std::strerror(error));
  return static_cast<ExitCode>(error == ENOENT ? kNoSuchCommand : kCannotRun);
}

Action Define(cli::Arguments arguments) {
  const auto options = std::make_shared<Options>();
  arguments.List("--label", &options->labels, "KEY=VALUE, a label of the process");
  return {.run = [options](const Context& context) { return Run(context, *options); },
          .take_program = [options](std::vector<std::string> words) { options->command = std::move(words); }};
}

}  // namespace

namespace verbs {
Verb Run() {
  return {"run", "run a program with the agent in place: run [OPTIONS] -- CMD ARGS…", Reach::kHere, Define};
}
}  // namespace verbs

}  // namespace profd::client
