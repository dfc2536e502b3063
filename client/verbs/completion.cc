#include <algorithm>
#include <functional>
#include <map>

#include "base/cli/manual.h"
#include "base/clock.h"
#include "client/node/connection.h"
#include "client/verbs/user_presets.h"
#include "client/verbs/verb.h"
#include "format/kind.h"
#include "format/preset.h"

namespace profd::client {

namespace {

using base::Result;
using Words = std::vector<std::string>;

constexpr uint64_t kPatienceNs = 1'000'000'000;  // of somebody who has pressed Tab

// Shells take words apart and may run what is in them: those of others that are more than plain stay out.
bool IsPlain(const std::string& word) {
  return !word.empty() && word.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "0123456789._:@+-") == word.npos;
}

Words Kinds() {
  Words words;
  for (const format::KindTraits& kind : format::kKinds) words.emplace_back(kind.name);
  return words;
}

Words Presets() {
  Words words;
  for (const format::Preset& preset : format::Presets()) words.emplace_back(preset.name);
  if (const Result<Words> own = UserPresetNames(); own.ok())
    words.insert(words.end(), own->begin(), own->end());
  return words;
}

Words Sessions(ControlClient& control) {
  Words words;
  const Result<v1::ListReply> reply = control.List().Now();
  if (!reply.ok()) return words;
  if (reply->sessions_size() > 0) words.emplace_back("last");
  for (const v1::SessionInfo& info : reply->sessions()) {
    words.push_back(info.session());
    words.push_back(info.name());
  }
  return words;
}

Words Pids(ControlClient& control) {
  Words words;
  const Result<v1::TargetsReply> reply = control.Targets().Now();
  if (!reply.ok()) return words;
  for (const v1::Target& target : reply->targets()) words.push_back(std::to_string(target.pid()));
  return words;
}

Words Devices(ControlClient& control) {
  Words words;
  const Result<v1::DevicesReply> reply = control.Devices().Now();
  if (!reply.ok()) return words;
  if (reply->devices_size() > 0) words.emplace_back("all");
  for (const v1::Device& device : reply->devices()) words.push_back(std::to_string(device.device()));
  return words;
}

// Values of options and of words by their place: which of the lists below.
const std::vector<cli::Completed>& Completed() {
  static const std::vector<cli::Completed> all = {
      {"--collect", "kinds", true},     {"--kinds", "kinds", true},       {"--in-memory", "kinds", true},
      {"--preset", "presets", false},   {"--pid", "pids", true},          {"--devices", "devices", true},
      {"SESSION", "sessions", false},   {"DIR", "sessions", false, true}, {"BASE", "sessions", false, true},
      {"NEW", "sessions", false, true}, {"kinds", "kinds", false}};
  return all;
}

// What may stand there now; nothing where nobody can say.
Words ValuesOf(Context context, const std::string& what) {
  if (what == "kinds") return Kinds();
  if (what == "presets") return Presets();
  static const std::map<std::string, Words (*)(ControlClient&)> asked = {
      {"sessions", Sessions}, {"pids", Pids}, {"devices", Devices}};
  const auto found = asked.find(what);
  if (found == asked.end()) return {};
  if (context.deadline_ns == 0) context.deadline_ns = base::MonotonicNs() + kPatienceNs;
  const Result<Connection> connection = Connect(context);
  return connection.ok() ? found->second(*connection->control) : Words();
}

Action Define(cli::Arguments arguments) {
  const auto shell = std::make_shared<std::string>(), what = std::make_shared<std::string>();
  arguments.Text("SHELL", shell.get(), "bash or zsh; values: what completes a word now");
  arguments.Text("what", what.get(), "of values: kinds, presets, sessions, pids or devices");
  return {.run = [=](const Context& context) {
    if (*shell == "values") {
      Words words = ValuesOf(context, *what);
      std::erase_if(words, [](const std::string& word) { return !IsPlain(word); });
      for (const std::string& word : words) context.Print(word + "\n");
      return ExitCode::kOk;
    }
    if (shell->empty())
      return context.Fail({base::Code::kInvalidArgument, "completion: name the shell: bash or zsh"});
    const std::string script = cli::Completion(arguments.program(), *shell, Completed());
    if (script.empty())
      return context.Fail({base::Code::kInvalidArgument,
                           "completion '" + *shell + "': expected bash or zsh; see profctl --help"});
    context.Print(script);
    return ExitCode::kOk;
  }};
}

}  // namespace

namespace verbs {
Verb Completion() {
  return {"completion", "print a completion script for a shell", Reach::kHere, Define, true};
}
}  // namespace verbs

}  // namespace profd::client
