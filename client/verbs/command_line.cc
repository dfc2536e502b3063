#include "client/verbs/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/cli/help.h"
#include "base/cli/lines.h"
#include "base/cli/manual.h"
#include "base/cli/options_file.h"
#include "base/cli/wrong.h"
#include "base/clock.h"
#include "base/edit_distance.h"
#include "base/version.h"
#include "client/options/describe.h"
#include "client/show/kinds/kind_tables.h"
#include "client/show/manual.h"
#include "client/verbs/all.h"
#include "client/verbs/on_hosts.h"
#include "client/verbs/user_presets.h"
#include "client/words/args.h"
#include "client/words/option_places.h"
#include "client/words/text.h"
#include "format/kind.h"

namespace profd::client {

namespace {

constexpr char kAbout[] =
    "profctl: records NPUs, host and programs with profd, and says what makes a job slow";
constexpr std::string_view kMsprof = "msprof";
constexpr size_t kMostWords = 400;  // of what is said about a command line
constexpr uint64_t kFleetTimeoutNs = 30'000'000'000;
constexpr char kConfig[] = "/etc/profd/profctl.conf";
constexpr char kExitCodes[] =
    "Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 permission, 5 unavailable, 6 busy, 7 partial loss, "
    "8 partly started, 9 hosts that differ (--hosts), 10 findings (--fail-on).";

// "" = none.
std::string DefaultConfig() {
  std::error_code ignored;
  const char* const home = std::getenv("HOME");
  for (const std::string& path :
       {std::string(home == nullptr ? "" : home) + "/.config/profd/profctl.conf", std::string(kConfig)}) {
    if (std::filesystem::exists(path, ignored)) return path;
  }
  return "";
}

// CLI11 takes an empty value for a missing one; to us `--output ""` is a mistake, not the default. "" = there
// is none.
std::string EmptyValue(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& value : option->results()) {
      if (value.empty()) return option->get_name();
    }
  }
  for (const CLI::App* verb : app.get_subcommands()) {
    if (std::string name = EmptyValue(*verb); !name.empty()) return name;
  }
  return "";
}

// `verb`: whose help says more; "" = profctl's own.
ExitCode Usage(const std::string& message, const std::string& verb = "") {
  const bool says_where = message.find("profctl --help") != std::string::npos;
  OwnStreams()->Note(message +
                     (says_where ? "" : "; see profctl " + (verb.empty() ? "" : verb + " ") + "--help"));
  return ExitCode::kUsage;
}

bool IsGiven(const CLI::App& verb, const char* option) {
  const CLI::Option* const found = verb.get_option_no_throw(option);
  return found != nullptr && found->count() > 0;
}

// To describe what all verbs take costs more than most of what they do: at first only those are described
// that the words name. What such a command line does not understand, a whole one says.
class CommandLine {
 public:
  CommandLine(const std::vector<std::string>& words, bool is_whole)
      : is_whole_(is_whole || std::ranges::any_of(AllVerbs(), [&words](const Verb& verb) {
                    return verb.is_of_all && IsNamed(verb, words);
                  })) {
    DescribeAll();
    for (const Verb& verb : AllVerbs()) {
      CLI::App* const app = app_.add_subcommand(verb.name, verb.summary);
      Action action;
      if (is_whole_ || IsNamed(verb, words)) action = verb.define(cli::Arguments(app));
      verbs_.push_back({&verb, app, std::move(action)});
    }
    cli::FitHelp(app_);
  }
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // nullopt: a whole one has to say it.
  std::optional<ExitCode> Run(std::vector<std::string> words) {
    if (!is_whole_ && !words.empty() && words[0] == "help") return std::nullopt;
    // `help verify` = `verify --help`
    if (!words.empty() && words[0] == "help") {
      if (words.size() > 1) {
        if (const std::string wrong = NoVerb(words[1]); !wrong.empty()) return Usage(wrong);
      }
      words.erase(words.begin());
      words.resize(std::min<size_t>(words.size(), 1));
      words.emplace_back("--help");
    }
    if (const base::Status taken = TakeForeignWords(&words); !taken.ok()) return Usage(taken.message());
    try {
      app_.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const CLI::ParseError& error) {
      if (!is_whole_) return std::nullopt;
      const auto verbs = app_.get_subcommands();
      if (const std::string wrong = WrongFile(error); !wrong.empty()) return context_.Fail(Wrong(wrong));
      FindOwnOptions(words);
      if (error.get_exit_code() != 0)
        return Usage(Placed(WhatIsWrong(words, error)), verbs.empty() ? "" : verbs.front()->get_name());
      const bool is_help = dynamic_cast<const CLI::CallForVersion*>(&error) == nullptr;
      const Known* const verb = verbs.empty() || !is_help ? nullptr : Find(verbs.front()->get_name());
      std::string below;
      if (verb != nullptr && verb->action.before_help && !IsGiven(*verb->app, "--help-all"))
        below = verb->action.before_help(context_);
      app_.exit(error);  // --help, --version
      if (!below.empty()) OwnStreams()->Print("\n" + below + "\n");
      // Programs that call msprof look there for what it can do, word for word.
      if (verb != nullptr && verb->verb->name == kMsprof)
        OwnStreams()->Print("\n--type: text(which will also export the database), or db alone\n");
      return ExitCode::kOk;
    }
    FindOwnOptions(words);
    const auto chosen = std::ranges::find_if(verbs_, [](const Known& known) { return known.app->parsed(); });
    if (!is_whole_ && chosen == verbs_.end()) return std::nullopt;
    if (option_tables_) return Print(options::StatusTables());
    if (kind_tables_) return Print(KindTables());
    if (man_) return Print(cli::ManPage(app_, Manual()));
    if (chosen == verbs_.end()) return Usage("name what to do: " + Names());
    if (const std::string empty = EmptyValue(app_); !empty.empty())
      return Usage(Placed(empty + ": the value is empty"));
    if (const auto presets = UserPresetNames(); !presets.ok()) return context_.Fail(presets.status());
    return Run(*chosen);
  }

