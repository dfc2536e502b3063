#include "base/cli/help.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/wrap.h"

namespace profd::cli {
namespace {

constexpr size_t kUsualColumns = 80;
constexpr size_t kLeastColumns = 50;  // of a terminal; in a narrower one lines wrap by themselves
constexpr size_t kNames = 26;  // columns of the names of options and verbs, with what is in front of them

// Lists without blanks, as "n1,n7:9478,@FILE", are broken behind a comma or a bar.
std::string WithPlacesToBreak(std::string_view text, size_t columns) {
  std::string broken;
  size_t word = 0;  // where it begins in `broken`
  for (const char c : text) {
    broken += c;
    if (c == ' ') word = broken.size();
    if (base::Width(std::string_view(broken).substr(word)) <= columns) continue;
    const size_t at = broken.find_last_of(",|", broken.size() - 2);
    if (at == broken.npos || at < word) continue;
    broken.insert(at + 1, " ");
    word = at + 2;
  }
  return broken;
}

std::string Lines(std::string_view text, size_t columns, size_t indent) {
  std::string lines;
  for (const std::string& line : base::Broken(WithPlacesToBreak(text, columns - indent), columns - indent))
    lines += (lines.empty() ? "" : "\n" + std::string(indent, ' ')) + line;
  return lines;
}

class Fitted : public CLI::Formatter {
 public:
  Fitted() {
    const size_t own = base::OwnColumns();
    columns_ = own == 0 ? kUsualColumns : std::max(own, kLeastColumns);
    column_width(kNames);
  }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return Row(make_option_name(option, is_positional) + make_option_opts(option), make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* verb) const override {
    return Row(verb->get_display_name(true), verb->get_description());
  }
  std::string make_description(const CLI::App* app) const override {
    return app->get_description().empty() ? "" : Lines(app->get_description(), columns_, 0) + "\n";
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    while (usage.ends_with('\n')) usage.pop_back();
    return Lines(usage, columns_, 2) + "\n";
  }
  std::string make_footer(const CLI::App* app) const override {
    return app->get_footer().empty() ? "" : Lines(app->get_footer(), columns_, 2) + "\n";
  }

 private:
  std::string Row(const std::string& names, const std::string& what) const {
    std::string row = "  " + names;
    if (what.empty()) return row + "\n";
    row += base::Width(row) + 2 > kNames ? "\n" + std::string(kNames, ' ')
                                         : std::string(kNames - base::Width(row), ' ');
    // Breaks that somebody meant stay.
    for (size_t at = 0; at <= what.size();) {
      const size_t end = std::min(what.find('\n', at), what.size());
      if (at > 0) row += "\n" + std::string(kNames, ' ');
      row += Lines(std::string_view(what).substr(at, end - at), columns_, kNames);
      at = end + 1;
    }
    return row + "\n";
  }

  size_t columns_ = kUsualColumns;
};

void Fit(CLI::App& app, const std::shared_ptr<CLI::FormatterBase>& fitted) {
  app.formatter(fitted);
  for (CLI::App* verb : app.get_subcommands({})) Fit(*verb, fitted);
}

}  // namespace

void FitHelp(CLI::App& app) { Fit(app, std::make_shared<Fitted>()); }

}  // namespace profd::cli
