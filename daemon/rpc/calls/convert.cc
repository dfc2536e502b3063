#include "daemon/rpc/calls/convert.h"

#include <cmath>
#include <string>

#include "base/clock.h"
#include "daemon/auth/tickets.h"
#include "daemon/fabric/options.h"
#include "daemon/session/plan/kinds.h"

namespace profd::rpc {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr int kMaxItems = 1024;  // kinds, pids, devices: far beyond any node
constexpr uint64_t kMaxLeaseNs = 365ull * 24 * 3600 * 1'000'000'000;
constexpr uint64_t kFarthestNs = 3600ull * 1'000'000'000;  // an instant to begin at
constexpr uint64_t kMinStorageBytes = 200'000'000;
constexpr uint64_t kMaxStorageBytes = 4'294'967'295'000'000;

Status TooMany(const char* what) {
  return {Code::kInvalidArgument, std::string("too many ") + what + ": at most " + std::to_string(kMaxItems)};
}

v1::SessionState EncodeState(session::State state) {
  switch (state) {
    case session::State::kPending:
      return v1::SESSION_STATE_PENDING;
    case session::State::kArmed:
      return v1::SESSION_STATE_ARMED;
    case session::State::kRunning:
      return v1::SESSION_STATE_RUNNING;
    case session::State::kStopping:
      return v1::SESSION_STATE_STOPPING;
    case session::State::kSealed:
      return v1::SESSION_STATE_SEALED;
    case session::State::kFailed:
      return v1::SESSION_STATE_FAILED;
  }
  return v1::SESSION_STATE_UNSPECIFIED;
}

v1::EndReason EncodeEndReason(session::EndReason reason) {
  switch (reason) {
    case session::EndReason::kNone:
      return v1::END_REASON_UNSPECIFIED;
    case session::EndReason::kStopped:
      return v1::END_REASON_STOPPED;
    case session::EndReason::kDuration:
      return v1::END_REASON_DURATION;
    case session::EndReason::kTargetExit:
      return v1::END_REASON_TARGET_EXIT;
    case session::EndReason::kDaemonStop:
      return v1::END_REASON_DAEMON_STOP;
    case session::EndReason::kFailed:
      return v1::END_REASON_FAILED;
    case session::EndReason::kInterrupted:
      return v1::END_REASON_INTERRUPTED;
    case session::EndReason::kSteps:
      return v1::END_REASON_STEPS;
    case session::EndReason::kDisk:
      return v1::END_REASON_DISK;
    case session::EndReason::kLease:
      return v1::END_REASON_LEASE;
  }
  return v1::END_REASON_UNSPECIFIED;
}

store::OnFull DecodeOnFull(v1::OnFull on_full) {
  switch (on_full) {
    case v1::ON_FULL_PAUSE:
      return store::OnFull::kPause;
    case v1::ON_FULL_STOP:
      return store::OnFull::kStop;
    default:
      return store::OnFull::kAge;
  }
}

v1::Verdict EncodeVerdict(session::Verdict verdict) {
  switch (verdict) {
    case session::Verdict::kStarted:
      return v1::VERDICT_STARTED;
    case session::Verdict::kPending:
      return v1::VERDICT_PENDING;
    case session::Verdict::kSkipped:
      return v1::VERDICT_SKIPPED;
    case session::Verdict::kFailed:
      return v1::VERDICT_FAILED;
  }
  return v1::VERDICT_UNSPECIFIED;
}

v1::Outcome EncodeOutcome(session::Check::Outcome outcome) {
  switch (outcome) {
    case session::Check::Outcome::kOk:
      return v1::OUTCOME_OK;
    case session::Check::Outcome::kWarn:
      return v1::OUTCOME_WARN;
    case session::Check::Outcome::kBroken:
      return v1::OUTCOME_BROKEN;
  }
  return v1::OUTCOME_UNSPECIFIED;
}

void EncodeKind(const session::KindState& kind, v1::KindState* out) {
  out->set_kind(std::string(NameOf(kind.kind)));
  out->set_unit(kind.unit);
  out->set_requested_hz(kind.requested_hz);
  out->set_effective_hz(kind.effective_hz);
  out->set_verdict(EncodeVerdict(kind.verdict));
  out->set_reason(kind.reason);
  out->set_bytes(kind.bytes);
  out->set_records(kind.records);
  out->set_lost(kind.lost);
  out->set_bytes_per_s(kind.bytes_per_s);
  out->set_record_bytes(kind.record_bytes);
}

void EncodeOffer(const session::KindOffer& offer, v1::KindOffer* out) {
  out->set_kind(std::string(NameOf(offer.kind)));
  out->set_min_hz(offer.min_hz);
  out->set_max_hz(offer.max_hz);
  out->set_default_hz(offer.default_hz);
  out->mutable_modes()->Assign(offer.modes.begin(), offer.modes.end());
  out->set_available(offer.available);
  out->set_reason(offer.reason);
  for (const driver::ChannelUse& use : offer.channels) {
    v1::ChannelUse* added = out->add_channels();
    added->set_channel(use.channel);
    added->set_file(std::string(use.file));
  }
  out->set_by_task(offer.by_task);
}

void EncodeDevice(const session::DeviceReport& report, v1::Device* out) {
  const driver::DeviceFacts& facts = report.facts;
  out->set_device(facts.id);
  out->set_physical_id(facts.physical_id);
  out->set_chip(facts.chip_name);
  out->set_status(facts.status);
  out->set_error(facts.error);
  out->set_virtual_npu(facts.split_mode != 0);
  out->set_ai_cores(facts.ai_core_num);
  out->set_vector_cores(facts.aiv_num);
  out->set_ctrl_cpus(facts.ctrl_cpu_core_num);
  out->set_ai_cpus(facts.ai_cpu_core_num);
  out->set_counter_mhz(facts.counter_mhz);
  out->mutable_channels()->Assign(facts.channels.begin(), facts.channels.end());
  for (const session::KindOffer& offer : report.kinds) EncodeOffer(offer, out->add_kinds());
  for (const session::DeviceReport::Holder& holder : report.holders) {
    v1::KindHolder* added = out->add_holders();
    added->set_kind(holder.kind);
    added->set_holder(holder.holder);
  }
  for (const driver::DeviceLink& link : facts.links) {
    v1::DeviceLink* added = out->add_links();
    added->set_device(link.device);
    added->set_kind(link.kind);
  }
  out->set_pci_address(facts.pci.address);
  if (facts.pci.numa_node) out->set_numa_node(*facts.pci.numa_node);
  out->set_cpus(facts.pci.cpus);
}

// Until the first sample, as of now.
Result<uint64_t> DelayOf(const v1::SessionSpec& spec) {
  if (spec.at_wall_ns() == 0) return spec.delay_ns();
  if (spec.delay_ns() != 0) return Status(Code::kInvalidArgument, "a delay and an instant: give one of them");
  const uint64_t now_ns = base::WallNs();
  if (spec.at_wall_ns() <= now_ns) {
    return Status(Code::kInvalidArgument, "the instant to begin at was " +
                                              std::to_string((now_ns - spec.at_wall_ns()) / 1'000'000) +
                                              " ms ago by this node's clock: give a later one");
  }
  if (spec.at_wall_ns() - now_ns > kFarthestNs) {
    return Status(Code::kInvalidArgument, "the instant to begin at is more than an hour away");
  }
  return spec.at_wall_ns() - now_ns;
}

// The bounds are the agents' (libagent/link/agent.options).
Result<agent::DomainFilter> DecodeDomains(const v1::DomainFilter& untrusted) {
  constexpr int kMaxNames = 32;
  constexpr size_t kMaxNameBytes = 127;
  agent::DomainFilter filter{.names = {untrusted.names().begin(), untrusted.names().end()},
                             .exclude = untrusted.exclude()};
  bool right = untrusted.names_size() <= kMaxNames;
  for (const std::string& name : filter.names) right = right && !name.empty() && name.size() <= kMaxNameBytes;
  if (right) return filter;
  return Status(Code::kInvalidArgument, "domains of agents: at most 32 names of 1 to 127 bytes");
}

Result<std::vector<session::MemoryBuffer>> DecodeBuffers(const v1::SessionSpec& untrusted) {
  std::vector<session::MemoryBuffer> buffers;
  if (untrusted.buffers_size() > kMaxItems) return TooMany("buffers");
  if (untrusted.buffers_size() > 0 && !untrusted.flight_recorder())
    return Status(Code::kInvalidArgument, "--buffer is for a flight recorder: add --flight-recorder");
  for (const v1::MemoryBuffer& buffer : untrusted.buffers()) {
    session::MemoryBuffer& decoded =
        buffers.emplace_back(session::MemoryBuffer{{}, buffer.bytes(), buffer.keeps_first()});
    if (buffer.kinds_size() == 0 || buffer.kinds_size() > kMaxItems)
      return Status(Code::kInvalidArgument, "--buffer: name the kinds that it is for");
    for (const std::string& name : buffer.kinds()) {
      const auto kind = format::FindKind(name);
      if (!kind) return Status(Code::kInvalidArgument, session::NotInMemory("--buffer", name));
      decoded.kinds.push_back(*kind);
    }
  }
  return buffers;
}

Result<session::SnapshotOn> DecodeSnapshotOn(const v1::SessionSpec& untrusted) {
  if (untrusted.snapshot_on() != v1::SNAPSHOT_ON_UNSPECIFIED && !untrusted.flight_recorder())
    return Status(Code::kInvalidArgument, "--snapshot-on is for a flight recorder: add --flight-recorder");
  switch (untrusted.snapshot_on()) {
    case v1::SNAPSHOT_ON_UNSPECIFIED:
      return session::SnapshotOn::kAsked;
    case v1::SNAPSHOT_ON_EXIT:
      return session::SnapshotOn::kExit;
    case v1::SNAPSHOT_ON_CRASH:
      return session::SnapshotOn::kCrash;
    default:
      return Status(Code::kInvalidArgument, "this profd does not know that kind of snapshot_on");
  }
}

}  // namespace

