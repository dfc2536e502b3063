#include "format/directory/manifest.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "format/directory/bounded_json.h"

namespace profd::format {

namespace {

using base::Code;
using base::Status;
using nlohmann::json;
using nlohmann::ordered_json;

ordered_json ToJson(const Loss& loss) {
  return {{"where", LossName(loss.where)},
          {"from_ns", loss.from_ns},
          {"to_ns", loss.to_ns},
          {"records", loss.records},
          {"bytes", loss.bytes}};
}

ordered_json ToJson(const ManifestKind& kind) {
  return {{"kind", kind.kind},
          {"unit", kind.unit},
          {"requested_hz", kind.requested_hz},
          {"effective_hz", kind.effective_hz},
          {"verdict", kind.verdict},
          {"reason", kind.reason},
          {"bytes", kind.bytes},
          {"records", kind.records},
          {"lost", kind.lost}};
}

ordered_json ToJson(const ManifestClock& clock) {
  return {{"device", clock.device},
          {"host_raw_ns", clock.pair.host_raw_ns},
          {"host_counter", clock.pair.host_counter},
          {"wall_ns", clock.pair.wall_ns},
          {"device_raw_ns", clock.pair.device_raw_ns},
          {"device_counter", clock.pair.device_counter},
          {"error_ns", clock.pair.error_ns}};
}

ordered_json ToJson(const ManifestPause& pause) {
  return {{"from_ns", pause.from_ns}, {"to_ns", pause.to_ns}, {"reason", pause.reason}};
}

ordered_json ToJson(const ManifestPerturbation& perturbation) {
  ordered_json json = {{"kind", perturbation.kind},
                       {"text", perturbation.text},
                       {"from_ns", perturbation.from_ns},
                       {"to_ns", perturbation.to_ns}};
  if (perturbation.device >= 0) json["device"] = perturbation.device;
  return json;
}

ordered_json ToJson(const ManifestStream& stream);
ordered_json ToJson(const ManifestLane& lane);
ordered_json ToJson(const ManifestStepWindow& window);
ordered_json ToJson(const ManifestAgent& agent);

template <typename T>
ordered_json ListToJson(const std::vector<T>& items) {
  ordered_json list = ordered_json::array();
  for (const T& item : items) list.push_back(ToJson(item));
  return list;
}

ordered_json ToJson(const ManifestAged& aged) {
  return {{"slices", aged.slices},
          {"bytes", aged.bytes},
          {"records", aged.records},
          {"from_ns", aged.from_ns},
          {"to_ns", aged.to_ns}};
}

ordered_json ToJson(const ManifestStream& stream) {
  return {{"kind", stream.kind},
          {"unit", stream.unit},
          {"folder", stream.folder},
          {"file", stream.file},
          {"slices", stream.slices},
          {"bytes", stream.bytes},
          {"records", stream.records},
          {"lost_records", stream.lost_records},
          {"lost_bytes", stream.lost_bytes},
          {"losses", ListToJson(stream.losses)},
          {"aged", ToJson(stream.aged)},
          {"shift_us", stream.shift_us},
          {"shift_error_ns", stream.shift_error_ns}};
}

ordered_json MapToJson(const std::map<std::string, std::string>& map) {
  ordered_json json = ordered_json::object();
  // Not by key, which would look through all there are.
  auto& members = json.get_ref<ordered_json::object_t&>();
  for (const auto& [key, value] : map) members.ordered_json::object_t::Container::emplace_back(key, value);
  return json;
}

ordered_json ToJson(const ManifestTicks& pair) {
  return {{"ticks", pair.ticks}, {"raw_ns", pair.raw_ns}, {"error_ns", pair.error_ns}};
}

ordered_json ToJson(const ManifestLane& lane) {
  return {{"lane", lane.lane},
          {"records", lane.records},
          {"lost", lane.lost},
          {"write_lost", lane.write_lost},
          {"damaged_slots", lane.damaged_slots}};
}

ordered_json ToJson(const ManifestStepWindow& window) {
  return {{"cycle", window.cycle}, {"step", window.step}, {"ticks", window.ticks}, {"opened", window.opened}};
}

ordered_json ToJson(const ManifestAgent& agent) {
  return {{"pid", agent.pid},
          {"container_pid", agent.container_pid},
          {"target", agent.target},
          {"attachment", agent.attachment},
          {"executable", agent.executable},
          {"agent_version", agent.agent_version},
          {"labels", MapToJson(agent.labels)},
          {"lanes_file", agent.lanes_file},
          {"names_file", agent.names_file},
          {"counter", agent.counter},
          {"counter_hz", agent.counter_hz},
          {"first", ToJson(agent.first)},
          {"latest", ToJson(agent.latest)},
          {"fire_raw_ns", agent.fire_raw_ns},
          {"begun_ticks", agent.begun_ticks},
          {"skew_ns", agent.skew_ns},
          {"end", agent.end},
          {"lost_without_lane", agent.lost_without_lane},
          {"names_lost", agent.names_lost},
          {"names_damaged", agent.names_damaged},
          {"lanes", ListToJson(agent.lanes)},
          {"step_windows", ListToJson(agent.step_windows)}};
}

// Takes fields out of one JSON object; the first field of a wrong type is remembered, absent ones keep their
// default.
// **Thread:** any. **Owns:** nothing.
class Fields {
 public:
  Fields(const json& object, std::string where, Status& status)
      : object_(object), where_(std::move(where)), status_(status) {
    if (!object.is_object()) Complain("", "an object");
  }

