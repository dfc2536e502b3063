#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "client/auto/installed.h"
#include "client/auto/ways.h"
#include "client/show/screen/table.h"
#include "client/verbs/sessions/run.h"
#include "client/verbs/verb.h"
#include "client/words/args.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

namespace fs = std::filesystem;
using base::Code;
using base::Result;
using base::Status;

constexpr char kAll[] = "all";

struct Options {
  std::vector<std::string> ways;
  std::string root;
  AutoWanted wanted;
};

std::string WaysText() {
  std::string text;
  for (const AutoWay& way : AutoWays()) text += (text.empty() ? "" : ", ") + std::string(way.name);
  return text;
}

Result<std::vector<std::string>> WaysOf(const Options& options, bool may_be_all) {
  std::vector<std::string> ways;
  for (const std::string& word : options.ways) {
    const bool is_all = may_be_all && word == kAll;
    const auto known = std::ranges::find_if(AutoWays(), [&](const AutoWay& way) { return word == way.name; });
    if (!is_all && known == AutoWays().end()) {
      return Status(Code::kInvalidArgument, "auto: there is no way '" + Excerpt(word) + "': expected " +
                                                WaysText() + (may_be_all ? " or all" : ""));
    }
    for (const AutoWay& way : AutoWays()) {
      if ((is_all || word == way.name) && std::ranges::find(ways, way.name) == ways.end())
        ways.emplace_back(way.name);
    }
  }
  return ways;
}

Result<std::string> RootOf(const Options& options) {
  if (options.root.empty()) return std::string();
  std::error_code error;
  std::string root = fs::absolute(options.root).lexically_normal().string();
  while (root.ends_with('/')) root.pop_back();
  if (!fs::is_directory(options.root, error))
    return Status(Code::kNotFound, "auto: --root " + OneLine(options.root) + " is not a folder");
  return root;
}

Result<AutoPlaces> PlacesOf(const Context& context, const std::string& root) {
  AutoPlaces places;
  places.root = root;
  if (!context.socket.empty()) {
    PROFD_ASSIGN_OR_RETURN(places.socket, SocketPath(context.socket, nullptr));
  }
  const std::optional<fs::path> library = FindAgentLibrary();
  if (library) places.library = *library;
  if (library) places.folder = library->parent_path() / "profd" / "auto";
  std::error_code error;
  if (!library || !fs::exists(places.folder + "/profd_auto.py", error)) {
    return Status(Code::kFailedPrecondition,
                  "auto: the package profd-auto is not installed beside profctl (../lib): install it and "
                  "libprofd-agent");
  }
  return places;
}

// "enable systemd --site x" would take what it then ignores.
Status CheckWanted(const Options& options, const std::vector<std::string>& ways) {
  const auto has = [&](const char* way) { return std::ranges::find(ways, way) != ways.end(); };
  if (!options.wanted.sites.empty() && !has("python"))
    return {Code::kInvalidArgument, "auto: --site belongs to python: profctl auto enable python --site DIR"};
  if (!options.wanted.units.empty() && !has("systemd"))
    return {Code::kInvalidArgument,
            "auto: --unit belongs to systemd: profctl auto enable systemd --unit NAME"};
  return {};
}

ExitCode Enable(const Context& context, const Options& options) {
  const auto enable = [&]() -> Status {
    PROFD_ASSIGN_OR_RETURN(const std::vector<std::string> ways, WaysOf(options, false));
    PROFD_RETURN_IF_ERROR(CheckWanted(options, ways));
    PROFD_ASSIGN_OR_RETURN(const std::string root, RootOf(options));
    PROFD_ASSIGN_OR_RETURN(const AutoPlaces places, PlacesOf(context, root));
    std::vector<std::vector<AutoFile>> files;  // nothing is written before all of it is known to be right
    for (const std::string& way : ways) {
      PROFD_ASSIGN_OR_RETURN(std::vector<AutoFile> more, AutoFiles(way, places, options.wanted));
      files.push_back(std::move(more));
    }
    for (size_t i = 0; i < ways.size(); ++i) {
      PROFD_RETURN_IF_ERROR(InstallAuto(root, ways[i], files[i]));
      for (const AutoFile& file : files[i]) context.Print("made " + OneLine(root + file.path) + "\n");
      if (*AutoNext(ways[i]) != '\0') context.Print("next: " + std::string(AutoNext(ways[i])) + "\n");
    }
    return {};
  };
  const Status done = enable();
  return done.ok() ? ExitCode::kOk : context.Fail(done);
}