base::Result<session::SessionSpec> DecodeSpec(const v1::SessionSpec& untrusted) {
  if (untrusted.kinds_size() > kMaxItems) return TooMany("kinds");
  if (untrusted.pids_size() > kMaxItems) return TooMany("pids");
  if (untrusted.devices_size() > kMaxItems) return TooMany("devices");
  if (untrusted.all_devices() && untrusted.devices_size() > 0) {
    return Status(Code::kInvalidArgument, "all devices and a list of devices: give one of the two");
  }
  const uint64_t storage_limit = untrusted.storage_limit_bytes();
  if (storage_limit != 0 && (storage_limit < kMinStorageBytes || storage_limit > kMaxStorageBytes)) {
    return Status(Code::kInvalidArgument, "storage limit of " + std::to_string(storage_limit) +
                                              " bytes: must be between 200MB and 4294967295MB");
  }

  session::SessionSpec spec;
  for (const v1::KindRequest& kind : untrusted.kinds()) {
    if (!std::isfinite(kind.hz()) || kind.hz() < 0) {
      return Status(Code::kInvalidArgument, "rate of " + kind.kind() + ": must be a positive number of Hz");
    }
    PROFD_ASSIGN_OR_RETURN(const format::Kind known, session::ReadKind(kind.kind()));
    spec.kinds.push_back({known, kind.mode(), kind.hz(), kind.by_default()});
  }
  spec.labels.insert(untrusted.labels().begin(), untrusted.labels().end());
  for (const int32_t pid : untrusted.pids()) {
    if (pid <= 0) return Status(Code::kInvalidArgument, "pid " + std::to_string(pid) + ": must be positive");
    spec.pids.push_back(pid);
  }
  spec.devices.assign(untrusted.devices().begin(), untrusted.devices().end());
  spec.preset = untrusted.preset();
  spec.all_devices = untrusted.all_devices();
  spec.duration_ns = untrusted.duration_ns();
  PROFD_ASSIGN_OR_RETURN(spec.delay_ns, DelayOf(untrusted));
  spec.at_wall_ns = untrusted.at_wall_ns();
  spec.storage_limit_bytes = storage_limit;
  spec.name = untrusted.name();
  spec.output = untrusted.output();
  spec.agents_expected = untrusted.agents_expected();
  spec.all_agents = untrusted.all_agents();
  if (untrusted.agent_labels_size() > kMaxItems) return TooMany("agent labels");
  spec.agent_labels.insert(untrusted.agent_labels().begin(), untrusted.agent_labels().end());
  const v1::StepSchedule& steps = untrusted.steps();
  spec.steps = {steps.skip_first(), steps.wait(),      steps.warmup(),          steps.active(),
                steps.repeat(),     steps.from_step(), steps.skip_first_wait(), steps.round_up()};
  if (untrusted.has_steps() && steps.active() == 0) {
    return Status(Code::kInvalidArgument, "steps: active must be at least 1");
  }
  if (untrusted.framework_options_size() > kMaxItems) return TooMany("framework options");
  PROFD_ASSIGN_OR_RETURN(spec.framework_options, fabric::ParseOptions({untrusted.framework_options().begin(),
                                                                       untrusted.framework_options().end()}));
  PROFD_ASSIGN_OR_RETURN(spec.agent_domains, DecodeDomains(untrusted.agent_domains()));
  spec.flight_recorder = untrusted.flight_recorder();
  if (untrusted.flight_recorder_kinds_size() > kMaxItems) return TooMany("kinds of the flight recorder");
  for (const std::string& name : untrusted.flight_recorder_kinds()) {
    const auto kind = format::FindKind(name);
    if (!kind) return Status(Code::kInvalidArgument, session::NotInMemory("--in-memory", name));
    spec.flight_recorder_kinds.push_back(*kind);
  }
  if (!spec.flight_recorder && !spec.flight_recorder_kinds.empty())
    return Status(Code::kInvalidArgument, "--in-memory is for a flight recorder: add --flight-recorder");
  PROFD_ASSIGN_OR_RETURN(spec.buffers, DecodeBuffers(untrusted));
  PROFD_ASSIGN_OR_RETURN(spec.snapshot_on, DecodeSnapshotOn(untrusted));
  spec.resume = untrusted.resume();
  spec.on_full = DecodeOnFull(untrusted.on_full());
  if (spec.resume && !spec.output.empty()) {
    return Status(Code::kInvalidArgument,
                  "a session that goes on after a restart writes to profd's own spool: leave out --output");
  }
  if (spec.flight_recorder && untrusted.has_steps()) {
    return Status(Code::kInvalidArgument, "steps and flight recorder: give one of the two");
  }
  return spec;
}