  void Take(const char* key, std::string& out) const {
    Visit(key, [&](const json& value) {
      if (!value.is_string()) return Complain(key, "a text");
      out = value.get_ref<const std::string&>();
    });
  }
  void Take(const char* key, double& out) const {
    Visit(key, [&](const json& value) {
      if (!value.is_number()) return Complain(key, "a number");
      out = value.get<double>();
    });
  }
  void Take(const char* key, bool& out) const {
    Visit(key, [&](const json& value) {
      if (!value.is_boolean()) return Complain(key, "true or false");
      out = value.get<bool>();
    });
  }
  template <typename Integer>
  requires std::is_integral_v<Integer>
  void Take(const char* key, Integer& out) const {
    Visit(key, [&](const json& value) {
      if (!TakeInteger(value, out)) Complain(key, "an integer that fits");
    });
  }
  void Take(const char* key, std::map<std::string, std::string>& out) const {
    Visit(key, [&](const json& value) {
      if (!value.is_object()) return Complain(key, "an object");
      const Fields fields(value, where_ + key + '.', status_);
      for (const auto& item : value.items()) fields.Take(item.key().c_str(), out[item.key()]);
    });
  }
  void Take(const char* key, ManifestTicks& out) const {
    Visit(key, [&](const json& value) {
      const Fields fields(value, where_ + key + '.', status_);
      fields.Take("ticks", out.ticks);
      fields.Take("raw_ns", out.raw_ns);
      fields.Take("error_ns", out.error_ns);
    });
  }
  void Take(const char* key, ManifestAged& out) const {
    Visit(key, [&](const json& value) {
      const Fields fields(value, where_ + key + '.', status_);
      fields.Take("slices", out.slices);
      fields.Take("bytes", out.bytes);
      fields.Take("records", out.records);
      fields.Take("from_ns", out.from_ns);
      fields.Take("to_ns", out.to_ns);
    });
  }
  // Calls `take_item` for every element of a list.
  template <typename TakeItem>
  void TakeList(const char* key, TakeItem take_item) const {
    Visit(key, [&](const json& value) {
      if (!value.is_array()) return Complain(key, "a list");
      size_t index = 0;
      for (const json& item : value) take_item(item, where_ + key + '[' + std::to_string(index++) + "].");
    });
  }
  template <typename T>
  void Take(const char* key, std::vector<T>& out) const {
    TakeList(key, [&](const json& item, const std::string& where) {
      // Fields does the checking of a value too, so give it an object of one.
      const json wrapped = {{"value", item}};
      T value{};
      Fields(wrapped, where, status_).Take("value", value);
      out.push_back(std::move(value));
    });
  }

