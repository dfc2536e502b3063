#include "daemon/config/reload.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace profd::config {

namespace {

struct LiveKey {
  std::string_view name;
  void (*take)(const Config& from, Config& to);
};

constexpr LiveKey kLive[] = {
    {"store.move_mb_per_s",
     [](const Config& from, Config& to) { to.store.move_mb_per_s = from.store.move_mb_per_s; }},
    {"store.quota_per_user_bytes",
     [](const Config& from, Config& to) { to.store.quota_per_user_bytes = from.store.quota_per_user_bytes; }},
    {"store.quota_spool_bytes",
     [](const Config& from, Config& to) { to.store.quota_spool_bytes = from.store.quota_spool_bytes; }},
    {"store.keep_free_bytes",
     [](const Config& from, Config& to) { to.store.keep_free_bytes = from.store.keep_free_bytes; }},
    {"session.default_duration_s",
     [](const Config& from, Config& to) { to.session.default_duration_s = from.session.default_duration_s; }},
    {"session.max_duration_s",
     [](const Config& from, Config& to) { to.session.max_duration_s = from.session.max_duration_s; }},
    {"session.max_sessions",
     [](const Config& from, Config& to) { to.session.max_sessions = from.session.max_sessions; }},
    {"auth.group", [](const Config& from, Config& to) { to.auth.group = from.auth.group; }},
    {"auth.admin_group", [](const Config& from, Config& to) { to.auth.admin_group = from.auth.admin_group; }},
    {"auth.breakpoints", [](const Config& from, Config& to) { to.auth.breakpoints = from.auth.breakpoints; }},
    {"log.level", [](const Config& from, Config& to) { to.log.level = from.log.level; }},
};

// "section.key" → its line, of every key.
std::map<std::string, std::string> Lines(const Config& config) {
  std::map<std::string, std::string> lines;
  const std::string dump = DumpConfig(config);
  std::string section;
  for (std::string_view rest = dump; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const size_t colon = line.find(':');
    if (colon + 1 == line.size()) {
      section = std::string(line.substr(0, colon)) + ".";
      continue;
    }
    const bool inside = line.starts_with(' ');
    const size_t from = line.find_first_not_of(' ');
    const std::string name = (inside ? section : "") + std::string(line.substr(from, colon - from));
    lines[name] = name + std::string(line.substr(colon));
  }
  return lines;
}

}  // namespace

Reload ApplyLive(const Config& fresh, Config& running) {
  Reload reload;
  const auto before = Lines(running);
  for (const LiveKey& key : kLive) key.take(fresh, running);
  const auto applied = Lines(running);
  for (const auto& [name, line] : Lines(fresh)) {
    if (line == before.at(name)) continue;
    (line == applied.at(name) ? reload.applied : reload.at_restart).push_back(line);
  }
  return reload;
}

}  // namespace profd::config