 private:
  struct Known {
    const Verb* verb;
    CLI::App* app;
    Action action;
  };

  static bool IsNamed(const Verb& verb, const std::vector<std::string>& words) {
    return std::ranges::count(words, verb.name) > 0;
  }

  void DescribeAll() {
    app_.footer(kExitCodes);
    app_.set_version_flag("--version", std::string("profctl ") + base::kVersion);
    app_.add_option("--socket", context_.socket,
                    "profd's socket; default PROFD_ADDRESS, else /run/profd/profd.sock");
    app_.add_option("--host", context_.host, "another node's profd: HOST:PORT (remote.listen there)");
    app_.add_option(
        "--hosts", many_.hosts,
        "many nodes at once: n[001-512],n7:9478,@FILE,slurm:JOBID,k8s:SELECTOR,etcd:PREFIX?LABEL=VALUE");
    app_.add_option("--relays", many_.relays,
                    "with --hosts: nodes that ask the others (remote.relay there); written as --hosts");
    app_.add_option("--etcd", many_.etcd, "with --hosts etcd:…: HOST:PORT,…, or https://HOST:PORT");
    app_.add_option("--parallel", many_.parallel, "with --hosts: how many nodes at once; default 128");
    app_.add_option("--timeout", timeout_,
                    "a node that has not answered in this time counts as failed, e.g. 30s");
    app_.add_option("--tls-ca", context_.ca, "PEM file: the authority that signs the nodes' certificates");
    app_.add_option("--tls-cert", context_.cert, "PEM file: your certificate");
    app_.add_option("--tls-key", context_.key, "PEM file: the key of your certificate");
    app_.add_flag("--plain", context_.plain, "ask --host without certificates; on loopback only");
    app_.add_flag("--json", context_.json, "print JSON");
    app_.add_flag("--help-man", man_, "print profctl(1)")->group("");  // for packages: not in --help
    app_.add_flag("--help-options", option_tables_, "print the tables of docs/msprof.md")->group("");
    app_.add_flag("--help-kinds", kind_tables_, "print the tables of docs/kinds.md")->group("");
    app_.config_formatter(file_);
    app_.set_config("--client-config", DefaultConfig(),
                    "a file of options that always apply, one per line: tls-ca = \"/etc/profd/ca.pem\"");
    app_.add_option("--user-preset", UserPresets(), "for profctl.conf: presets of your own, NAME=KINDS each")
        ->group("");
    app_.allow_config_extras(false);  // a wrong word in the file is an error
    app_.fallthrough();
    app_.require_subcommand(0, 1);  // none is told apart with better words than CLI11's
  }

  static base::Status Wrong(const std::string& what) { return {base::Code::kInvalidArgument, what}; }

  // Of the file of options; "" = it is not that.
  std::string WrongFile(const CLI::ParseError& error) const {
    const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
    if (code != CLI::ExitCodes::ConfigError && code != CLI::ExitCodes::FileError) return "";
    const std::string path = FilePath();
    if (code == CLI::ExitCodes::ConfigError)
      return Excerpt(path) + (std::isdigit(static_cast<unsigned char>(*error.what())) != 0 ? ":" : ": ") +
             error.what();
    std::error_code ignored;
    return "--client-config " + Excerpt(path) + ": " +
           (std::filesystem::is_directory(path, ignored) ? "is a directory"
            : std::filesystem::exists(path, ignored)     ? "you may not read it"
                                                         : "there is no such file") +
           ": name a file of options, or leave it out";
  }
  std::string FilePath() const {
    const auto paths = app_.get_config_ptr()->as<std::vector<std::string>>();
    return paths.empty() ? "" : paths.front();
  }