base::Result<session::StopTarget> DecodeStop(const v1::StopRequest& untrusted) {
  const int given =
      (untrusted.session().empty() ? 0 : 1) + (untrusted.pid() != 0 ? 1 : 0) + (untrusted.all() ? 1 : 0);
  if (given != 1) {
    return Status(Code::kInvalidArgument, "stop what? Give exactly one of a session, a pid or all");
  }
  if (untrusted.pid() < 0) {
    return Status(Code::kInvalidArgument, "pid " + std::to_string(untrusted.pid()) + ": must be positive");
  }
  return session::StopTarget{untrusted.session(), untrusted.pid(), untrusted.all()};
}

base::Result<LeaseOrder> DecodeLease(const v1::AddLeaseRequest& untrusted) {
  if (untrusted.devices_size() > kMaxItems) return TooMany("devices");
  if (untrusted.all_devices() == (untrusted.devices_size() > 0)) {
    return Status(Code::kInvalidArgument, "lease what? Give either devices or all of them");
  }
  if (untrusted.duration_ns() == 0 || untrusted.duration_ns() > kMaxLeaseNs) {
    return Status(Code::kInvalidArgument, "duration of the lease: more than 0, at most 365 days");
  }
  PROFD_ASSIGN_OR_RETURN(const uid_t uid, auth::FindUser(untrusted.user()));
  LeaseOrder order;
  order.all_devices = untrusted.all_devices();
  order.lease.uid = uid;
  order.lease.user = auth::UserName(uid);
  order.lease.devices.assign(untrusted.devices().begin(), untrusted.devices().end());
  order.lease.since_wall_ns = base::WallNs();
  order.lease.until_wall_ns = order.lease.since_wall_ns + untrusted.duration_ns();
  return order;
}

