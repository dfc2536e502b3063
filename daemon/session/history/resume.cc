#include "daemon/session/history/resume.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "daemon/host/process/process.h"
#include "daemon/session/plan/kinds.h"

namespace profd::session {

using base::Code;
using base::Result;
using base::Status;
using nlohmann::json;

ResumeRecord MakeResume(const SessionInfo& info, const auth::Caller& owner, const SessionSpec& spec,
                        std::map<pid_t, uint64_t> start_ticks) {
  ResumeRecord record;
  record.session = info.id;
  record.owner = owner;
  record.end_wall_ns = info.start_wall_ns + info.duration_ns;
  record.boot = BootId();
  record.directories = info.directories;
  record.spec.kinds = spec.kinds;
  record.spec.preset = spec.preset;
  record.spec.all_devices = spec.all_devices;
  record.spec.devices = spec.devices;
  record.spec.name = spec.name;
  record.spec.labels = spec.labels;
  record.spec.storage_limit_bytes = spec.storage_limit_bytes;
  record.spec.on_full = spec.on_full;
  record.spec.flight_recorder = spec.flight_recorder;
  record.spec.flight_recorder_kinds = spec.flight_recorder_kinds;
  record.spec.buffers = spec.buffers;
  record.spec.snapshot_on = spec.snapshot_on;
  record.spec.steps = spec.steps;
  record.spec.agent_domains = spec.agent_domains;
  record.start_ticks = std::move(start_ticks);
  return record;
}

std::string WriteResume(const ResumeRecord& record) {
  const SessionSpec& spec = record.spec;
  json kinds = json::array();
  for (const KindRequest& kind : spec.kinds)
    kinds.push_back(
        {{"kind", NameOf(kind.kind)}, {"mode", kind.mode}, {"hz", kind.hz}, {"by_default", kind.by_default}});
  json in_memory = json::array();
  for (const format::Kind kind : spec.flight_recorder_kinds) in_memory.push_back(NameOf(kind));
  json buffers = json::array();
  for (const MemoryBuffer& buffer : spec.buffers) {
    json names = json::array();
    for (const format::Kind kind : buffer.kinds) names.push_back(NameOf(kind));
    buffers.push_back({{"kinds", names}, {"bytes", buffer.bytes}, {"keeps_first", buffer.keeps_first}});
  }
  json pids = json::array();
  for (const auto& [pid, ticks] : record.start_ticks) pids.push_back({{"pid", pid}, {"start_ticks", ticks}});
  const json all = {
      {"session", record.session},
      {"owner",
       {{"uid", record.owner.uid},
        {"gid", record.owner.gid},
        {"user", record.owner.user},
        {"standing", static_cast<int>(record.owner.standing)}}},
      {"end_wall_ns", record.end_wall_ns},
      {"boot", record.boot},
      {"directories", record.directories},
      {"pids", pids},
      {"kinds", kinds},
      {"preset", spec.preset},
      {"all_devices", spec.all_devices},
      {"devices", spec.devices},
      {"name", spec.name},
      {"labels", spec.labels},
      {"storage_limit_bytes", spec.storage_limit_bytes},
      {"on_full", static_cast<int>(spec.on_full)},
      {"flight_recorder", spec.flight_recorder},
      {"flight_recorder_kinds", in_memory},
      {"buffers", buffers},
      {"snapshot_on", static_cast<int>(spec.snapshot_on)},
      {"agent_domains", spec.agent_domains.names},
      {"agent_domains_exclude", spec.agent_domains.exclude},
      {"steps",
       {spec.steps.skip_first, spec.steps.wait, spec.steps.warmup, spec.steps.active, spec.steps.repeat,
        spec.steps.from_step, spec.steps.skip_first_wait ? uint64_t{1} : uint64_t{0}, spec.steps.round_up}},
  };
  return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

// The file is profd's own; a damaged one throws inside the library, which is caught here.
Result<ResumeRecord> ParseResume(std::string_view text) {
  try {
    const json all = json::parse(text);
    ResumeRecord record;
    SessionSpec& spec = record.spec;
    all.at("session").get_to(record.session);
    record.owner.uid = all.at("owner").at("uid").get<uid_t>();
    record.owner.gid = all.at("owner").at("gid").get<gid_t>();
    all.at("owner").at("user").get_to(record.owner.user);
    const int standing = all.at("owner").value("standing", 0);
    if (standing == static_cast<int>(auth::Standing::kMember))
      record.owner.standing = auth::Standing::kMember;
    if (standing == static_cast<int>(auth::Standing::kAdmin)) record.owner.standing = auth::Standing::kAdmin;
    all.at("end_wall_ns").get_to(record.end_wall_ns);
    all.at("boot").get_to(record.boot);
    all.at("directories").get_to(record.directories);
    for (const json& entry : all.at("pids")) {
      const auto pid = entry.at("pid").get<pid_t>();
      record.start_ticks[pid] = entry.at("start_ticks").get<uint64_t>();
      spec.pids.push_back(pid);
    }
    for (const json& entry : all.at("kinds")) {
      PROFD_ASSIGN_OR_RETURN(const format::Kind kind, ReadKind(entry.at("kind").get<std::string>()));
      spec.kinds.push_back({kind, entry.at("mode").get<std::string>(), entry.at("hz").get<double>(),
                            entry.value("by_default", false)});
    }
    all.at("preset").get_to(spec.preset);
    all.at("all_devices").get_to(spec.all_devices);
    all.at("devices").get_to(spec.devices);
    all.at("name").get_to(spec.name);
    all.at("labels").get_to(spec.labels);
    all.at("storage_limit_bytes").get_to(spec.storage_limit_bytes);
    const int on_full = all.value("on_full", 0);
    if (on_full >= 0 && on_full <= 2) spec.on_full = static_cast<store::OnFull>(on_full);
    all.at("flight_recorder").get_to(spec.flight_recorder);
    for (const std::string& name : all.value("flight_recorder_kinds", std::vector<std::string>())) {
      PROFD_ASSIGN_OR_RETURN(const format::Kind kind, ReadKind(name));
      spec.flight_recorder_kinds.push_back(kind);
    }
    for (const json& entry : all.value("buffers", json::array())) {
      MemoryBuffer& buffer = spec.buffers.emplace_back(
          MemoryBuffer{{}, entry.at("bytes").get<uint64_t>(), entry.at("keeps_first").get<bool>()});
      for (const std::string& name : entry.at("kinds").get<std::vector<std::string>>()) {
        PROFD_ASSIGN_OR_RETURN(const format::Kind kind, ReadKind(name));
        buffer.kinds.push_back(kind);
      }
    }
    const int snapshot_on = all.value("snapshot_on", 0);
    if (snapshot_on >= 0 && snapshot_on <= 2) spec.snapshot_on = static_cast<SnapshotOn>(snapshot_on);
    const auto steps = all.at("steps").get<std::vector<uint64_t>>();
    if (steps.size() >= 5) spec.steps = {steps[0], steps[1], steps[2], steps[3], steps[4]};
    if (steps.size() >= 6) spec.steps.from_step = steps[5];
    if (steps.size() >= 8) {
      spec.steps.skip_first_wait = steps[6] != 0;
      spec.steps.round_up = steps[7];
    }
    spec.agent_domains = {all.value("agent_domains", std::vector<std::string>()),
                          all.value("agent_domains_exclude", false)};
    spec.resume = true;
    return record;
  } catch (const json::exception& error) {
    return Status(Code::kDataLoss, std::string("not a session to resume: ") + error.what());
  }
}

std::string BootId() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id") >> std::ws, id);
  return id;
}

}  // namespace profd::session
