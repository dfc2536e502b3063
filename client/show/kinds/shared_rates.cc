#include "client/show/kinds/shared_rates.h"

#include <map>
#include <set>
#include <utility>

#include "base/join.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

constexpr double kSame = 0.99;  // periods are whole milliseconds

bool IsSlowed(const v1::KindState& kind) {
  return kind.reason() == "shared" && kind.effective_hz() > 0 &&
         kind.effective_hz() < kSame * kind.requested_hz();
}

// Of others than `session`.
std::string HoldersOf(const v1::KindState& kind, const std::string& session, const v1::DevicesReply& node) {
  std::string text;
  for (const v1::Device& device : node.devices()) {
    if (kind.unit() != "device:" + std::to_string(device.device())) continue;
    for (const v1::KindHolder& holder : device.holders()) {
      if (holder.kind() != kind.kind() || holder.holder().starts_with("session " + session + " ")) continue;
      text += (text.empty() ? "" : " and ") + holder.holder();
    }
  }
  return text.empty() ? "another session" : text;
}

}  // namespace

bool HasSharedRate(const v1::SessionInfo& info) {
  for (const v1::KindState& kind : info.kinds()) {
    if (IsSlowed(kind)) return true;
  }
  return false;
}

std::vector<std::string> SharedRates(const v1::SessionInfo& info, const v1::DevicesReply& node) {
  std::map<std::string, std::set<std::string>> kinds_by_what;
  for (const v1::KindState& kind : info.kinds()) {
    if (!IsSlowed(kind)) continue;
    kinds_by_what[FormatHz(kind.effective_hz()) + " instead of " + FormatHz(kind.requested_hz()) +
                  ", shared with " + HoldersOf(kind, info.session(), node)]
        .insert(kind.kind());
  }
  std::vector<std::string> lines;
  for (const auto& [what, kinds] : kinds_by_what) {
    lines.push_back(base::Joined(kinds) + ": " + what + ": to get more, stop what holds it and start again");
  }
  return lines;
}

}  // namespace profd::client