void Encode(const auth::Lease& lease, v1::Lease* out) {
  out->set_lease(lease.id);
  out->set_uid(lease.uid);
  out->set_user(lease.user);
  out->mutable_devices()->Assign(lease.devices.begin(), lease.devices.end());
  out->set_since_wall_ns(lease.since_wall_ns);
  out->set_until_wall_ns(lease.until_wall_ns);
  out->set_given_by(lease.given_by);
}

void Encode(const std::vector<auth::Lease>& leases, v1::ListLeasesReply* out) {
  for (const auth::Lease& lease : leases) Encode(lease, out->add_leases());
}

void Encode(const session::SessionInfo& info, v1::SessionInfo* out) {
  out->set_session(info.id);
  out->set_name(info.name);
  for (const auto& [key, value] : info.labels) (*out->mutable_labels())[key] = value;
  out->set_uid(info.uid);
  out->set_user(info.user);
  out->set_directory(info.directory);
  out->mutable_directories()->Assign(info.directories.begin(), info.directories.end());
  out->set_state(EncodeState(info.state));
  out->set_end_reason(EncodeEndReason(info.end_reason));
  out->set_error(info.error);
  out->mutable_degraded()->Assign(info.degraded.begin(), info.degraded.end());
  out->mutable_pids()->Assign(info.pids.begin(), info.pids.end());
  out->mutable_devices()->Assign(info.devices.begin(), info.devices.end());
  out->set_start_wall_ns(info.start_wall_ns);
  out->set_elapsed_ns(info.elapsed_ns);
  out->set_duration_ns(info.duration_ns);
  out->set_storage_limit_bytes(info.storage_limit_bytes);
  out->set_bytes(info.bytes);
  out->set_lost(info.lost);
  out->set_used_bytes(info.used_bytes);
  out->set_aged_bytes(info.aged_bytes);
  out->set_aged_records(info.aged_records);
  out->set_window_ns(info.window_ns);
  out->set_held_bytes(info.held_bytes);
  out->set_held_ns(info.held_ns);
  out->set_pinned(info.pinned);
  out->set_paused(info.paused);
  out->mutable_warnings()->Assign(info.warnings.begin(), info.warnings.end());
  for (const session::Perturbation& found : info.perturbations) {
    v1::Perturbation* added = out->add_perturbations();
    added->set_kind(found.kind);
    added->set_text(found.text);
    added->set_from_ns(found.from_ns);
    added->set_to_ns(found.to_ns);
  }
  for (const session::Window& window : info.windows) {
    v1::Window* added = out->add_windows();
    added->set_pid(window.pid);
    added->set_door(window.door);
    added->set_client(window.client);
    added->set_state(window.state);
    added->set_text(window.text);
    added->set_path(window.path);
  }
  for (const session::Pause& pause : info.pauses) {
    v1::Pause* added = out->add_pauses();
    added->set_from_ns(pause.from_ns);
    added->set_to_ns(pause.to_ns);
    added->set_reason(pause.reason);
  }
  for (const session::KindState& kind : info.kinds) EncodeKind(kind, out->add_kinds());
}

