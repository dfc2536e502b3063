// Where the options of a command line stand that a file of options sets.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace profd::client {

// "--duration", "/etc/profd/profctl.conf:3": set once, by the command line, before there are threads.
inline std::vector<std::pair<std::string, std::string>>& OptionPlaces() {
  static std::vector<std::pair<std::string, std::string>> places;
  return places;
}

// What is wrong with an option, behind the place that sets it: "…/profctl.conf:3: --duration '3': …".
inline std::string Placed(const std::string& wrong) {
  for (const auto& [option, place] : OptionPlaces()) {
    const size_t end = option.size();
    if (wrong.starts_with(option) && wrong.size() > end && (wrong[end] == ' ' || wrong[end] == ':'))
      return place + ": " + wrong;
  }
  return wrong;
}

}  // namespace profd::client
