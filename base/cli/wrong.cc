#include "base/cli/wrong.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/cli/lines.h"
#include "base/edit_distance.h"
#include "base/text.h"

namespace profd::cli {

namespace {

// Of `names` the one that means what `given` means in another verb, or to who comes from another tool.
std::string_view Synonym(std::string_view given, const std::vector<std::string>& names) {
  static const std::vector<std::string_view> kSynonyms[] = {
      {"--for", "--duration", "--time", "--seconds"},
      {"--collect", "--kinds", "--events"},
      {"--out", "--output", "--output-dir", "-o"},
      {"--pid", "--process", "--pids"},
  };
  for (const std::vector<std::string_view>& group : kSynonyms) {
    if (std::ranges::find(group, given) == group.end()) continue;
    const auto found = std::ranges::find_first_of(names, group);
    if (found != names.end()) return *found;
  }
  return {};
}

// "mv SESSION DIR [OPTIONS]", of the verb, or the verb's verb, that has been given last.
std::string UsageOf(const CLI::App& app) {
  std::string text;
  for (const CLI::App* verb = &app;;) {
    const auto inner = verb->get_subcommands();
    if (inner.empty()) {
      for (const CLI::Option* option : verb->get_options()) {
        if (!option->get_lnames().empty() || !option->get_snames().empty()) continue;
        text += option->get_required() ? " " + option->get_name() : " [" + option->get_name() + "]";
      }
      return text + " [OPTIONS]";
    }
    verb = inner.front();
    text += (text.empty() ? "" : " ") + verb->get_name();
  }
}

// The first word that nobody takes, and the option it may have been meant for.
std::string NotExpected(const CLI::App& app, const std::string& word) {
  if (!word.starts_with('-'))
    return "'" + base::Excerpt(word) + "' was not expected: " + app.get_name() + " " + UsageOf(app);
  std::vector<std::string> names;
  const auto add = [&names](const CLI::App& one) {
    for (const CLI::Option* option : one.get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  };
  add(app);
  for (const CLI::App* verb : app.get_subcommands()) add(*verb);
  const std::string given = word.substr(0, word.find('='));
  std::string_view nearest = Synonym(given, names);
  if (nearest.empty()) nearest = base::Nearest(given, names);
  return "'" + base::Excerpt(given) + "' is not an option" +
         (nearest.empty() ? std::string() : ": did you mean " + std::string(nearest) + "?");
}

// "tls: name what to do: init, node or client", of the verb that has been given last.
std::string NameOne(const CLI::App& app) {
  const CLI::App* verb = &app;
  while (!verb->get_subcommands().empty()) verb = verb->get_subcommands().front();
  const std::vector<const CLI::App*> inner = Verbs(*verb);
  std::string text = verb->get_name() + ": name what to do:";
  for (size_t i = 0; i < inner.size(); ++i)
    text += (i == 0 ? " " : i + 1 == inner.size() ? " or " : ", ") + inner[i]->get_name();
  return text;
}

}  // namespace

std::string WhatIsWrong(const CLI::App& app, const CLI::ParseError& error) {
  if (const std::vector<std::string> extras = app.remaining(true);
      error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) && !extras.empty())
    return NotExpected(app, extras.front());
  std::string text = error.what();
  constexpr std::string_view kNoNumber = "Could not convert: ";
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ConversionError) &&
      text.starts_with(kNoNumber)) {
    const size_t equals = text.find(" = ");
    const std::string name = text.substr(kNoNumber.size(), equals - kNoNumber.size());
    const std::string value = equals == text.npos ? "" : " '" + base::Excerpt(text.substr(equals + 3)) + "'";
    return name + value + ": expected a whole number";
  }
  constexpr std::string_view kIsRequired = " is required", kVerb = "A subcommand";
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError) && text.starts_with(kVerb))
    return NameOne(app);
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError) && text.ends_with(kIsRequired))
    return text.substr(0, text.size() - kIsRequired.size()) + " is missing: " + app.get_name() + " " +
           UsageOf(app);
  if (!text.starts_with('-')) return text;
  const std::string name = text.substr(0, text.find(':'));
  const std::string_view what = std::string_view(text).substr(name.size());
  if (what.starts_with(": At Most 1 required but received ")) {
    return name + ": given " + text.substr(text.rfind(' ') + 1) + " times, takes one value";
  }
  if (!what.ends_with(" missing")) return text;  // ": 1 required TEXT missing"
  const CLI::Option* option = nullptr;
  for (const CLI::App* verb = &app; verb != nullptr && option == nullptr;) {
    option = verb->get_option_no_throw(name);
    const auto inner = verb->get_subcommands();
    verb = inner.empty() ? nullptr : inner.front();
  }
  const std::string about = option == nullptr ? "" : " (" + option->get_description() + ")";
  return name + ": its value is missing" + about;
}

}  // namespace profd::cli
