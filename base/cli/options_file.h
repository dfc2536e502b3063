// A file of options that always hold: read as CLI11 reads it, but a mistake is told with its line and with
// what was expected.
#pragma once

#include <CLI/CLI.hpp>
#include <istream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace profd::cli {

class OptionsFile : public CLI::ConfigTOML {
 public:
  // Of the options of `app`, and in sections those of its verbs.
  explicit OptionsFile(const CLI::App& app) : app_(app) {}

  // Throws CLI::ConfigError, "3: '[strat]': …", at the first line that is wrong.
  std::vector<CLI::ConfigItem> from_config(std::istream& file) const override;

  // Options that the file sets, by section ("" = of the app itself) and name: their lines.
  using Lines = std::map<std::pair<std::string, std::string>, size_t>;
  const Lines& lines() const { return lines_; }

 private:
  const CLI::App& app_;
  mutable Lines lines_;  // CLI11 reads with a const method
};

}  // namespace profd::cli
