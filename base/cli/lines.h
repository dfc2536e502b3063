// The visible part of a CLI::App.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace profd::cli {

inline std::vector<const CLI::App*> Verbs(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* verb) { return !verb->get_group().empty(); });
}

inline std::vector<const CLI::Option*> Options(const CLI::App& app) {
  return app.get_options(
      [](const CLI::Option* option) { return option->nonpositional() && !option->get_group().empty(); });
}

inline std::vector<const CLI::Option*> Positionals(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

// "-h", "--help"
inline std::vector<std::string> Names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

inline bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() != 0; }

}  // namespace profd::cli
