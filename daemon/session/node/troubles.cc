#include "daemon/session/node/troubles.h"

#include <algorithm>

#include "base/join.h"

namespace profd::session {

namespace {

constexpr size_t kMost = 32;

}  // namespace

bool Troubles::Add(const std::string& what) {
  if (std::ranges::any_of(all_, [&](const Trouble& one) { return !one.device && one.what == what; }))
    return false;
  if (all_.size() < kMost) all_.push_back({std::nullopt, {}, what});
  return true;
}

std::optional<size_t> Troubles::Add(uint32_t device, const std::string& kind, const std::string& what) {
  const auto known = std::ranges::find_if(
      all_, [&](const Trouble& one) { return one.device == device && one.what == what; });
  if (known != all_.end()) {
    if (std::ranges::find(known->kinds, kind) == known->kinds.end()) known->kinds.push_back(kind);
    return std::nullopt;
  }
  if (all_.size() >= kMost) return std::nullopt;
  all_.push_back({device, {kind}, what});
  return all_.size() - 1;
}

std::string Troubles::Text(size_t place) const {
  const Trouble& one = all_[place];
  return one.device
             ? "device " + std::to_string(*one.device) + " " + base::Joined(one.kinds) + ": " + one.what
             : one.what;
}

std::vector<std::string> Troubles::Texts() const {
  std::vector<std::string> texts;
  for (size_t place = 0; place < all_.size(); ++place) texts.push_back(Text(place));
  return texts;
}

}  // namespace profd::session
