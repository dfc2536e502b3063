#include "client/verbs/sessions/start_spec.h"

#include <string>
#include <vector>

#include "base/join.h"
#include "client/verbs/user_presets.h"
#include "client/words/args.h"

namespace profd::client {

namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr size_t kMaxStep = size_t{1} << 40;

Status ParseUnits(const StartOptions& options, v1::SessionSpec* spec) {
  if (!options.pids.empty()) {
    PROFD_ASSIGN_OR_RETURN(const std::vector<int32_t> pids, ParsePids(WithCommas(options.pids)));
    spec->mutable_pids()->Assign(pids.begin(), pids.end());
  }
  if (!options.devices.empty()) {
    PROFD_ASSIGN_OR_RETURN(const DeviceList list, ParseDevices(WithCommas(options.devices)));
    spec->set_all_devices(list.all);
    spec->mutable_devices()->Assign(list.devices.begin(), list.devices.end());
  }
  if (!options.collect.empty()) {
    PROFD_ASSIGN_OR_RETURN(const std::vector<v1::KindRequest> kinds,
                           ParseCollect(WithCommas(options.collect)));
    spec->mutable_kinds()->Assign(kinds.begin(), kinds.end());
  }
  spec->set_preset(options.preset);
  PROFD_RETURN_IF_ERROR(ExpandPreset(spec));
  spec->set_all_agents(options.all_agents);
  spec->set_agents_expected(options.agents_expected);
  if (!options.steps.empty()) {
    PROFD_ASSIGN_OR_RETURN(*spec->mutable_steps(), ParseSteps(options.steps));
  }
  if (!options.step.empty()) {
    PROFD_ASSIGN_OR_RETURN(const uint64_t step, ParseCount("--step", options.step, kMaxStep));
    v1::StepSchedule* steps = spec->mutable_steps();
    steps->set_from_step(step);
    // Without a schedule: every step from then on.
    if (steps->active() == 0) steps->set_active(1);
  }
  if (!options.framework.empty()) {
    PROFD_ASSIGN_OR_RETURN(const auto words, ParseFrameworkOptions(WithCommas(options.framework)));
    spec->mutable_framework_options()->insert(words.begin(), words.end());
  }
  if (!options.domains.empty() || !options.domains_exclude.empty()) {
    PROFD_ASSIGN_OR_RETURN(*spec->mutable_agent_domains(),
                           ParseDomains(options.domains, options.domains_exclude));
  }
  spec->set_flight_recorder(options.flight_recorder);
  if (!options.in_memory.empty()) {
    PROFD_ASSIGN_OR_RETURN(const std::vector<v1::KindRequest> kinds, ParseCollect(options.in_memory));
    for (const v1::KindRequest& kind : kinds) {
      if (kind.hz() != 0 || !kind.mode().empty())
        return {base::Code::kInvalidArgument,
                "--in-memory: " + kind.kind() + ": its mode and its rate belong to --collect"};
      spec->add_flight_recorder_kinds(kind.kind());
    }
  }
  for (const std::string& text : options.buffers) {
    PROFD_ASSIGN_OR_RETURN(*spec->add_buffers(), ParseBuffer(text));
  }
  if (!options.snapshot_on.empty()) {
    PROFD_ASSIGN_OR_RETURN(const v1::SnapshotOn snapshot_on, ParseSnapshotOn(options.snapshot_on));
    spec->set_snapshot_on(snapshot_on);
  }
  spec->set_resume(options.resume);
  return Status::Ok();
}

}  // namespace

std::string WithCommas(const std::vector<std::string>& values) { return base::Joined(values, ","); }

Result<v1::SessionSpec> ParseSpec(const StartOptions& options) {
  v1::SessionSpec spec;
  PROFD_RETURN_IF_ERROR(ParseUnits(options, &spec));
  if (!options.duration.empty()) {
    PROFD_ASSIGN_OR_RETURN(const uint64_t ns, ParseDurationNs("--duration", options.duration));
    spec.set_duration_ns(ns);
  }
  if (!options.delay.empty()) {
    PROFD_ASSIGN_OR_RETURN(const uint64_t ns, ParseDurationNs("--delay", options.delay));
    spec.set_delay_ns(ns);
  }
  if (!options.on_full.empty()) {
    PROFD_ASSIGN_OR_RETURN(const v1::OnFull on_full, ParseOnFull(options.on_full));
    spec.set_on_full(on_full);
  }
  if (!options.storage_limit.empty()) {
    PROFD_ASSIGN_OR_RETURN(const uint64_t bytes, ParseStorageLimit(options.storage_limit));
    spec.set_storage_limit_bytes(bytes);
  }
  PROFD_ASSIGN_OR_RETURN(const std::string name, WithEnvironment("--name", options.name));
  PROFD_RETURN_IF_ERROR(CheckName("--name", name));
  spec.set_name(name);
  for (const std::string& text : options.labels) {
    PROFD_ASSIGN_OR_RETURN(const auto label, ParseLabel(text));
    if (!spec.mutable_labels()->insert({label.first, label.second}).second) {
      return Status(Code::kInvalidArgument, "--label: " + label.first + " is given twice: leave one");
    }
  }
  // With --all-agents a label also says which.
  if (options.all_agents) *spec.mutable_agent_labels() = spec.labels();
  return spec;
}

}  // namespace profd::client
