#include "daemon/session/plan/selection.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

namespace profd::session {

using base::Code;
using base::Result;
using base::Status;

namespace {

std::optional<uint64_t> Number(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool ItemMatches(std::string_view item, std::string_view value) {
  if (item == value) return true;
  const size_t dash = item.find('-');
  if (dash == std::string_view::npos) return false;
  const auto from = Number(item.substr(0, dash));
  const auto to = Number(item.substr(dash + 1));
  const auto is = Number(value);
  return from && to && is && *from <= *is && *is <= *to;
}

}  // namespace

AgentFacts AgentFactsOf(const agent::Peer& peer) {
  return {peer.Usable(), peer.holder(), peer.hello().capabilities};
}

bool LabelMatches(std::string_view wanted, std::string_view value) {
  for (size_t at = 0; at <= wanted.size();) {
    const size_t comma = std::min(wanted.find(',', at), wanted.size());
    if (ItemMatches(wanted.substr(at, comma - at), value)) return true;
    at = comma + 1;
  }
  return false;
}

std::map<std::string, std::string> LabelsOf(const fabric::Client& client) {
  std::map<std::string, std::string> labels;
  if (client.job != 0) labels["job_id"] = std::to_string(client.job);
  if (client.rank && client.family == fabric::Family::kMonitor) labels["rank"] = std::to_string(*client.rank);
  return labels;
}

namespace {

bool LabelsMatch(const std::map<std::string, std::string>& wanted,
                 const std::map<std::string, std::string>& labels) {
  return std::ranges::all_of(wanted, [&labels](const auto& selector) {
    const auto label = labels.find(selector.first);
    return label != labels.end() && LabelMatches(selector.second, label->second);
  });
}

}  // namespace

std::vector<pid_t> SelectPolling(const std::vector<fabric::Client>& clients, const auth::Caller& caller,
                                 const SessionSpec& spec) {
  std::vector<pid_t> pids;
  if (spec.agent_labels.empty()) return pids;
  for (const fabric::Client& client : clients) {
    if (!auth::May(caller, auth::Action::kCollectProcess, {.owner = client.sender.uid}).ok()) continue;
    if (LabelsMatch(spec.agent_labels, LabelsOf(client))) pids.push_back(client.sender.pid);
  }
  return pids;
}

Result<std::vector<pid_t>> SelectAgents(const agent::Registry& registry, const auth::Caller& caller,
                                        const SessionSpec& spec) {
  std::vector<pid_t> pids;
  if (!spec.all_agents && spec.agent_labels.empty()) return pids;
  for (const auto& peer : registry.All()) {
    if (!auth::May(caller, auth::Action::kCollectProcess, {.owner = peer->identity().uid}).ok()) continue;
    if (LabelsMatch(spec.agent_labels, peer->hello().labels)) pids.push_back(peer->identity().pid);
  }
  if (!pids.empty()) return pids;
  std::string what;
  for (const auto& [key, value] : spec.agent_labels)
    what += (what.empty() ? " with " : ", ") + key + "=" + value;
  return Status(Code::kNotFound,
                "no process with an agent" + what +
                    " is registered; profctl targets shows those that are, profctl run -- CMD starts one");
}

}  // namespace profd::session