  void Complain(const char* key, const char* expected) const {
    if (status_.ok())
      status_ = Status(Code::kInvalidArgument, "manifest: " + where_ + key + " must be " + expected);
  }

 private:
  template <typename Then>
  void Visit(const char* key, Then then) const {
    if (!object_.is_object()) return;
    if (const auto found = object_.find(key); found != object_.end()) then(*found);
  }

  template <typename Integer>
  static bool TakeInteger(const json& value, Integer& out) {
    if (value.is_number_unsigned()) {
      const auto number = value.get<uint64_t>();
      if (number > static_cast<uint64_t>(std::numeric_limits<Integer>::max())) return false;
      out = static_cast<Integer>(number);
      return true;
    }
    if (!value.is_number_integer() || std::is_unsigned_v<Integer>) return false;
    const auto number = value.get<int64_t>();  // negative, else it would be unsigned
    if (number < static_cast<int64_t>(std::numeric_limits<Integer>::min())) return false;
    out = static_cast<Integer>(number);
    return true;
  }

  const json& object_;
  std::string where_;
  Status& status_;
};

Loss TakeLoss(const Fields& fields) {
  using Where = Loss::Where;
  Loss loss;
  std::string where = LossName(loss.where);
  fields.Take("where", where);
  bool known = false;
  for (const Where candidate :
       {Where::kDriver, Where::kPool, Where::kWrite, Where::kSampler, Where::kAgent}) {
    if (where != LossName(candidate)) continue;
    loss.where = candidate;
    known = true;
  }
  if (!known) fields.Complain("where", "driver, pool, write, sampler or agent");
  fields.Take("from_ns", loss.from_ns);
  fields.Take("to_ns", loss.to_ns);
  fields.Take("records", loss.records);
  fields.Take("bytes", loss.bytes);
  return loss;
}

ManifestKind TakeKind(const Fields& fields) {
  ManifestKind kind;
  fields.Take("kind", kind.kind);
  fields.Take("unit", kind.unit);
  fields.Take("requested_hz", kind.requested_hz);
  fields.Take("effective_hz", kind.effective_hz);
  fields.Take("verdict", kind.verdict);
  fields.Take("reason", kind.reason);
  fields.Take("bytes", kind.bytes);
  fields.Take("records", kind.records);
  fields.Take("lost", kind.lost);
  return kind;
}

ManifestStream TakeStream(const Fields& fields, Status& status) {
  ManifestStream stream;
  fields.Take("kind", stream.kind);
  fields.Take("unit", stream.unit);
  fields.Take("folder", stream.folder);
  fields.Take("file", stream.file);
  fields.Take("slices", stream.slices);
  fields.Take("bytes", stream.bytes);
  fields.Take("records", stream.records);
  fields.Take("lost_records", stream.lost_records);
  fields.Take("lost_bytes", stream.lost_bytes);
  fields.TakeList("losses", [&](const json& item, const std::string& where) {
    stream.losses.push_back(TakeLoss(Fields(item, where, status)));
  });
  fields.Take("aged", stream.aged);
  fields.Take("shift_us", stream.shift_us);
  fields.Take("shift_error_ns", stream.shift_error_ns);
  return stream;
}

ManifestClock TakeClock(const Fields& fields) {
  ManifestClock clock;
  fields.Take("device", clock.device);
  fields.Take("host_raw_ns", clock.pair.host_raw_ns);
  fields.Take("host_counter", clock.pair.host_counter);
  fields.Take("wall_ns", clock.pair.wall_ns);
  fields.Take("device_raw_ns", clock.pair.device_raw_ns);
  fields.Take("device_counter", clock.pair.device_counter);
  fields.Take("error_ns", clock.pair.error_ns);
  return clock;
}

ManifestAgent TakeAgent(const Fields& fields, Status& status) {
  ManifestAgent agent;
  fields.Take("pid", agent.pid);
  fields.Take("container_pid", agent.container_pid);
  fields.Take("target", agent.target);
  fields.Take("attachment", agent.attachment);
  fields.Take("executable", agent.executable);
  fields.Take("agent_version", agent.agent_version);
  fields.Take("labels", agent.labels);
  fields.Take("lanes_file", agent.lanes_file);
  fields.Take("names_file", agent.names_file);
  fields.Take("counter", agent.counter);
  fields.Take("counter_hz", agent.counter_hz);
  fields.Take("first", agent.first);
  fields.Take("latest", agent.latest);
  fields.Take("fire_raw_ns", agent.fire_raw_ns);
  fields.Take("begun_ticks", agent.begun_ticks);
  fields.Take("skew_ns", agent.skew_ns);
  fields.Take("end", agent.end);
  fields.Take("lost_without_lane", agent.lost_without_lane);
  fields.Take("names_lost", agent.names_lost);
  fields.Take("names_damaged", agent.names_damaged);
  fields.TakeList("lanes", [&](const json& item, const std::string& where) {
    const Fields lane(item, where, status);
    ManifestLane& taken = agent.lanes.emplace_back();
    lane.Take("lane", taken.lane);
    lane.Take("records", taken.records);
    lane.Take("lost", taken.lost);
    lane.Take("write_lost", taken.write_lost);
    lane.Take("damaged_slots", taken.damaged_slots);
  });
  fields.TakeList("step_windows", [&](const json& item, const std::string& where) {
    const Fields window(item, where, status);
    ManifestStepWindow& taken = agent.step_windows.emplace_back();
    window.Take("cycle", taken.cycle);
    window.Take("step", taken.step);
    window.Take("ticks", taken.ticks);
    window.Take("opened", taken.opened);
  });
  return agent;
}

}  // namespace

uint64_t SinceBegin(const Manifest& manifest, uint64_t raw_ns) {
  for (const ManifestClock& clock : manifest.clocks) {
    if (clock.device >= 0) continue;
    const uint64_t after_begin = clock.pair.wall_ns - std::min(clock.pair.wall_ns, manifest.begin_wall_ns);
    const uint64_t begin_raw_ns = clock.pair.host_raw_ns - std::min(clock.pair.host_raw_ns, after_begin);
    return raw_ns - std::min(raw_ns, begin_raw_ns);
  }
  return 0;
}

bool HasStream(const Manifest& manifest, std::string_view folder, std::string_view file) {
  return std::ranges::any_of(manifest.streams, [&](const ManifestStream& stream) {
    return stream.folder == folder && stream.file == file;
  });
}

std::string WriteManifest(const Manifest& manifest) {
  ordered_json json;
  json["version"] = manifest.version;
  json["session"] = manifest.session;
  json["name"] = manifest.name;
  json["user"] = manifest.user;
  json["uid"] = manifest.uid;
  json["state"] = manifest.state;
  json["end_reason"] = manifest.end_reason;
  json["degraded"] = manifest.degraded;
  json["labels"] = MapToJson(manifest.labels);
  json["profd_version"] = manifest.profd_version;
  json["protocol_version"] = manifest.protocol_version;
  json["driver_path"] = manifest.driver_path;
  json["driver_api_version"] = manifest.driver_api_version;
  json["pids"] = manifest.pids;
  json["pid_end"] = ordered_json::array();
  for (const auto& [pid, reason] : manifest.pid_end)
    json["pid_end"].push_back({{"pid", pid}, {"reason", reason}});
  json["duration_ns"] = manifest.duration_ns;
  json["begin_wall_ns"] = manifest.begin_wall_ns;
  json["elapsed_ns"] = manifest.elapsed_ns;
  json["storage_limit_bytes"] = manifest.storage_limit_bytes;
  json["previous"] = manifest.previous;
  json["next"] = manifest.next;
  json["removed"] = manifest.removed;
  json["kinds"] = ListToJson(manifest.kinds);
  json["streams"] = ListToJson(manifest.streams);
  json["pauses"] = ListToJson(manifest.pauses);
  json["perturbations"] = ListToJson(manifest.perturbations);
  json["clocks"] = ListToJson(manifest.clocks);
  json["agents"] = ListToJson(manifest.agents);
  json["settings"] = MapToJson(manifest.settings);
  return json.dump(1, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

base::Result<Manifest> ParseManifest(std::string_view text) {
  // Of a user's folder, so it may be anything.
  if (!IsBounded(text, kMostManifestItems, kMostManifestDepth)) {
    return Status(Code::kInvalidArgument,
                  "manifest: no manifest has so much in it: more than " + std::to_string(kMostManifestItems) +
                      " values, or deeper than " + std::to_string(kMostManifestDepth));
  }
  const json all = json::parse(text, nullptr, false);
  if (all.is_discarded()) return Status(Code::kInvalidArgument, "manifest: no JSON");
  Status status;
  Manifest manifest;
  const Fields fields(all, "", status);
  fields.Take("version", manifest.version);
  if (status.ok() && (manifest.version < 1 || manifest.version > kManifestVersion)) {
    return Status(Code::kUnimplemented, "manifest: version " + std::to_string(manifest.version) +
                                            " is not known here; read it with the profctl that wrote it");
  }
  fields.Take("session", manifest.session);
  fields.Take("name", manifest.name);
  fields.Take("user", manifest.user);
  fields.Take("uid", manifest.uid);
  fields.Take("state", manifest.state);
  fields.Take("end_reason", manifest.end_reason);
  fields.Take("degraded", manifest.degraded);
  fields.Take("labels", manifest.labels);
  fields.Take("profd_version", manifest.profd_version);
  fields.Take("protocol_version", manifest.protocol_version);
  fields.Take("driver_path", manifest.driver_path);
  fields.Take("driver_api_version", manifest.driver_api_version);
  fields.Take("pids", manifest.pids);
  fields.TakeList("pid_end", [&](const json& item, const std::string& where) {
    const Fields end(item, where, status);
    int64_t pid = 0;
    end.Take("pid", pid);
    end.Take("reason", manifest.pid_end[pid]);
  });
  fields.Take("duration_ns", manifest.duration_ns);
  fields.Take("begin_wall_ns", manifest.begin_wall_ns);
  fields.Take("elapsed_ns", manifest.elapsed_ns);
  fields.Take("storage_limit_bytes", manifest.storage_limit_bytes);
  fields.Take("previous", manifest.previous);
  fields.Take("next", manifest.next);
  fields.Take("removed", manifest.removed);
  fields.TakeList("kinds", [&](const json& item, const std::string& where) {
    manifest.kinds.push_back(TakeKind(Fields(item, where, status)));
  });
  fields.TakeList("streams", [&](const json& item, const std::string& where) {
    manifest.streams.push_back(TakeStream(Fields(item, where, status), status));
  });
  fields.TakeList("pauses", [&](const json& item, const std::string& where) {
    const Fields pause(item, where, status);
    ManifestPause& taken = manifest.pauses.emplace_back();
    pause.Take("from_ns", taken.from_ns);
    pause.Take("to_ns", taken.to_ns);
    pause.Take("reason", taken.reason);
  });
  fields.TakeList("perturbations", [&](const json& item, const std::string& where) {
    const Fields perturbation(item, where, status);
    ManifestPerturbation& taken = manifest.perturbations.emplace_back();
    perturbation.Take("kind", taken.kind);
    perturbation.Take("text", taken.text);
    perturbation.Take("from_ns", taken.from_ns);
    perturbation.Take("to_ns", taken.to_ns);
    perturbation.Take("device", taken.device);
  });
  fields.TakeList("clocks", [&](const json& item, const std::string& where) {
    manifest.clocks.push_back(TakeClock(Fields(item, where, status)));
  });
  fields.TakeList("agents", [&](const json& item, const std::string& where) {
    manifest.agents.push_back(TakeAgent(Fields(item, where, status), status));
  });
  fields.Take("settings", manifest.settings);
  if (!status.ok()) return status;
  return manifest;
}

}  // namespace profd::format
