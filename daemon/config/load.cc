// YAML ⇄ Config. One table of keys serves reading, writing and the "did you mean" of an unknown key.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <sstream>
#include <variant>
#include <vector>

#include "base/edit_distance.h"
#include "base/files/whole_file.h"
#include "base/join.h"
#include "daemon/config/config.h"

namespace profd::config {

namespace {

using base::Code;
using base::Result;
using base::Status;

struct Number {
  uint64_t* value;
  uint64_t min;
  uint64_t max;
  uint64_t multiple_of = 1;
  bool power_of_two = false;
};

struct OneOf {
  std::string* value;
  std::vector<std::string> words;
};

using Words = std::vector<std::string>;

struct Key {
  const char* section;  // "" = top level
  const char* name;
  std::variant<std::string*, bool*, Number, OneOf, Words*> target;
};

std::vector<Key> KeysOf(Config& c) {
  constexpr uint64_t kDay = 24 * 3600;
  constexpr uint64_t kPebibyte = 1ull << 50;
  return {
      {"", "socket", &c.socket},
      {"store", "spool", &c.store.spool},
      {"store", "slice_bytes", Number{&c.store.slice_bytes, 64u << 10, 1u << 30}},
      {"store", "roll_after_s", Number{&c.store.roll_after_s, 1, 4200}},
      {"store", "chunk_bytes", Number{&c.store.chunk_bytes, 16u << 10, 4u << 20}},
      {"store", "device_chunks", Number{&c.store.device_chunks, 4, 4096}},
      {"store", "host_chunk_bytes", Number{&c.store.host_chunk_bytes, 64u << 10, 64u << 20}},
      {"store", "host_chunks", Number{&c.store.host_chunks, 2, 4096}},
      {"store", "agent_chunks", Number{&c.store.agent_chunks, 4, 4096}},
      {"store", "flight_recorder_bytes", Number{&c.store.flight_recorder_bytes, 1u << 20, 1ull << 40}},
      {"store", "spool_first", &c.store.spool_first},
      {"store", "move_mb_per_s", Number{&c.store.move_mb_per_s, 0, 1'000'000}},
      {"store", "durability", OneOf{&c.store.durability, {"none", "periodic", "slice", "always"}}},
      {"store", "flush_every_s", Number{&c.store.flush_every_s, 1, 3600}},
      {"store", "quota_per_user_bytes", Number{&c.store.quota_per_user_bytes, 0, kPebibyte}},
      {"store", "quota_spool_bytes", Number{&c.store.quota_spool_bytes, 0, kPebibyte}},
      {"store", "keep_free_bytes", Number{&c.store.keep_free_bytes, 0, kPebibyte}},
      {"store", "max_age_s", Number{&c.store.max_age_s, 0, 3650 * kDay}},
      {"session", "default_duration_s", Number{&c.session.default_duration_s, 1, 30 * kDay}},
      {"session", "max_duration_s", Number{&c.session.max_duration_s, 1, 365 * kDay}},
      {"session", "max_sessions", Number{&c.session.max_sessions, 1, 10'000}},
      {"session", "clock_pair_every_s", Number{&c.session.clock_pair_every_s, 1, 3600}},
      {"agent", "lanes", Number{&c.agent.lanes, 1, 1024}},
      {"agent", "lane_kib",
       Number{.value = &c.agent.lane_kib, .min = 8, .max = 128 << 10, .power_of_two = true}},
      {"agent", "names_kib", Number{&c.agent.names_kib, 64, 16 << 10, 64}},
      {"agent", "max_agents", Number{&c.agent.max_agents, 0, 65'536}},
      {"agent", "max_agents_per_user", Number{&c.agent.max_agents_per_user, 0, 65'536}},
      {"driver", "library", &c.driver.library},
      {"driver", "toolkit", &c.driver.toolkit},
      {"driver", "timeout_ms", Number{&c.driver.timeout_ms, 100, 120'000}},
      {"driver", "sweep_ms", Number{&c.driver.sweep_ms, 1, 1000}},
      {"driver", "pump_per_device", &c.driver.pump_per_device},
      {"doors", "dynolog", OneOf{&c.doors.dynolog, {"auto", "off", "force"}}},
      {"limits", "connections_per_user", Number{&c.limits.connections_per_user, 1, 65'536}},
      {"limits", "requests_per_s", Number{&c.limits.requests_per_s, 1, 1'000'000}},
      {"limits", "watches_per_user", Number{&c.limits.watches_per_user, 1, 65'536}},
      {"limits", "sessions_per_user", Number{&c.limits.sessions_per_user, 1, 10'000}},
      {"limits", "cpu_percent", Number{&c.limits.cpu_percent, 0, 100'000}},
      {"limits", "rss_mb", Number{&c.limits.rss_mb, 0, 1'000'000}},
      {"auth", "group", &c.auth.group},
      {"auth", "admin_group", &c.auth.admin_group},
      {"auth", "breakpoints", OneOf{&c.auth.breakpoints, {"admins", "group", "everybody"}}},
      {"remote", "listen", &c.remote.listen},
      {"remote", "cert", &c.remote.cert},
      {"remote", "key", &c.remote.key},
      {"remote", "client_ca", &c.remote.client_ca},
      {"remote", "revoked", &c.remote.revoked},
      {"remote", "viewers", &c.remote.viewers},
      {"remote", "operators", &c.remote.operators},
      {"remote", "admins", &c.remote.admins},
      {"remote", "users", &c.remote.users},
      {"remote", "plain", OneOf{&c.remote.plain, {"off", "viewer", "operator", "admin"}}},
      {"remote", "relay", &c.remote.relay},
      {"registry", "etcd", &c.registry.etcd},
      {"registry", "prefix", &c.registry.prefix},
      {"registry", "host", &c.registry.host},
      {"registry", "labels", &c.registry.labels},
      {"registry", "ttl_s", Number{&c.registry.ttl_s, 6, 3600}},
      {"live", "hz", Number{&c.live.hz, 0, 10}},
      {"live", "max_hz", Number{&c.live.max_hz, 1, 10}},
      {"live", "off", &c.live.off},
      {"live", "channels", &c.live.channels},
      {"live", "history_s", Number{&c.live.history_s, 0, 3600}},
      {"live", "history_mb", Number{&c.live.history_mb, 1, 1024}},
      {"live", "jobs", &c.live.jobs},
      {"summary", "folder", &c.summary.folder},
      {"summary", "file_s", Number{&c.summary.file_s, 1, 3600}},
      {"summary", "keep_mb", Number{&c.summary.keep_mb, 1, 1'000'000}},
      {"summary", "acked", &c.summary.acked},
      {"metrics", "listen", &c.metrics.listen},
      {"metrics", "otlp", &c.metrics.otlp},
      {"metrics", "otlp_every_s", Number{&c.metrics.otlp_every_s, 1, 3600}},
      {"metrics", "processes", &c.metrics.processes},
      {"metrics", "max_series", Number{&c.metrics.max_series, 100, 1'000'000}},
      {"log", "level", &c.log.level},
      {"log", "file", &c.log.file},
      {"log", "audit", &c.log.audit},
  };
}

class Reader {
 public:
  Reader(std::string path, Config& config) : path_(std::move(path)), keys_(KeysOf(config)) {}

  Status Read(const YAML::Node& root) {
    if (root.IsNull()) return Status::Ok();
    if (!root.IsMap()) return Error(root, "", "expected keys and values");
    for (const auto& entry : root) {
      const std::string name = entry.first.Scalar();
      if (IsSection(name)) {
        if (entry.second.IsNull()) continue;
        if (!entry.second.IsMap()) return Error(entry.second, name, "expected a group of keys");
        for (const auto& inner : entry.second) {
          PROFD_RETURN_IF_ERROR(Set(name, inner.first, inner.second));
        }
      } else {
        PROFD_RETURN_IF_ERROR(Set("", entry.first, entry.second));
      }
    }
    return Status::Ok();
  }

 private:
  bool IsSection(std::string_view name) const {
    return !name.empty() &&
           std::any_of(keys_.begin(), keys_.end(), [&](const Key& key) { return name == key.section; });
  }

  Status Set(const std::string& section, const YAML::Node& key_node, const YAML::Node& value) {
    const std::string& name = key_node.Scalar();
    const std::string full = section.empty() ? name : section + "." + name;
    const auto key = std::find_if(keys_.begin(), keys_.end(), [&](const Key& candidate) {
      return section == candidate.section && name == candidate.name;
    });
    if (key == keys_.end()) return Error(key_node, full, "unknown key" + Suggestion(section, name));
    if (auto* const* words = std::get_if<Words*>(&key->target)) return SetWords(**words, full, value);
    if (!value.IsScalar()) return Error(value, full, "expected one value");
    if (auto* const* text = std::get_if<std::string*>(&key->target)) {
      **text = value.Scalar();
      return Status::Ok();
    }
    if (auto* const* flag = std::get_if<bool*>(&key->target)) {
      if (!YAML::convert<bool>::decode(value, **flag)) {
        return Error(value, full, "'" + value.Scalar() + "' is not true or false");
      }
      return Status::Ok();
    }
    const std::string& text = value.Scalar();
    if (const auto* one_of = std::get_if<OneOf>(&key->target)) {
      if (std::find(one_of->words.begin(), one_of->words.end(), text) == one_of->words.end()) {
        return Error(value, full, "'" + text + "' is not one of " + base::Joined(one_of->words));
      }
      *one_of->value = text;
      return Status::Ok();
    }
    const auto& number = std::get<Number>(key->target);
    uint64_t parsed = 0;
    const bool digits = !text.empty() && text.size() < 20 &&
                        std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (digits) parsed = std::stoull(text);
    if (!digits || parsed < number.min || parsed > number.max) {
      return Error(value, full,
                   "'" + text + "' is not a whole number from " + std::to_string(number.min) + " to " +
                       std::to_string(number.max));
    }
    if (parsed % number.multiple_of != 0) {
      return Error(value, full, "'" + text + "' is not a multiple of " + std::to_string(number.multiple_of));
    }
    if (number.power_of_two && !std::has_single_bit(parsed)) {
      return Error(value, full, "'" + text + "' is not a power of two");
    }
    *number.value = parsed;
    return Status::Ok();
  }

  Status SetWords(Words& words, const std::string& full, const YAML::Node& value) const {
    words.clear();
    if (value.IsNull()) return Status::Ok();
    if (!value.IsSequence()) return Error(value, full, "expected a list: [one, two]");
    for (const YAML::Node& word : value) {
      if (!word.IsScalar()) return Error(word, full, "expected one word");
      words.push_back(word.Scalar());
    }
    return Status::Ok();
  }

  std::string Suggestion(const std::string& section, const std::string& name) const {
    const Key* best = nullptr;
    size_t best_distance = SIZE_MAX;
    for (const Key& key : keys_) {
      if (!base::IsNear(name, key.name)) continue;
      const size_t distance = base::EditDistance(name, key.name) + (section == key.section ? 0 : 1);
      if (distance < best_distance) {
        best_distance = distance;
        best = &key;
      }
    }
    if (best == nullptr) return "";
    const std::string prefix = best->section[0] == '\0' ? "" : std::string(best->section) + ".";
    return "; did you mean " + prefix + best->name + "?";
  }

  Status Error(const YAML::Node& at, const std::string& key, const std::string& what) const {
    return {Code::kInvalidArgument,
            path_ + ":" + std::to_string(at.Mark().line + 1) + ": " + (key.empty() ? "" : key + ": ") + what};
  }

  std::string path_;
  std::vector<Key> keys_;
};

}  // namespace

Result<Config> LoadConfig(const std::string& path) {
  const Result<std::string> text = base::ReadWhole(path);
  if (!text.ok())
    return Status{text.status().code(),
                  "config file: " + text.status().message() + "; --config names another"};
  Config config;
  try {
    const YAML::Node root = YAML::Load(*text);
    PROFD_RETURN_IF_ERROR(Reader(path, config).Read(root));
  } catch (const YAML::Exception& error) {
    return Status{Code::kInvalidArgument,
                  path + ":" + std::to_string(error.mark.line + 1) + ": " + error.msg};
  }
  return config;
}

std::string DumpConfig(const Config& config) {
  Config copy = config;
  std::ostringstream out;
  std::string section;
  for (const Key& key : KeysOf(copy)) {
    if (section != key.section) {
      section = key.section;
      out << section << ":\n";
    }
    out << (section.empty() ? "" : "  ") << key.name << ": ";
    if (auto* const* text = std::get_if<std::string*>(&key.target)) {
      out << '"' << **text << '"';
    } else if (auto* const* flag = std::get_if<bool*>(&key.target)) {
      out << (**flag ? "true" : "false");
    } else if (auto* const* words = std::get_if<Words*>(&key.target)) {
      out << '[';
      for (const std::string& word : **words)
        out << (&word == &(*words)->front() ? "" : ", ") << '"' << word << '"';
      out << ']';
    } else if (const auto* one_of = std::get_if<OneOf>(&key.target)) {
      out << '"' << *one_of->value << '"';
    } else {
      out << *std::get<Number>(key.target).value;
    }
    out << '\n';
  }
  return out.str();
}

}  // namespace profd::config
