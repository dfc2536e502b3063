#include "client/words/alike.h"

#include <algorithm>

namespace profd::client {

namespace {

constexpr std::string_view kAny = "…";

// The number, or what stands for many, at the beginning; "" = there is none.
std::string_view NumberAt(std::string_view text) {
  if (text.starts_with(kAny)) return kAny;
  return text.substr(0, std::min(text.find_first_not_of("0123456789"), text.size()));
}

}  // namespace

std::optional<std::string> Merged(std::string_view one, std::string_view other) {
  if (one == other) return std::string(one);
  std::string merged;
  while (!one.empty() && !other.empty()) {
    const std::string_view mine = NumberAt(one), its = NumberAt(other);
    if (mine.empty() != its.empty()) return {};
    if (mine.empty()) {
      if (one.front() != other.front()) return {};
      merged += one.front();
      one.remove_prefix(1);
      other.remove_prefix(1);
      continue;
    }
    merged += mine == its ? mine : kAny;
    one.remove_prefix(mine.size());
    other.remove_prefix(its.size());
  }
  if (!one.empty() || !other.empty()) return {};
  return merged;
}

}  // namespace profd::client