ExitCode Disable(const Context& context, const Options& options) {
  const auto disable = [&]() -> Status {
    PROFD_ASSIGN_OR_RETURN(const std::vector<std::string> ways, WaysOf(options, true));
    PROFD_ASSIGN_OR_RETURN(const std::string root, RootOf(options));
    for (const std::string& way : ways) {
      PROFD_ASSIGN_OR_RETURN(const std::vector<AutoInstalled> files, RemoveAuto(root, way));
      if (files.empty() && !std::ranges::count(options.ways, kAll)) context.Print(way + " was off\n");
      for (const AutoInstalled& file : files) {
        const std::string path = OneLine(root + file.path);
        if (file.state == AutoState::kThere) context.Print("removed " + path + "\n");
        if (file.state == AutoState::kMissing) context.Print(path + " was gone\n");
        if (file.state == AutoState::kChanged) {
          context.Note("profctl: " + path +
                       " has been changed since it was made: it stays; remove it yourself\n");
        }
      }
    }
    return {};
  };
  const Status done = disable();
  return done.ok() ? ExitCode::kOk : context.Fail(done);
}

const char* StateText(AutoState state) {
  switch (state) {
    case AutoState::kThere:
      return "on";
    case AutoState::kChanged:
      return "changed by somebody";
    case AutoState::kMissing:
      return "removed by somebody";
  }
  return "";
}

ExitCode Show(const Context& context, const Options& options) {
  const Result<std::string> root = RootOf(options);
  if (!root.ok()) return context.Fail(root.status());
  const Result<std::vector<AutoInstalled>> files = AutoInstalledFiles(*root);
  if (!files.ok()) return context.Fail(files.status());
  nlohmann::ordered_json ways = nlohmann::ordered_json::array();
  Table table({"WAY", "STATE", "~FILE", "?~REACHES"});
  for (const AutoWay& way : AutoWays()) {
    nlohmann::ordered_json shown = {
        {"way", way.name}, {"on", false}, {"files", nlohmann::ordered_json::array()}};
    for (const AutoInstalled& file : *files) {
      if (file.way != way.name) continue;
      const std::string path = *root + file.path;
      table.Add({{way.name},
                 {StateText(file.state), file.state == AutoState::kThere ? Colour::kGood : Colour::kWarn},
                 {OneLine(path)},
                 {way.reaches}});
      shown["on"] = shown["on"] || file.state == AutoState::kThere;
      shown["files"].push_back({{"path", path}, {"state", StateText(file.state)}});
    }
    if (shown["files"].empty()) table.Add({{way.name}, {"off", Colour::kDim}, {"-"}, {way.reaches}});
    ways.push_back(std::move(shown));
  }
  context.Print(context.json ? nlohmann::ordered_json{{"ways", ways}}.dump() + "\n" : table.Text(OwnLook()));
  return ExitCode::kOk;
}

Action Define(cli::Arguments arguments) {
  const auto options = std::make_shared<Options>();
  cli::Arguments enable = arguments.Sub("enable", "turn ways on: " + WaysText());
  enable.List("WAY", &options->ways, WaysText()).Required();
  enable.List("--site", &options->wanted.sites,
              "python: a folder of packages or a virtual environment; default: the system's");
  enable.List("--unit", &options->wanted.units, "systemd: a unit whose processes register");
  cli::Arguments disable = arguments.Sub("disable", "turn ways off, without a trace");
  disable.List("WAY", &options->ways, WaysText() + ", or all").Required();
  cli::Arguments status = arguments.Sub("status", "what is on, and whom it reaches");
  for (cli::Arguments* of : {&enable, &disable, &status})
    of->Text("--root", &options->root, "work below this folder, as in an image that is built");
  return {.run = [options, enable, disable](const Context& context) {
    if (enable.IsGiven()) return Enable(context, *options);
    return disable.IsGiven() ? Disable(context, *options) : Show(context, *options);
  }};
}

}  // namespace

namespace verbs {
Verb Auto() {
  return {"auto", "make jobs register without a change of how they start: enable, disable, status",
          Reach::kHere, Define};
}
}  // namespace verbs

}  // namespace profd::client