void Encode(const session::Stopped& stopped, v1::StopReply* out) {
  for (const session::SessionInfo& info : stopped.sessions) Encode(info, out->add_sessions());
  out->set_had_ended(stopped.had_ended);
}

void Encode(const std::vector<session::SessionInfo>& infos, v1::ListReply* out) {
  for (const session::SessionInfo& info : infos) Encode(info, out->add_sessions());
}

void Encode(const session::NodeReport& report, v1::DevicesReply* out) {
  out->set_profd_version(report.profd_version);
  out->set_driver_path(report.driver_path);
  out->set_driver_error(report.driver_error);
  out->set_driver_api_version(report.driver_api_version);
  out->mutable_missing_symbols()->Assign(report.missing_symbols.begin(), report.missing_symbols.end());
  for (const session::DeviceReport& device : report.devices) EncodeDevice(device, out->add_devices());
  for (const session::KindOffer& offer : report.host_kinds) EncodeOffer(offer, out->add_host_kinds());
  for (const auto& [what, version] : report.versions.of) (*out->mutable_versions())[what] = version;
  out->set_versions_note(report.versions.note);
}

void Encode(const std::vector<session::Target>& targets, v1::TargetsReply* out) {
  for (const session::Target& target : targets) {
    v1::Target* added = out->add_targets();
    added->set_pid(target.pid);
    added->set_container_pid(target.container_pid);
    added->set_parent_pid(target.parent_pid);
    added->set_forked(target.forked);
    added->set_uid(target.uid);
    added->set_user(target.user);
    added->set_executable(target.executable);
    added->mutable_command_line()->Assign(target.command_line.begin(), target.command_line.end());
    for (const auto& [key, value] : target.labels) (*added->mutable_labels())[key] = value;
    added->mutable_devices()->Assign(target.devices.begin(), target.devices.end());
    added->set_agent_version(target.agent_version);
    added->set_attachable(target.attachable);
    added->set_reason(target.reason);
    added->set_registered_wall_ns(target.registered_wall_ns);
    added->set_last_seen_wall_ns(target.last_seen_wall_ns);
    added->set_recording_by(target.recording_by);
    added->set_door(target.door);
    for (const agent::Capability& capability : target.capabilities) {
      v1::AgentCapability* offered = added->add_capabilities();
      offered->set_kind(capability.kind);
      offered->set_available(capability.available);
      offered->set_reason(capability.reason);
      offered->set_later(capability.later);
    }
  }
}

