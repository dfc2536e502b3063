#include "client/verbs/vendor/msprof.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/clock.h"
#include "base/join.h"
#include "client/export/framework/analyzer/collective_parts.h"
#include "client/options/table.h"
#include "client/show/interrupt.h"
#include "client/verbs/data/export.h"
#include "client/verbs/data/query.h"
#include "client/verbs/directories.h"
#include "client/verbs/vendor_options.h"
#include "client/verbs/verb.h"
#include "client/words/args.h"
#include "client/words/text.h"
#include "format/directory/own_folder.h"

namespace profd::client {

using base::Code;
using base::Result;
using base::Status;
using options::Given;

namespace {

namespace fs = std::filesystem;

constexpr fs::perms kOutputMode = fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec;

const std::string* Value(const Given& given, std::string_view name) {
  const auto found = given.find(name);
  return found == given.end() ? nullptr : &found->second;
}

// What --type and the others that are about results say.
ExportArguments ExportOf(const Given& given, std::vector<std::string> directories) {
  ExportArguments arguments;
  arguments.directories = std::move(directories);
  arguments.is_vendors = true;
  if (const std::string* type = Value(given, "type"); type != nullptr && *type == "db") {
    arguments.format = "db";
  } else if (const std::string* format = Value(given, "summary-format");
             format != nullptr && *format == "json") {
    arguments.format = "chrome,json,db";
  }
  // Counters by task tell of tasks, too.
  if (const std::string* tasks = Value(given, "task-time"); tasks != nullptr && !options::IsOn(*tasks))
    arguments.without = "task_time";
  if (const std::string* model = Value(given, "model-id")) arguments.model = *model;
  if (const std::string* iteration = Value(given, "iteration-id")) arguments.iteration = *iteration;
  return arguments;
}

bool AsksForData(const Given& given) {
  return std::ranges::any_of(given, [](const auto& word) {
    const options::Option* option = options::Find(word.first);
    return option != nullptr && options::IsOn(word.second) && options::IsForStart(*option) &&
           option->becomes != options::Becomes::kSession;
  });
}

ExitCode RunSystem(const Context& context, Given given) {
  for (const char* const needed : {"output", "sys-period"}) {
    const bool of_a_process = std::string_view(needed) == "sys-period" && given.contains("host-sys-pid");
    if (given.contains(needed) || of_a_process) continue;
    return context.Fail({Code::kInvalidArgument,
                         std::string("--") + needed + " is needed without a program: add --" + needed +
                             (std::string_view(needed) == "output" ? "=DIRECTORY" : "=SECONDS")});
  }
  if (!AsksForData(given)) {
    return context.Fail(
        {Code::kInvalidArgument, "nothing is asked for: add what to collect, e.g. --sys-hardware-mem=on"});
  }
  HoldInterrupts();
  if (const Status ready = DropAbsentDevices(context, &given); !ready.ok()) return context.Fail(ready);
  OutputFolders folders;
  if (const Status made = folders.Make(given.at("output")); !made.ok()) return context.Fail(made);
  StartOptions options = SessionOf(given);
  options.wait = true;
  v1::SessionInfo session;
  const ExitCode code = Collect(context, options, &session).Now();
  return Conclude(context, given, session, code);
}

bool IsOwn(const std::string& directory) {
  std::error_code error;
  return std::ranges::any_of(std::array{format::kOwnFolder, format::kFormerOwnFolder},
                             [&](const char* folder) {
                               return fs::exists(fs::path(directory) / folder / format::kManifestFile, error);
                             });
}

// Into analyze/ of each PROF directory.
ExitCode RunAnalyzer(const Context& context, const std::string& output) {
  const auto found = FindSides(context, output, true);
  if (!found.ok()) return context.Fail(found.status());
  auto worst = ExitCode::kOk;
  Progress progress;
  const InterruptWatch interrupts([&progress](int) { progress.cancelled = true; });
  for (const Found& part : *found) {
    const auto files = framework::AnalyzeCollectives(
        part.directory, IsOwn(part.directory) ? framework::Told::kAsWholes : framework::Told::kInParts,
        progress);
    if (!files.ok()) {
      worst = context.Fail(files.status());
      continue;
    }
    if (files->empty()) context.Note(part.directory + ": has no collectives to analyze");
    for (const std::string& file : *files) context.Print(OneLine(file) + "\n");
  }
  return worst;
}

ExitCode RunResults(const Context& context, const Given& given) {
  for (const options::Remark& remark : options::WishesOf(given, options::kNoChip).remarks) {
    if (!remark.option->left_out.empty()) continue;  // of a collection
    const std::string name = "--" + std::string(remark.option->name) + ": ";
    if (remark.unmet)
      return context.Fail({Code::kInvalidArgument, name + std::string(remark.option->because)});
    context.Note(name + remark.text);
  }
  const std::vector<std::string> directories = {given.at("output")};
  if (IsOn(given, "query") && !IsOn(given, "parse")) return RunQuery(context, directories);
  auto code = ExitCode::kOk;
  if (IsOn(given, "export") || IsOn(given, "parse")) code = RunExport(context, ExportOf(given, directories));
  if (IsOn(given, "analyze")) code = std::max(code, RunAnalyzer(context, given.at("output")));
  return code;
}

}  // namespace

Result<MsprofLine> ParseMsprof(const std::vector<std::string>& words) {
  MsprofLine line;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with('-') || word == "--") {
      line.command.assign(words.begin() + static_cast<ptrdiff_t>(i) + (word == "--" ? 1 : 0), words.end());
      break;
    }
    const size_t equals = word.find('=');
    // One dash as in the vendor's manuals, before whole names.
    const bool short_dash = !word.starts_with("--");
    const std::string name = word.substr(0, equals).substr(short_dash ? 1 : 2);
    std::string several;
    const options::Option* option = name.empty() || name == "help" ? nullptr
                                    : short_dash                   ? options::Find(name)
                                                                   : options::FindByPrefix(name, &several);
    if (!several.empty())
      return Status(Code::kInvalidArgument, "--" + OneLine(name) + " may be any of " + several);
    if (option == nullptr) {
      line.others.push_back(word);
      continue;
    }
    if (equals == std::string::npos && i + 1 == words.size())
      return Status(Code::kInvalidArgument, "--" + std::string(option->name) + " needs a value");
    const std::string value = equals == std::string::npos ? words[++i] : word.substr(equals + 1);
    if (value.empty())
      return Status(Code::kInvalidArgument, "--" + std::string(option->name) + ": the value is empty");
    line.given[std::string(option->name)] = value;
  }
  return line;
}

