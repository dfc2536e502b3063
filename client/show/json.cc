#include "client/show/json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/calendar.h"
#include "client/show/expected.h"
#include "client/show/render.h"
#include "client/verify/perturbations.h"
#include "format/directory/simulated.h"

namespace profd::client {

namespace {

using Json = nlohmann::ordered_json;

std::string Line(const Json& json) {
  // Foreign text may be broken UTF-8: replaced, never thrown at.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// 50 rather than 50.0.
Json Number(double value) {
  if (std::floor(value) == value && std::fabs(value) < 1e15) return static_cast<int64_t>(value);
  return value;
}

Json Seconds(uint64_t ns) { return Number(static_cast<double>(ns) / 1e9); }

// UTC, "2026-01-02T03:04:05.678Z"; null when unknown.
Json UtcTime(uint64_t wall_ns) {
  if (wall_ns == 0) return nullptr;
  std::string text = base::UtcTextWithMs(wall_ns);
  return text.empty() ? Json() : Json(std::move(text));
}

template <typename List>
Json Array(const List& items) {
  Json array = Json::array();
  for (const auto& item : items) array.push_back(item);
  return array;
}

Json Kind(const v1::KindState& kind) {
  return {{"kind", kind.kind()},
          {"unit", kind.unit()},
          {"requested_hz", Number(kind.requested_hz())},
          {"effective_hz", Number(kind.effective_hz())},
          {"verdict", VerdictName(kind.verdict())},
          {"reason", kind.reason()},
          {"bytes", kind.bytes()},
          {"records", kind.records()},
          {"lost", kind.lost()},
          {"bytes_per_s", Number(kind.bytes_per_s())},
          {"record_bytes", kind.record_bytes()}};
}

Json Perturbations(const PerturbationList& list) {
  Json array = Json::array();
  for (const v1::Perturbation& found : list) {
    const Json until = found.to_ns() == 0 ? Json(nullptr) : Seconds(found.to_ns());
    array.push_back({{"kind", found.kind()},
                     {"text", found.text()},
                     {"from_s", Seconds(found.from_ns())},
                     {"to_s", until}});
  }
  return array;
}

Json Pauses(const PauseList& list) {
  Json array = Json::array();
  for (const v1::Pause& pause : list) {
    const Json until = pause.to_ns() == 0 ? Json(nullptr) : Seconds(pause.to_ns());
    array.push_back({{"from_s", Seconds(pause.from_ns())}, {"to_s", until}, {"reason", pause.reason()}});
  }
  return array;
}

Json Windows(const google::protobuf::RepeatedPtrField<v1::Window>& list) {
  Json array = Json::array();
  for (const v1::Window& window : list) {
    array.push_back({{"pid", window.pid()},
                     {"door", window.door()},
                     {"client", window.client()},
                     {"state", window.state()},
                     {"text", window.text()},
                     {"path", window.path()}});
  }
  return array;
}

Json Session(const v1::SessionInfo& info) {
  Json kinds = Json::array();
  for (const v1::KindState& kind : info.kinds()) kinds.push_back(Kind(kind));
  return {{"session", info.session()},
          {"name", info.name()},
          {"labels", Json(Sorted(info.labels()))},
          {"user", info.user()},
          {"uid", info.uid()},
          {"directory", info.directory()},
          {"directories", Array(info.directories())},
          {"state", StateName(info.state())},
          {"end_reason", EndReasonName(info.end_reason())},
          {"error", info.error()},
          {"degraded", Array(info.degraded())},
          {"pids", Array(info.pids())},
          {"devices", Array(info.devices())},
          {"started_at", UtcTime(info.start_wall_ns())},
          {"elapsed_s", Seconds(info.elapsed_ns())},
          {"duration_s", Seconds(info.duration_ns())},
          {"storage_limit_bytes", info.storage_limit_bytes()},
          {"bytes", info.bytes()},
          {"lost", info.lost()},
          {"used_bytes", info.used_bytes()},
          {"aged_bytes", info.aged_bytes()},
          {"aged_records", info.aged_records()},
          {"window_s", Seconds(info.window_ns())},
          {"expected_bytes_per_s", Number(ExpectedBytesPerS(info))},
          {"held_bytes", info.held_bytes()},
          {"held_s", Seconds(info.held_ns())},
          {"pinned", info.pinned()},
          {"paused", info.paused()},
          {"warnings", Array(info.warnings())},
          {"pauses", Pauses(info.pauses())},
          {"perturbations", Perturbations(info.perturbations())},
          {"windows", Windows(info.windows())},
          {"kinds", std::move(kinds)}};
}

Json Offers(const google::protobuf::RepeatedPtrField<v1::KindOffer>& offers) {
  Json array = Json::array();
  for (const v1::KindOffer& offer : offers) {
    array.push_back({{"kind", offer.kind()},
                     {"min_hz", Number(offer.min_hz())},
                     {"max_hz", Number(offer.max_hz())},
                     {"default_hz", Number(offer.default_hz())},
                     {"modes", Array(offer.modes())},
                     {"available", offer.available()},
                     {"reason", offer.reason()}});
  }
  return array;
}

Json Device(const v1::Device& device) {
  Json holders = Json::array();
  for (const v1::KindHolder& holder : device.holders()) {
    holders.push_back({{"kind", holder.kind()}, {"holder", holder.holder()}});
  }
  Json links = Json::array();
  for (const v1::DeviceLink& link : device.links()) {
    links.push_back({{"device", link.device()}, {"kind", link.kind()}});
  }
  return {{"device", device.device()},
          {"physical_id", device.physical_id()},
          {"chip", device.chip()},
          {"health", HealthName(device)},
          {"error", device.error()},
          {"virtual_npu", device.virtual_npu()},
          {"ai_cores", device.ai_cores()},
          {"vector_cores", device.vector_cores()},
          {"ctrl_cpus", device.ctrl_cpus()},
          {"ai_cpus", device.ai_cpus()},
          {"counter_mhz", Number(device.counter_mhz())},
          {"channels", Array(device.channels())},
          {"kinds", Offers(device.kinds())},
          {"holders", std::move(holders)},
          {"links", std::move(links)},
          {"pci_address", device.pci_address()},
          {"numa_node", device.has_numa_node() ? Json(device.numa_node()) : Json()},
          {"cpus", device.cpus()}};
}

Json Target(const v1::Target& target) {
  Json capabilities = Json::array();
  for (const v1::AgentCapability& capability : target.capabilities()) {
    capabilities.push_back({{"kind", capability.kind()},
                            {"available", capability.available()},
                            {"reason", capability.reason()}});
  }
  return {{"pid", target.pid()},
          {"container_pid", target.container_pid()},
          {"parent_pid", target.parent_pid()},
          {"forked", target.forked()},
          {"user", target.user()},
          {"uid", target.uid()},
          {"executable", target.executable()},
          {"command_line", Array(target.command_line())},
          {"labels", Json(Sorted(target.labels()))},
          {"devices", Array(target.devices())},
          {"agent_version", target.agent_version()},
          {"attachable", target.attachable()},
          {"reason", target.reason()},
          {"registered_at", UtcTime(target.registered_wall_ns())},
          {"last_seen_at", UtcTime(target.last_seen_wall_ns())},
          {"recording_by", target.recording_by()},
          {"door", target.door()},
          {"capabilities", std::move(capabilities)}};
}

Json SkippedJson(const Report& report) {
  Json skipped = Json::array();
  for (const Skipped& item : report.skipped()) {
    skipped.push_back({{"stream", item.stream},
                       {"offset", item.offset},
                       {"bytes", item.bytes},
                       {"records", item.records},
                       {"why", item.why}});
  }
  return skipped;
}

}  // namespace

std::string SessionJson(const v1::SessionInfo& info) { return Line(Session(info)); }

std::string SessionsJson(const std::vector<v1::SessionInfo>& sessions) {
  Json array = Json::array();
  for (const v1::SessionInfo& info : sessions) array.push_back(Session(info));
  return Line({{"sessions", std::move(array)}});
}

std::string DevicesJson(const v1::DevicesReply& reply) {
  Json devices = Json::array();
  for (const v1::Device& device : reply.devices()) devices.push_back(Device(device));
  return Line({{"devices", std::move(devices)},
               {"host_kinds", Offers(reply.host_kinds())},
               {"driver",
                {{"path", reply.driver_path()},
                 {"error", reply.driver_error()},
                 {"api_version", reply.driver_api_version()},
                 {"missing_symbols", Array(reply.missing_symbols())}}},
               {"profd_version", reply.profd_version()}});
}

namespace {

std::string_view LackName(v1::LiveLack::Why why) {
  switch (why) {
    case v1::LiveLack::WHY_OFF:
      return "off";
    case v1::LiveLack::WHY_NOT_SUPPORTED:
      return "not-supported";
    case v1::LiveLack::WHY_NO_PERMISSION:
      return "no-permission";
    case v1::LiveLack::WHY_NO_DATA:
      return "no-data";
    default:
      return "unknown";
  }
}

Json Labels(const google::protobuf::RepeatedPtrField<v1::LiveLabel>& labels) {
  Json object = Json::object();
  for (const v1::LiveLabel& label : labels) object[label.name()] = label.value();
  return object;
}

Json JobOf(const v1::Job& job, uint64_t now_wall_ns) {
  Json values = Json::array();
  for (const v1::JobValue& value : job.values()) {
    values.push_back({{"metric", value.metric()},
                      {"kind", value.kind()},
                      {"unit", value.unit()},
                      {"labels", Labels(value.labels())},
                      {"mean", value.counter() ? Json() : Json(value.mean())},
                      {"least", value.least()},
                      {"most", value.most()},
                      {"last", value.last()},
                      {"sum", value.sum()},
                      {"known_s", Seconds(value.known_ns())}});
  }
  return {{"pid", job.pid()},
          {"user", job.user()},
          {"uid", job.uid()},
          {"name", job.name()},
          {"labels", Json(Sorted(job.labels()))},
          {"devices", Array(job.devices())},
          {"began_at", UtcTime(job.begin_wall_ns())},
          {"ended_at", UtcTime(job.end_wall_ns())},
          {"lasted_s", Seconds(LastedNs(job, now_wall_ns))},
          {"values", std::move(values)},
          {"samples_left_out", job.samples_left_out()}};
}

}  // namespace

std::string JobsJson(const v1::JobsReply& reply, uint64_t now_wall_ns) {
  Json jobs = Json::array();
  for (const v1::Job& job : reply.jobs()) jobs.push_back(JobOf(job, now_wall_ns));
  return Line({{"jobs", std::move(jobs)}});
}

std::string LiveJson(const v1::LiveValues& values) {
  Json array = Json::array();
  for (const v1::LiveMetric& metric : values.metrics()) {
    for (const v1::LiveValue& value : metric.values()) {
      array.push_back({{"name", metric.name()},
                       {"kind", metric.kind()},
                       {"unit", metric.unit()},
                       {"labels", Labels(value.labels())},
                       {"value", value.value()},
                       {"wall_ns", value.wall_ns()}});
    }
  }
  Json lacks = Json::array();
  for (const v1::LiveLack& lack : values.lacks()) {
    lacks.push_back({{"kind", lack.kind()}, {"why", LackName(lack.why())}, {"text", lack.text()}});
  }
  return Line({{"number", values.number()},
               {"wall_ns", values.wall_ns()},
               {"period_s", static_cast<double>(values.period_ns()) / 1e9},
               {"values", std::move(array)},
               {"lacks", std::move(lacks)}});
}

std::string ThreadsJson(const ShownProcess& process) {
  Json threads = Json::array();
  for (const ShownThread& thread : process.threads) {
    Json frames = Json::array();
    for (const ShownFrame& frame : thread.frames)
      frames.push_back({{"function", frame.function},
                        {"module", frame.module},
                        {"line", frame.line == 0 ? Json() : Json(frame.line)}});
    threads.push_back({{"tid", thread.place.tid()},
                       {"name", thread.place.name()},
                       {"state", thread.place.state()},
                       {"waits_in", thread.place.waits_in()},
                       {"frames", std::move(frames)},
                       {"reason", thread.place.why()}});
  }
  return Line({{"pid", process.reply.pid()},
               {"name", process.reply.name()},
               {"time", UtcTime(process.reply.wall_ns())},
               {"threads", std::move(threads)},
               {"notes", process.notes}});
}

std::string TargetsJson(const v1::TargetsReply& reply) {
  Json targets = Json::array();
  for (const v1::Target& target : reply.targets()) targets.push_back(Target(target));
  return Line({{"targets", std::move(targets)}});
}

namespace {

Json LeaseOf(const v1::Lease& lease) {
  return {{"lease", lease.lease()},
          {"uid", lease.uid()},
          {"user", lease.user()},
          {"devices", Array(lease.devices())},
          {"since", UtcTime(lease.since_wall_ns())},
          {"until", UtcTime(lease.until_wall_ns())},
          {"given_by", lease.given_by()}};
}

}  // namespace

std::string LeaseJson(const v1::Lease& lease) { return Line(LeaseOf(lease)); }

std::string LeasesJson(const std::vector<v1::Lease>& leases) {
  Json array = Json::array();
  for (const v1::Lease& lease : leases) array.push_back(LeaseOf(lease));
  return Line({{"leases", std::move(array)}});
}

std::string AnswerJson(const std::string& host, const std::string& via, int exit_code, const std::string& out,
                       const std::string& err) {
  Json line = {{"host", host}, {"exit", exit_code}};
  if (!via.empty()) line["via"] = via;
  if (!err.empty()) line["error"] = err;
  if (!out.empty()) line["reply"] = Json::parse(out, nullptr, false);
  return Line(line);
}

std::optional<Registration> ParseRegistration(const std::string& text) {
  const Json value = Json::parse(text, nullptr, false);
  if (!value.is_object() || !value.contains("host") || !value["host"].is_string()) return std::nullopt;
  Registration registration{.host = value["host"], .labels = {}};
  if (!value.contains("labels") || !value["labels"].is_object()) return registration;
  for (const auto& [name, label] : value["labels"].items()) {
    if (label.is_string()) registration.labels[name] = label;
  }
  return registration;
}

std::string SkewJson(size_t fired, uint64_t skew_ns, int64_t last_late_ns, uint64_t uncertainty_ns) {
  return Line({{"fired", fired},
               {"skew_ns", skew_ns},
               {"last_late_ns", last_late_ns},
               {"clock_uncertainty_ns", uncertainty_ns}});
}

std::string ChecksJson(const std::vector<v1::Check>& checks) {
  Json array = Json::array();
  bool is_ok = true;
  for (const v1::Check& check : checks) {
    is_ok = is_ok && check.outcome() != v1::OUTCOME_BROKEN;
    array.push_back({{"name", check.name()},
                     {"outcome", OutcomeName(check.outcome())},
                     {"detail", check.detail()},
                     {"remedy", check.remedy()}});
  }
  return Line({{"ok", is_ok}, {"checks", std::move(array)}});
}

std::string VerifyJson(const std::vector<VerifyReport>& reports, bool is_ok) {
  Json array = Json::array();
  for (const VerifyReport& report : reports) {
    Json findings = Json::array();
    for (const Complaint& complaint : report.complaints) {
      findings.push_back({{"file", complaint.file},
                          {"offset", complaint.offset ? Json(*complaint.offset) : Json(nullptr)},
                          {"what", complaint.what}});
    }
    array.push_back({{"directory", report.directory},
                     {"ok", report.complaints.empty()},
                     {"by_profd", report.by_profd},
                     {"session", report.session},
                     {"state", report.state},
                     {"end_reason", report.end_reason},
                     {"slices", report.slices},
                     {"bytes", report.bytes},
                     {"lost", report.lost_records},
                     {"perturbations", Perturbations(report.perturbations)},
                     {"unchecked", Array(report.unchecked)},
                     {"findings", std::move(findings)},
                     {"more_findings", report.more_complaints}});
  }
  return Line({{"ok", is_ok}, {"directories", std::move(array)}});
}

std::string ExportJson(const std::vector<ExportResult>& results, bool is_ok) {
  Json directories = Json::array();
  for (const ExportResult& result : results) {
    Json streams = Json::array();
    for (const auto& [stream, count] : result.report.streams()) {
      streams.push_back(
          {{"stream", stream}, {"kind", count.kind}, {"bytes", count.bytes}, {"records", count.records}});
    }
    directories.push_back({{"directory", result.directory},
                           {"complete", result.report.complete() && result.left_out == 0},
                           {"files", Array(result.files)},
                           {"input_bytes", result.input_bytes},
                           {"output_bytes", result.output_bytes},
                           {"duration_ns", result.duration_ns},
                           {"left_out", result.left_out},
                           {"nothing", result.nothing},
                           {"unread", result.report.unread()},
                           {"streams", std::move(streams)},
                           {"skipped", SkippedJson(result.report)},
                           {"more_skipped", result.report.more_skipped()},
                           {"notes", Array(result.report.notes())}});
  }
  return Line({{"ok", is_ok}, {"directories", std::move(directories)}});
}

std::string RepairJson(const std::vector<mend::Mended>& all, bool is_ok) {
  Json directories = Json::array();
  for (const mend::Mended& mended : all) {
    directories.push_back({{"directory", mended.directory},
                           {"repaired", mended.sealed},
                           {"cut_bytes", mended.cut_bytes},
                           {"remarks", Array(mended.remarks)}});
  }
  return Line({{"ok", is_ok}, {"directories", std::move(directories)}});
}

std::string PlannedJson(const std::vector<std::pair<std::string, std::vector<std::string>>>& planned,
                        bool is_ok) {
  Json directories = Json::array();
  for (const auto& [directory, files] : planned)
    directories.push_back({{"directory", directory}, {"files", Array(files)}});
  return Line({{"ok", is_ok}, {"directories", std::move(directories)}});
}

namespace {

std::string Setting(const format::Manifest& manifest, const std::string& name) {
  const auto found = manifest.settings.find(name);
  return found == manifest.settings.end() ? "" : found->second;
}

}  // namespace

std::string InventoryJson(const std::vector<Inventory>& inventories) {
  Json directories = Json::array();
  for (const Inventory& inventory : inventories) {
    const Capture& capture = inventory.capture;
    Json devices = Json::array();
    for (const Side& side : capture.sides) {
      if (side.is_host()) continue;
      const auto models = inventory.models.find(side.facts.device);
      devices.push_back(
          {{"device", side.facts.device},
           {"chip", format::NumberOf(side.facts.chip)},
           {"rank", side.facts.rank_id},
           {"models", models == inventory.models.end() ? Json::array() : Json(models->second)}});
    }
    Json steps = Json::array();
    for (const auto& [device, of_device] : inventory.steps) {
      Json slowest = Json::array();
      for (const Iteration& iteration : of_device.slowest) {
        slowest.push_back(
            {{"number", iteration.number}, {"duration_ns", iteration.duration_ns}, {"edge", iteration.edge}});
      }
      Json left_out = Json::array();
      for (const auto& [number, why] : of_device.left_out)
        left_out.push_back({{"step", number}, {"why", why}});
      steps.push_back({{"device", device},
                       {"count", of_device.count},
                       {"counted", of_device.counted},
                       {"p50_ns", of_device.p50_ns},
                       {"p95_ns", of_device.p95_ns},
                       {"left_out", std::move(left_out)},
                       {"slowest", std::move(slowest)}});
    }
    Json kinds = Json::array();
    for (const InventoryItem& item : inventory.items) {
      kinds.push_back({{"kind", item.kind},
                       {"what", item.what},
                       {"device", item.device},
                       {"rows", item.rows},
                       {"first_ns", item.moments.first_ns()},
                       {"last_ns", item.moments.last_ns()},
                       {"rate_hz", item.moments.rate_hz()},
                       {"gaps", item.moments.gaps()},
                       {"longest_gap_ns", item.moments.longest_gap_ns()}});
    }
    Json perturbations = Json::array();
    if (capture.manifest) perturbations = Perturbations(PerturbationsOf(*capture.manifest));
    Json versions = Json::object();
    const auto setting = [&capture](const std::string& name) {
      return capture.manifest ? Setting(*capture.manifest, name) : std::string();
    };
    for (const char* const name : {"driver", "firmware", "cann"}) {
      if (const std::string version = setting(std::string("version_") + name); !version.empty())
        versions[name] = version;
    }
    directories.push_back({{"directory", capture.path},
                           {"session", capture.manifest ? capture.manifest->session : ""},
                           {"versions", std::move(versions)},
                           {"versions_note", setting("versions_note")},
                           {"simulated", !setting(format::kSimulatedDevices).empty()},
                           {"job", capture.sides.front().facts.job_id},
                           {"host", capture.sides.front().facts.hostname},
                           {"pid", capture.sides.front().facts.pid},
                           {"begin_ns", capture.begin_wall_ns()},
                           {"end_ns", capture.end_wall_ns()},
                           {"bytes", capture.bytes()},
                           {"devices", std::move(devices)},
                           {"steps", std::move(steps)},
                           {"kinds", std::move(kinds)},
                           {"pauses", capture.manifest ? Pauses(PausesOf(*capture.manifest)) : Json::array()},
                           {"perturbations", std::move(perturbations)},
                           {"degraded", capture.manifest ? Json(capture.manifest->degraded) : Json::array()},
                           {"skipped", SkippedJson(inventory.report)},
                           {"more_skipped", inventory.report.more_skipped()}});
  }
  return Line({{"directories", std::move(directories)}});
}

}  // namespace profd::client