void Encode(const session::ProcessStacks& stacks, v1::StacksReply* out) {
  out->set_pid(stacks.pid);
  out->set_name(stacks.name);
  out->set_started_wall_ns(stacks.started_wall_ns);
  out->set_wall_ns(stacks.wall_ns);
  out->set_left_out(static_cast<uint32_t>(stacks.threads.left_out));
  out->set_names(stacks.threads.names);
  out->set_samples(stacks.threads.samples);
  for (const host::ThreadPlace& place : stacks.threads.threads) {
    v1::ThreadPlace* added = out->add_threads();
    added->set_tid(place.tid);
    added->set_name(place.name);
    added->set_state(std::string(1, place.state));
    added->set_waits_in(place.waits_in);
    added->set_why(place.why);
  }
}

session::TapeOrder DecodeTape(const v1::TapeRequest& untrusted) {
  using What = session::TapeOrder::What;
  session::TapeOrder order;
  order.what = untrusted.order() == v1::TAPE_ORDER_BEGIN ? What::kBegin
               : untrusted.order() == v1::TAPE_ORDER_END ? What::kEnd
                                                         : What::kTake;
  order.devices.assign(untrusted.devices().begin(), untrusted.devices().end());
  order.most_bytes = untrusted.most_bytes();
  return order;
}

void Encode(const session::Taped& taped, v1::TapeReply* out) {
  const auto copy = [](const std::vector<std::byte>& from, std::string* to) {
    to->assign(reinterpret_cast<const char*>(from.data()), from.size());
  };
  for (const driver::TapedCall& call : taped.calls) {
    v1::DriverCall* added = out->add_calls();
    added->set_call(std::string(call.call));
    if (call.device != driver::kOfNoDevice) added->set_device(call.device);
    added->set_channel(call.channel);
    added->set_began_ns(call.began_ns);
    added->set_ended_ns(call.ended_ns);
    added->set_code(call.code);
    copy(call.given, added->mutable_given());
    copy(call.answered, added->mutable_answered());
  }
  out->set_left_out_calls(taped.left_out.calls);
  out->set_left_out_bytes(taped.left_out.bytes);
}

void Encode(const std::vector<session::Check>& checks, v1::DoctorReply* out) {
  for (const session::Check& check : checks) {
    v1::Check* added = out->add_checks();
    added->set_name(check.name);
    added->set_outcome(EncodeOutcome(check.outcome));
    added->set_detail(check.detail);
    added->set_remedy(check.remedy);
  }
}

}  // namespace profd::rpc