Status DropAbsentDevices(const Context& context, Given* given) {
  const auto asked = given->find("sys-devices");
  if (asked == given->end() || asked->second == "all") return {};
  PROFD_ASSIGN_OR_RETURN(const DeviceList list, ParseDevices(asked->second));
  PROFD_ASSIGN_OR_RETURN(const Connection connection, Connect(context));
  PROFD_ASSIGN_OR_RETURN(const v1::DevicesReply node, connection.control->Devices().Now());
  std::string present, absent;
  for (const uint32_t id : list.devices) {
    const bool there =
        std::ranges::any_of(node.devices(), [id](const v1::Device& device) { return device.device() == id; });
    base::AddTo(there ? present : absent, id, ",");
  }
  if (absent.empty()) return {};
  if (present.empty())
    return {Code::kNotFound,
            "--sys-devices=" + absent + ": there is no such device; profctl devices lists them"};
  context.Note("--sys-devices: not there and left out: " + absent);
  asked->second = present;
  return {};
}

bool IsOn(const Given& given, std::string_view name) {
  const std::string* value = Value(given, name);
  return value != nullptr && options::IsOn(*value);
}

OutputFolders::~OutputFolders() {
  // Something is in it: so in those around it.
  while (!made_.empty() && ::rmdir(made_.back().c_str()) == 0) made_.pop_back();
}

Status OutputFolders::Make(const std::string& path) {
  std::error_code error;
  fs::path way;
  for (const fs::path& part : fs::absolute(path)) {
    way /= part;
    if (fs::exists(way, error)) continue;
    if (fs::create_directory(way, error)) {
      made_.push_back(way);
      fs::permissions(way, kOutputMode, error);
    }
    if (error) return Status::FromErrno("--output=" + path + ": cannot make " + way.string(), error.value());
  }
  return {};
}

StartOptions SessionOf(const Given& given) {
  StartOptions options;
  options.vendor = given;
  options.vendor.emplace(options::kWholeLine, "yes");
  if (const std::string* output = Value(given, "output")) options.output = *output;
  if (const std::string* limit = Value(given, "storage-limit")) options.storage_limit = *limit;
  if (const std::string* delay = Value(given, "delay")) options.delay = *delay + "s";
  if (const std::string* duration = Value(given, "duration")) options.duration = *duration + "s";
  return options;
}

