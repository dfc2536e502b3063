#include "base/cli/options_file.h"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "base/cli/lines.h"
#include "base/edit_distance.h"
#include "base/files/whole_file.h"
#include "base/text.h"

namespace profd::cli {

namespace {

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t from = text.find_first_not_of(kBlanks);
  return from == text.npos ? "" : text.substr(from, text.find_last_not_of(kBlanks) - from + 1);
}

std::string_view WithoutRemark(std::string_view text) { return Trimmed(text.substr(0, text.find('#'))); }

std::string Nearest(std::string_view given, const std::vector<std::string>& names) {
  const std::string_view nearest = base::Nearest(given, names);
  return nearest.empty() ? "" : ": did you mean " + std::string(nearest) + "?";
}

[[noreturn]] void Fail(size_t line, const std::string& what) {
  throw CLI::ConfigError(std::to_string(line) + ": " + what);
}

// "tls.node" → the verb's own verb; nullptr: there is none.
const CLI::App* SectionOf(const CLI::App& app, std::string_view section) {
  const CLI::App* verb = &app;
  while (!section.empty() && verb != nullptr) {
    const std::string_view name = section.substr(0, section.find('.'));
    section.remove_prefix(std::min(section.size(), name.size() + 1));
    const auto verbs = Verbs(*verb);
    const auto found = std::ranges::find(verbs, name, &CLI::App::get_name);
    verb = found == verbs.end() ? nullptr : *found;
  }
  return verb;
}

const CLI::Option* OptionOf(const CLI::App& app, const std::string& name) {
  const CLI::Option* option = app.get_option_no_throw("--" + name);
  return option != nullptr ? option : app.get_option_no_throw(name);
}

// What is wrong with a name in a section; "" = it is an option there.
std::string WrongName(const CLI::App& app, const CLI::App& verb, const std::string& name) {
  if (OptionOf(verb, name) != nullptr) return "";
  const std::string text = "'" + base::Excerpt(name) + "'";
  if (&verb != &app && OptionOf(app, name) != nullptr)
    return text + " holds for every verb: write it above the first [section]";
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& known : option->get_lnames()) names.push_back(known);
  }
  const bool is_own = &verb == &app;
  return text + " is not an option of " + app.get_name() + (is_own ? "" : " " + verb.get_name()) +
         (Nearest(name, names).empty()
              ? "; " + app.get_name() + (is_own ? "" : " " + verb.get_name()) + " --help lists them"
              : Nearest(name, names));
}

// What is wrong with what stands behind the `=`; "" = nothing that can be told without its option.
std::string WrongValue(const std::string& name, std::string_view value) {
  if (value.empty()) return "'" + base::Excerpt(name) + "' has no value: expected " + name + " = \"…\"";
  const char quote = value.front();
  const bool is_open = (quote == '"' || quote == '\'') && (value.size() == 1 || value.back() != quote);
  // A remark may stand behind it.
  if (is_open && (value.size() == 1 || value.find(quote, 1) == value.npos))
    return "'" + base::Excerpt(name) + "': the closing " + std::string(1, quote) + " of its value is missing";
  return "";
}

}  // namespace

std::vector<CLI::ConfigItem> OptionsFile::from_config(std::istream& file) const {
  // CLI11 would read on for as long as there are bytes.
  const base::Result<std::string> text = base::ReadWhole(file);
  if (!text.ok()) throw CLI::ConfigError(text.status().message());
  std::istringstream lines(*text);
  std::string whole, section;
  const CLI::App* verb = &app_;
  for (size_t number = 1; std::getline(lines, whole); ++number) {
    const std::string_view line = Trimmed(whole);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      if (line.size() < 3 || line.back() != ']') Fail(number, "expected [VERB], as [start]");
      section = Trimmed(line.substr(1, line.size() - 2));
      if (section == "default") section.clear();
      verb = SectionOf(app_, section);
      if (verb == nullptr) {
        std::vector<std::string> names;
        for (const CLI::App* one : Verbs(app_)) names.push_back(one->get_name());
        Fail(number, "'[" + base::Excerpt(section) + "]' is not a verb of " + app_.get_name() +
                         Nearest(section, names));
      }
      continue;
    }
    const size_t equals = line.find('=');
    const std::string name(Trimmed(line.substr(0, equals)));
    if (name.empty()) Fail(number, "expected OPTION = VALUE");
    if (const std::string wrong = WrongName(app_, *verb, name); !wrong.empty()) Fail(number, wrong);
    lines_[{section, name}] = number;
    if (equals == line.npos) {
      if (TakesValue(*OptionOf(*verb, name))) Fail(number, WrongValue(name, ""));
      continue;
    }
    const std::string_view value = Trimmed(line.substr(equals + 1));
    if (const std::string wrong = WrongValue(name, value); !wrong.empty()) Fail(number, wrong);
    if (value.front() != '[') continue;
    // A list may go on over lines.
    const size_t begin = number;
    for (std::string_view end = WithoutRemark(value); end.empty() || end.back() != ']'; ++number) {
      if (!std::getline(lines, whole))
        Fail(begin, "'" + base::Excerpt(name) + "': the closing ] of its list is missing");
      end = WithoutRemark(whole);
    }
  }
  std::istringstream again(*text);
  return CLI::ConfigTOML::from_config(again);
}

}  // namespace profd::cli