  // Options of this command line that are in the file, and not among its words.
  void FindOwnOptions(const std::vector<std::string>& words) {
    const auto verbs = app_.get_subcommands();
    for (const auto& [key, line] : file_->lines()) {
      const auto& [section, name] = key;
      const std::string option = "--" + name;
      const bool is_given = std::ranges::any_of(words, [&option](const std::string& word) {
        return word == option || word.starts_with(option + "=");
      });
      if (is_given || (!section.empty() && (verbs.empty() || verbs.front()->get_name() != section))) continue;
      const std::string place = FilePath() + ":" + std::to_string(line);
      OptionPlaces().emplace_back(option, place);
      OptionPlaces().emplace_back(name, place);
    }
  }

  static ExitCode Print(const std::string& text) {
    OwnStreams()->Print(text);
    return ExitCode::kOk;
  }

  // "devices, targets or doctor"
  std::string Names() const {
    std::vector<std::string> names;
    for (const CLI::App* verb : cli::Verbs(app_)) names.push_back(verb->get_name());
    std::string text;
    for (size_t i = 0; i < names.size(); ++i)
      text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
    return text;
  }

  Known* Find(const std::string& name) {
    const auto found =
        std::ranges::find_if(verbs_, [&name](const Known& known) { return known.verb->name == name; });
    return found == verbs_.end() ? nullptr : &*found;
  }

  // "" = it is one.
  std::string NoVerb(const std::string& given) {
    if (Find(given) != nullptr) return "";
    std::vector<std::string> names;
    for (const CLI::App* verb : cli::Verbs(app_)) names.push_back(verb->get_name());
    const std::string text = "'" + Excerpt(given) + "' is not a verb of profctl";
    // Who stops typing means what begins so.
    const auto begins = std::ranges::find_if(
        names, [&given](const std::string& name) { return given.size() > 1 && name.starts_with(given); });
    if (begins != names.end()) return text + ": did you mean " + *begins + "?";
    if (const std::string_view nearest = base::Nearest(given, names); !nearest.empty())
      return text + ": did you mean " + std::string(nearest) + "?";
    return text + "; profctl --help lists them";
  }

  // Of the verbs first: see cli::WhatIsWrong().
  std::string WhatIsWrong(const std::vector<std::string>& words, const CLI::ParseError& error) {
    const std::string given = words.empty() ? "" : words[0];
    if (!given.empty() && !given.starts_with('-')) {
      std::string text = NoVerb(given);
      // "session list"
      if (!text.empty() && words.size() > 1 && Find(words[1]) != nullptr)
        return "'" + Excerpt(given) + "' is not a verb of profctl: did you mean profctl " + words[1] + "?";
      if (!text.empty()) return text;
    }
    const Known* known =
        app_.get_subcommands().empty() ? nullptr : Find(app_.get_subcommands().front()->get_name());
    const std::vector<std::string> extras = app_.remaining(true);
    const auto is_extra = [&extras](const std::string& word) { return std::ranges::count(extras, word) > 0; };
    const auto first = std::ranges::find_if(words, is_extra);
    if (known != nullptr && known->action.take_program && first != words.end() && !first->starts_with('-')) {
      const std::string name = known->verb->name;
      return name + ": put -- in front of the program, so that its options are its own: profctl " + name +
             " -- " + Excerpt(*first) + " …";
    }
    if (known != nullptr && first != words.end()) {
      if (std::string text = Meant(*known, *first); !text.empty()) return text;
    }
    return Excerpt(cli::WhatIsWrong(app_, error), kMostWords);
  }

  // Of a word that `known` does not take: what it takes in its place. "" = nobody knows.
  static std::string Meant(const Known& known, const std::string& word) {
    if (known.app->get_option_no_throw("--collect") != nullptr) {
      const std::string kind = word.substr(0, word.find_first_of(",:="));
      if (format::FindKind(kind)) {
        return std::string(known.verb->name) + ": '" + Excerpt(word) +
               "': name kinds with --collect, with commas between: --collect " + Excerpt(word) + ",…";
      }
    }
    // Of nsys, ncu, dyno and msprof.
    static constexpr std::pair<std::string_view, std::string_view> kForeign[] = {
        {"--trace", "--preset, or --collect KIND,…"},
        {"--sample", "--collect host-cpu-profile"},
        {"--gpu-metrics-device", "--devices with --preset or --collect"},
        {"--gpu-metrics-devices", "--devices with --preset or --collect"},
        {"--capture-range", "--steps, or --step"},
        {"--start-step", "--steps, or --step"},
        {"--iterations", "--steps"},
        {"--duration-ms", "--duration, e.g. 2000ms"},
        {"--job-id", "--label KEY=VALUE"},
        {"--log-file", "--output"}};
    const std::string option = word.substr(0, word.find('='));
    for (const auto& [name, ours] : kForeign) {
      if (option != name) continue;
      return "'" + option + "' is not an option of profctl " + known.verb->name + ": see " +
             std::string(ours) + " (docs/coming-from.md)";
    }
    return "";
  }