ExitCode Conclude(const Context& context, const Given& given, const v1::SessionInfo& session, ExitCode code) {
  for (const std::string& reason : session.degraded()) context.Note("degraded: " + OneLine(reason));
  if (session.directories().empty()) return code;
  context.Print("Profiling finished.\n");
  for (const std::string& directory : session.directories())
    context.Print("Exporting " + OneLine(directory) + "\n");
  const ExitCode exported =
      RunExport(context, ExportOf(given, {session.directories().begin(), session.directories().end()}));
  for (const std::string& directory : session.directories()) {
    context.Print("Process profiling data complete. Data is saved in " + OneLine(directory) + "\n");
  }
  context.Print("See profctl analyze " + OneLine(session.directory()) +
                " for what takes the time, profctl query " + OneLine(session.directory()) +
                " for what is in it; its msprof_*.json opens in MindStudio Insight and ui.perfetto.dev\n");
  return code == ExitCode::kOk ? exported : code;
}

namespace {

// Of a folder that is made, as for profctl start.
Status NameOutput(Given* given) {
  const auto output = given->find("output");
  if (output == given->end()) return {};
  int32_t pid = 0;
  for (const char* const of : {"pid", "host-sys-pid"}) {
    if (const std::string* const list = Value(*given, of))
      std::from_chars(list->data(), list->data() + list->size(), pid);
  }
  PROFD_ASSIGN_OR_RETURN(output->second, WithNames("--output", output->second, pid));
  return {};
}

// What comes first in the vendor's order says what is done.
ExitCode Run(const Context& context, MsprofLine line) {
  Given& given = line.given;
  if (given.empty() && !line.command.empty() && line.command.front() == "op") {
    return context.Fail(
        {Code::kInvalidArgument,
         "msprof op is another program of the vendor's, msopprof, for one operator: run that; a program "
         "that is called op runs as ./op"});
  }
  const std::string* application = Value(given, "application");
  if (!line.command.empty() || application != nullptr || given.contains("pid") ||
      given.contains("host-sys-pid"))
    given.emplace(options::kProcess, "yes");
  const auto asks_for = [&given](const char* system) { return given.contains(system); };
  const bool of_program = !line.command.empty() || application != nullptr || IsOn(given, "dynamic");
  Given all = given;  // what options need may be there by itself
  if (of_program) AddDefaults(&all);
  if (const Status right = options::Check(all, options::kNoChip); !right.ok()) return context.Fail(right);
  constexpr const char* kSystem[] = {"sys-devices", "host-sys", "host-sys-usage"};
  if (of_program || std::ranges::any_of(kSystem, asks_for)) {
    if (const Status named = NameOutput(&given); !named.ok()) return context.Fail(named);
    return of_program ? RunWithProgram(context, line) : RunSystem(context, given);
  }
  for (const char* const result : {"parse", "query", "export", "analyze"}) {
    if (IsOn(given, result)) return RunResults(context, given);
  }
  return context.Fail({Code::kInvalidArgument,
                       "name what to do: a program, --sys-devices, --host-sys, --host-sys-usage, --parse=on, "
                       "--query=on or --export=on; profctl msprof --help lists all"});
}

// As the vendor's, --help has what this node's chips have. It is called by programs, too: a profd that does
// not answer soon leaves it as it is.
std::string ForThisNode(const Context& context, cli::Arguments arguments) {
  constexpr uint64_t kPatienceNs = 1'000'000'000;
  Context asking = context;
  asking.deadline_ns = base::MonotonicNs() + kPatienceNs;
  const Result<Connection> connection = Connect(asking);
  if (!connection.ok()) return "";
  const Result<v1::DevicesReply> node = connection->control->Devices().Now();
  if (!node.ok()) return "";
  options::Chips chips;
  for (const v1::Device& device : node->devices()) chips = chips | options::ChipOf(device.chip());
  if (chips.empty()) return "";
  HideOtherChips(arguments, chips);
  return "Only what this node's chips have (" + options::ChipNames(chips) +
         "); --help-all shows the options of every chip.";
}

Action Define(cli::Arguments arguments) {
  const auto line = std::make_shared<MsprofLine>();
  AddVendorOptions(arguments, false, &line->given);
  arguments.List("APP", &line->command, "a program to start and record, with its arguments: APP ARGS…");
  const auto take = [line](const std::vector<std::string>& words) -> Result<std::vector<std::string>> {
    PROFD_ASSIGN_OR_RETURN(*line, ParseMsprof(words));
    if (words.empty()) return std::vector<std::string>{"--help"};  // as the vendor's
    return line->others;
  };
  return {.run = [line](const Context& context) { return Run(context, *line); },
          .take_words = take,
          .before_help = [arguments](const Context& context) { return ForThisNode(context, arguments); }};
}

}  // namespace

namespace verbs {
Verb Msprof() {
  return {"msprof", "run a command line of the vendor's msprof: msprof [OPTIONS] [APP ARGS…]", Reach::kHere,
          Define};
}
}  // namespace verbs

}  // namespace profd::client
