#include <algorithm>
#include <charconv>
#include <map>

#include "base/join.h"
#include "client/show/render.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

constexpr size_t kMostLines = 4;

void AddOnce(std::vector<std::string>& list, const std::string& text) {
  if (!text.empty() && std::ranges::count(list, text) == 0) list.push_back(text);
}

}  // namespace

std::string UnitsText(const std::vector<std::string>& units) {
  std::vector<std::string> rest;
  std::map<std::string, std::vector<uint32_t>> numbers;
  for (const std::string& unit : units) {
    const size_t colon = unit.find(':');
    const char* const begin = unit.data() + std::min(colon + 1, unit.size());
    const char* const end = unit.data() + unit.size();
    uint32_t number = 0;
    const auto [read, error] = std::from_chars(begin, end, number);
    if (colon == unit.npos || error != std::errc() || read != end) {
      rest.push_back(unit);
    } else {
      numbers[unit.substr(0, colon + 1)].push_back(number);
    }
  }
  for (const auto& [prefix, all] : numbers) rest.push_back(prefix + RangesText(all));
  return base::Joined(rest, ", ");
}

void Reasons::Add(const std::string& what, const std::string& unit, const std::string& why) {
  // "a 910B has no ddr" and "a 910B has no ub" are one reason.
  std::string common = why;
  if (why.ends_with(" no " + what)) common.replace(why.size() - what.size() - 4, std::string::npos, " none");
  auto group = std::ranges::find(groups_, common, &Group::why);
  if (group == groups_.end()) group = groups_.insert(groups_.end(), {common, {}, {}});
  AddOnce(group->what, what);
  AddOnce(group->units, unit);
}

std::string Reasons::Text(const std::string& verb, const Look& look, const std::string& more) const {
  std::string text;
  std::vector<std::string> rest;
  for (size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    if (!look.all && groups_.size() > kMostLines && i + 1 >= kMostLines) {
      for (const std::string& what : group.what) AddOnce(rest, what);
      continue;
    }
    std::string line = verb + " " + base::Joined(group.what, ", ");
    if (!group.units.empty()) line += " (" + UnitsText(group.units) + ")";
    if (!group.why.empty()) line += ": " + group.why;
    text += Paint(Wrapped(OneLine(line), look.columns), Colour::kDim, look) + "\n";
  }
  if (rest.empty()) return text;
  const std::string line = verb + " also " + base::Joined(rest, ", ") + "; " + more + " says why";
  return text + Paint(Wrapped(OneLine(line), look.columns), Colour::kDim, look) + "\n";
}

}  // namespace profd::client
