// Thresholds of rules, each with a default and a name that --set takes: "rank.compute_percent=3".
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace profd::analyze {

struct Setting {
  std::string_view key;
  double value;
  std::string_view what;
};
std::span<const Setting> DefaultSettings();

class Settings {
 public:
  // "key=value". An unknown key or no number is refused with the nearest key.
  base::Status Set(std::string_view text);
  double Get(std::string_view key) const;

 private:
  std::map<std::string, double, std::less<>> changed_;
};

}  // namespace profd::analyze
