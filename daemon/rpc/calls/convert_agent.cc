#include "daemon/rpc/calls/convert_agent.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <variant>

#include "base/text.h"
#include "daemon/session/plan/kinds.h"
#include "format/kind.h"
#include "format/preset.h"

namespace profd::rpc {

using base::Code;
using base::OneLine;
using base::Status;

namespace {

// What the agent itself keeps to, with some room for younger ones.
constexpr int kMaxArguments = 64;
constexpr int kMaxLabels = 64;
constexpr int kMaxDevices = 64;
constexpr int kMaxCapabilities = 64;
constexpr size_t kMaxNameBytes = 64;
constexpr size_t kMaxValueBytes = 256;
constexpr size_t kMaxPathBytes = 1024;

Status TooMany(const char* what, int most) {
  return {Code::kInvalidArgument,
          std::string("the agent tells of too many ") + what + ": at most " + std::to_string(most)};
}

void AddNames(const std::vector<format::Kind>& kinds,
              google::protobuf::RepeatedPtrField<std::string>* names) {
  for (const format::Kind kind : kinds) names->Add(std::string(NameOf(kind)));
}

// What an agent that is older than AgentAck::missing says: "agent-memory: why; MSPTI kinds: pending: why".
std::vector<agent::Missing> MissingIn(std::string_view message) {
  constexpr std::string_view kBetween = "; ", kBehindWho = ": ",
                             kLater = "pending: ", kOfMspti = "MSPTI kinds";
  std::vector<agent::Missing> missing;
  while (!message.empty()) {
    const size_t end = std::min(message.find(kBetween), message.size());
    std::string_view part = message.substr(0, end);
    message.remove_prefix(std::min(end + kBetween.size(), message.size()));
    const size_t colon = part.find(kBehindWho);
    if (colon == std::string_view::npos) continue;
    const std::string_view who = part.substr(0, colon);
    part.remove_prefix(colon + kBehindWho.size());
    const bool later = part.starts_with(kLater);
    if (later) part.remove_prefix(kLater.size());
    for (const format::Kind kind : format::kAgentKindList) {
      if (who == NameOf(kind) || (who == kOfMspti && session::IsFromMspti(kind)))
        missing.push_back({kind, std::string(part), later});
    }
  }
  return missing;
}

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

}  // namespace

base::Result<agent::Hello> DecodeHello(const v1::AgentHello& untrusted) {
  if (untrusted.command_line_size() > kMaxArguments) return TooMany("arguments", kMaxArguments);
  if (untrusted.labels_size() > kMaxLabels) return TooMany("labels", kMaxLabels);
  agent::Hello hello;
  PROFD_ASSIGN_OR_RETURN(hello.devices, DecodeDevices(untrusted.devices()));
  PROFD_ASSIGN_OR_RETURN(hello.capabilities, DecodeCapabilities(untrusted.capabilities()));
  hello.agent_version = OneLine(untrusted.agent_version(), kMaxNameBytes);
  hello.protocol = untrusted.protocol();
  hello.pid = untrusted.pid();
  hello.parent_pid = untrusted.parent_pid();
  hello.forked = untrusted.forked();
  hello.start_time_ticks = untrusted.start_time_ticks();
  hello.executable = OneLine(untrusted.executable(), kMaxPathBytes);
  for (const std::string& argument : untrusted.command_line()) {
    hello.command_line.push_back(OneLine(argument, kMaxValueBytes));
  }
  for (const v1::AgentLabel& label : untrusted.labels()) {
    std::string key = OneLine(label.key(), kMaxNameBytes);
    // The first source of a label wins.
    if (!key.empty()) hello.labels.try_emplace(std::move(key), OneLine(label.value(), kMaxValueBytes));
  }
  return hello;
}

base::Result<std::vector<uint32_t>> DecodeDevices(
    const google::protobuf::RepeatedField<uint32_t>& untrusted) {
  if (untrusted.size() > kMaxDevices) return TooMany("devices", kMaxDevices);
  std::vector<uint32_t> devices(untrusted.begin(), untrusted.end());
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  return devices;
}

base::Result<std::vector<agent::Capability>> DecodeCapabilities(
    const google::protobuf::RepeatedPtrField<v1::AgentCapability>& untrusted) {
  if (untrusted.size() > kMaxCapabilities) return TooMany("capabilities", kMaxCapabilities);
  std::vector<agent::Capability> capabilities;
  for (const v1::AgentCapability& capability : untrusted) {
    capabilities.push_back({OneLine(capability.kind(), kMaxNameBytes), capability.available(),
                            OneLine(capability.reason(), kMaxValueBytes), capability.later()});
  }
  return capabilities;
}

agent::Ack DecodeAck(const v1::AgentAck& untrusted) {
  agent::Ack ack;
  ack.command_id = untrusted.command_id();
  const std::string message = OneLine(untrusted.message(), kMaxValueBytes);
  if (untrusted.code() != 0) {
    const bool is_known = untrusted.code() <= static_cast<uint32_t>(Code::kUnauthenticated);
    ack.status = {is_known ? static_cast<Code>(untrusted.code()) : Code::kUnknown, message};
  }
  for (const v1::AgentCapability& missing : untrusted.missing()) {
    const auto kind = format::FindKind(missing.kind());
    if (kind && ack.missing.size() < format::kKindCount)
      ack.missing.push_back({*kind, OneLine(missing.reason(), kMaxValueBytes), missing.later()});
  }
  if (untrusted.missing().empty()) ack.missing = MissingIn(message);
  ack.ticks = untrusted.ticks();
  ack.slots = untrusted.slots();
  ack.lost = untrusted.lost();
  ack.lost_without_lane = untrusted.lost_without_lane();
  ack.missed_ns = untrusted.missed_ns();
  return ack;
}

agent::StepWindow DecodeStepWindow(const v1::StepWindow& untrusted) {
  return {.cycle = untrusted.cycle(),
          .step = untrusted.step(),
          .ticks = untrusted.ticks(),
          .opened = untrusted.opened(),
          .last = untrusted.last()};
}

void Encode(const agent::Command& command, v1::AgentCommand* out) {
  out->set_id(command.id);
  std::visit(Overloaded{
                 [out](const agent::Arm& arm) {
                   v1::Arm* to = out->mutable_arm();
                   AddNames(arm.kinds, to->mutable_kinds());
                   to->set_flight_recorder(arm.flight_recorder);
                   to->set_fire(arm.fire);
                   to->set_announce(arm.announce);
                   to->set_device_marks(arm.device_marks);
                   to->set_call_levels(arm.call_levels);
                   to->set_reports(arm.reports != agent::Reported::kNothing);
                   if (arm.reports == agent::Reported::kTasks) to->add_kinds("tasks");
                   if (arm.reports == agent::Reported::kAttributes) to->add_kinds("attributes");
                   if (!arm.domains.names.empty()) {
                     v1::DomainFilter* domains = to->mutable_domains();
                     domains->mutable_names()->Assign(arm.domains.names.begin(), arm.domains.names.end());
                     domains->set_exclude(arm.domains.exclude);
                   }
                   if (arm.steps.active == 0) return;
                   v1::StepSchedule* steps = to->mutable_steps();
                   steps->set_skip_first(arm.steps.skip_first);
                   steps->set_wait(arm.steps.wait);
                   steps->set_warmup(arm.steps.warmup);
                   steps->set_active(arm.steps.active);
                   steps->set_repeat(arm.steps.repeat);
                   steps->set_from_step(arm.steps.from_step);
                   steps->set_skip_first_wait(arm.steps.skip_first_wait);
                   steps->set_round_up(arm.steps.round_up);
                 },
                 [out](const agent::Fire& fire) { out->mutable_fire()->set_at_raw_ns(fire.at_raw_ns); },
                 [out](const agent::StopRecording&) { out->mutable_stop(); },
                 [out](const agent::PairClocks&) { out->mutable_pair_clocks(); },
                 [out](const agent::AddKinds& add) {
                   AddNames(add.kinds, out->mutable_add_kinds()->mutable_kinds());
                 },
                 [out](const agent::Describe&) { out->mutable_describe(); },
             },
             command.action);
}

}  // namespace profd::rpc