  // Takes away what is not ours to parse: what is behind `--` is a program's business, what is behind
  // `msprof` the vendor's.
  base::Status TakeForeignWords(std::vector<std::string>* words) {
    const Known* known = nullptr;
    for (size_t i = 0; i < words->size(); ++i) {
      const auto behind = words->begin() + static_cast<ptrdiff_t>(i) + 1;
      if ((*words)[i] == "--") {
        program_.assign(behind, words->end());
        words->resize(i);
      } else if (known == nullptr && (known = Find((*words)[i])) != nullptr && known->action.take_words) {
        PROFD_ASSIGN_OR_RETURN(const std::vector<std::string> rest,
                               known->action.take_words({behind, words->end()}));
        words->erase(behind, words->end());
        words->insert(words->end(), rest.begin(), rest.end());
        return {};
      }
    }
    return {};
  }

  base::Status SetDeadline() {
    if (!timeout_.empty()) {
      PROFD_ASSIGN_OR_RETURN(const uint64_t ns, ParseDurationNs("--timeout", timeout_));
      context_.deadline_ns = base::MonotonicNs() + ns;
    } else if (context_.is_one_of_many) {
      context_.deadline_ns = base::MonotonicNs() + kFleetTimeoutNs;
    }
    return {};
  }

  ExitCode Run(const Known& known) {
    const Action& action = known.action;
    if (action.take_program) {
      action.take_program(program_);
      if (known.verb->reach == Reach::kHere) return action.run(context_);  // becomes the program
    } else if (!program_.empty()) {
      return Usage("only profctl run and record take a command behind --");
    }
    std::signal(SIGPIPE, SIG_IGN);  // `profctl list | head` is no accident worth a signal
    context_.is_one_of_many = !many_.hosts.empty();
    if (const base::Status set = SetDeadline(); !set.ok()) return context_.Fail(set);
    if (action.prepare) {
      if (const base::Status ready = action.prepare(&context_); !ready.ok()) return context_.Fail(ready);
    }
    if (context_.is_one_of_many) {
      const std::string against = AgainstMany(*known.verb, action, context_);
      return against.empty() ? RunOnHosts(many_, *known.verb, action, context_) : Usage(against);
    }
    return action.ask ? action.ask(context_).Now() : action.run(context_);
  }

  const bool is_whole_;
  CLI::App app_{kAbout, "profctl"};
  const std::shared_ptr<cli::OptionsFile> file_ = std::make_shared<cli::OptionsFile>(app_);
  Context context_;
  Many many_;
  std::string timeout_;
  bool man_ = false;
  bool option_tables_ = false;
  bool kind_tables_ = false;
  std::vector<std::string> program_;  // behind `--`
  std::vector<Known> verbs_;
};

// Called as msprof, by a link or by its stand-in (client/shim).
bool IsMsprof(int argc, char** argv) {
  const char* const as = std::getenv("PROFCTL_AS");
  const bool by_shim = as != nullptr && as == kMsprof;
  ::unsetenv("PROFCTL_AS");  // programs that it starts are none
  return by_shim || (argc > 0 && std::filesystem::path(argv[0]).filename() == kMsprof);
}

}  // namespace

ExitCode RunCommandLine(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const bool is_msprof = IsMsprof(argc, argv);
  if (is_msprof) words.insert(words.begin(), std::string(kMsprof));
  std::optional<ExitCode> done = CommandLine(words, false).Run(words);
  if (!done) done = CommandLine(words, true).Run(words);
  const ExitCode code = *done;
  // torch_npu's analyse() looks every 0.1 s for the first table, and gives up half of its results if by then
  // the export is already over.
  constexpr auto kUntilSeen = std::chrono::milliseconds(400);
  if (is_msprof && std::ranges::count(words, "--export=on") > 0) std::this_thread::sleep_for(kUntilSeen);
  // Who calls msprof takes any code but 0 for a failure, and gives up; the real one says nothing of losses.
  return is_msprof && code == ExitCode::kPartialLoss ? ExitCode::kOk : code;
}

}  // namespace profd::client
