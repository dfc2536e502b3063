#include "daemon/session/plan/plan.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "daemon/session/plan/estimate.h"
#include "daemon/session/plan/planner.h"
#include "format/preset.h"

namespace profd::session {

using agent::Reported;
using base::Code;
using base::Result;
using base::Status;
using driver::Capability;
using driver::DeviceFacts;
using format::Kind;
using format::KindTraits;
using format::Scope;

namespace {

driver::RateRange RangeOf(const KindTraits& kind) {
  if (kind.habits.max_hz == 0) return {};
  return {1, static_cast<double>(kind.habits.max_hz), static_cast<double>(kind.habits.usual_hz)};
}

// "acl+node" of agent-api: as agent::Arm::call_levels has it.
Result<uint32_t> CallLevelsOf(const std::string& mode) {
  uint32_t levels = 0;
  for (size_t at = 0; at < mode.size();) {
    const size_t end = std::min(mode.find('+', at), mode.size());
    const auto level = std::ranges::find(agent::kCallLevels, std::string_view(mode).substr(at, end - at));
    if (level == std::end(agent::kCallLevels) || end + 1 == mode.size()) {
      return Status{Code::kInvalidArgument,
                    "agent-api:" + mode +
                        ": agent-api knows the modes acl, node and runtime, and several of them with +"};
    }
    levels |= 1U << (level - std::begin(agent::kCallLevels));
    at = end + 1;
  }
  return levels;
}

// As format::AgentKind counts.
size_t AgentIndex(Kind kind) { return static_cast<size_t>(kind) - static_cast<size_t>(Kind::kAgentRange); }

}  // namespace

std::string HzText(double hz) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", hz);
  return text;
}

std::vector<std::string> ModesOf(const Capability& capability) {
  return {capability.modes.begin(), capability.modes.end()};
}

Status CheckRate(const KindRequest& request, const driver::RateRange& range, const std::string& where) {
  if (request.hz == 0) return Status::Ok();
  const std::string kind = Text(request.kind);
  if (!range.exists()) {
    return {Code::kInvalidArgument,
            kind + "=" + HzText(request.hz) + "Hz: " + kind + " has no rate; ask for it without one"};
  }
  // Written so that NaN fails.
  if (request.hz >= range.min_hz && request.hz <= range.max_hz && request.hz == std::floor(request.hz)) {
    return Status::Ok();
  }
  return {Code::kInvalidArgument, kind + "=" + HzText(request.hz) + "Hz: the rate of " + kind + where +
                                      " is a whole number from " + HzText(range.min_hz) + " to " +
                                      HzText(range.max_hz) + " Hz"};
}

Result<Plan> Planner::Run() {
  PROFD_RETURN_IF_ERROR(CheckTargets());
  PROFD_RETURN_IF_ERROR(ResolveKinds());
  PROFD_RETURN_IF_ERROR(ResolveDevices());
  PROFD_RETURN_IF_ERROR(CheckMemory());
  for (const KindRequest& request : wanted_) {
    const KindTraits& kind = TraitsOf(request.kind);
    PROFD_RETURN_IF_ERROR(IsAgentKind(request.kind)      ? PlanAgentKind(request)
                          : format::IsOfHost(kind.scope) ? PlanHostKind(request, kind)
                                                         : PlanDeviceKind(request));
  }
  PROFD_RETURN_IF_ERROR(CheckDomains());
  LeaveTasksToAgents();
  LeaveFilesToSamples();
  LeaveSharedSystems();
  BuildChannels();
  EstimateChannels();
  const bool has_windows = std::ranges::any_of(facts_.processes, &ProcessFacts::has_window);
  if (plan_.channels.empty() && plan_.host.empty() && plan_.agents.empty() && !has_windows)
    return NothingToCollect();
  PROFD_RETURN_IF_ERROR(CheckSteps());
  for (KindState& kind : plan_.kinds) {
    kind.in_memory = StaysInMemory(kind.kind);
    kind.buffer = BufferOf(kind.kind);
  }
  return std::move(plan_);
}

Status Planner::CheckTargets() {
  for (const pid_t pid : spec_.pids) {
    const auto process = std::find_if(facts_.processes.begin(), facts_.processes.end(),
                                      [pid](const ProcessFacts& facts) { return facts.pid == pid; });
    if (process == facts_.processes.end() || !process->exists) {
      return {Code::kNotFound, "process " + std::to_string(pid) +
                                   " does not exist on this node: check --pid; a pid inside a container "
                                   "needs --container ID"};
    }
    if (process->is_thread) {
      return {Code::kInvalidArgument,
              std::to_string(pid) + " is a thread; give the id of its process with --pid"};
    }
    if (std::find(targets_.begin(), targets_.end(), pid) != targets_.end()) continue;
    targets_.push_back(pid);
    open_devices_.insert(open_devices_.end(), process->open_devices.begin(), process->open_devices.end());
  }
  return Status::Ok();
}

Status Planner::ResolveKinds() {
  format::KindList implied;
  const auto imply = [&](const format::Preset& preset) {
    implied = implied + (targets_.empty() ? preset.of_node : preset.of_targets);
  };
  const bool devices_named = spec_.all_devices || !spec_.devices.empty();
  if (!spec_.preset.empty()) {
    const format::Preset* preset = format::FindPreset(spec_.preset);
    if (preset == nullptr) return {Code::kInvalidArgument, UnknownPreset(spec_.preset)};
    imply(*preset);
  } else if (spec_.kinds.empty()) {
    if (targets_.empty() || devices_named) imply(*format::FindPreset("node"));
    if (!targets_.empty()) imply(*format::FindPreset("host"));
    if (!targets_.empty() && !devices_named) {
      only_open_devices_ = true;
      implied = format::kUsualDeviceKinds + implied;
    }
    if (!targets_.empty()) implied = implied + format::kAgentKindList;
  }
  for (const Kind kind : implied) wanted_.push_back({kind, "", 0});

  // What was asked for by name goes before what a preset implies of the same kind.
  std::map<Kind, KindRequest> named;
  for (const KindRequest& request : spec_.kinds) {
    const auto [earlier, is_new] = named.emplace(request.kind, request);
    if (!is_new) {
      if (earlier->second.mode == request.mode && earlier->second.hz == request.hz) continue;
      return {Code::kInvalidArgument,
              Text(request.kind) + " is asked for twice with different settings; give it once"};
    }
    const auto same = std::find_if(wanted_.begin(), wanted_.end(),
                                   [&](const KindRequest& other) { return other.kind == request.kind; });
    if (same == wanted_.end()) {
      wanted_.push_back(request);
    } else {
      *same = request;
    }
  }
  return Status::Ok();
}

Status Planner::ResolveDevices() {
  std::vector<uint32_t> ids = spec_.devices;
  for (const uint32_t id : ids) {
    if (std::any_of(facts_.devices.begin(), facts_.devices.end(),
                    [id](const DeviceFacts& device) { return device.id == id; })) {
      continue;
    }
    const std::string missing = "device " + std::to_string(id) + " does not exist: ";
    if (!facts_.library_loaded) return {Code::kFailedPrecondition, missing + facts_.library_error};
    std::vector<std::string> present;
    for (const DeviceFacts& device : facts_.devices) present.push_back(std::to_string(device.id));
    if (present.empty()) return {Code::kNotFound, missing + NoDeviceReason()};
    return {Code::kNotFound, missing + "this node has device" + (present.size() > 1 ? "s " : " ") +
                                 Joined(present, ",") + "; check --devices"};
  }
  bool all = spec_.all_devices;
  if (ids.empty() && !all) {
    ids = open_devices_;
    all = ids.empty() && !only_open_devices_;
  }
  for (const DeviceFacts& device : facts_.devices) {
    if (all || std::find(ids.begin(), ids.end(), device.id) != ids.end()) devices_.push_back(&device);
  }
  return Status::Ok();
}

Status Planner::PlanHostKind(const KindRequest& request, const KindTraits& kind) {
  if (!request.mode.empty()) {
    return {Code::kInvalidArgument, Text(request.kind) + ":" + request.mode + ": " + Text(request.kind) +
                                        " has no modes; ask for it without one"};
  }
  PROFD_RETURN_IF_ERROR(CheckRate(request, RangeOf(kind), ""));
  if (kind.scope == Scope::kProcess && targets_.empty()) {
    return {Code::kInvalidArgument, Text(request.kind) +
                                        " needs a process: name it with --pid, or ask for host-sys-cpu and " +
                                        "host-sys-mem of the whole host"};
  }
  // Beside a process of the caller's own its network is seen as a whole: there is no other way to see it.
  const bool whole_host = targets_.empty() || (kind.scope == Scope::kHost && kind.kind != Kind::kHostNetwork);
  if (whole_host && !facts_.host_kinds_denied_reason.empty()) {
    denied_ = true;
    Skip(request.kind, "host", request.hz, facts_.host_kinds_denied_reason);
    return Status::Ok();
  }
  if (kind.habits.breakpoints && !facts_.breakpoints_denied_reason.empty()) {
    denied_ = true;
    for (const pid_t pid : targets_)
      Skip(request.kind, "pid:" + std::to_string(pid), request.hz, facts_.breakpoints_denied_reason);
    return Status::Ok();
  }
  // Its rows have no time of their own: they count from the begin.
  if (StaysInMemory(request.kind) && kind.kind == Kind::kHostDisk) {
    Skip(request.kind, "host", request.hz,
         "its file has a meaning only as a whole, and a flight recorder keeps a part");
    return Status::Ok();
  }
  HostStart start;
  start.kind = request.kind;
  start.hz = request.hz == 0 ? kind.habits.usual_hz : static_cast<uint32_t>(request.hz);
  start.kind_index = plan_.kinds.size();
  std::vector<std::string> units;
  if (kind.scope != Scope::kHost) {
    for (const pid_t pid : targets_) units.push_back("pid:" + std::to_string(pid));
  }
  if (units.empty()) units.emplace_back("host");
  for (std::string& unit : units) {
    if (plan_.kinds.size() != start.kind_index) start.also_kinds.push_back(plan_.kinds.size());
    KindState state;
    state.kind = request.kind;
    state.unit = std::move(unit);
    state.requested_hz = state.effective_hz = start.hz;
    state.verdict = Verdict::kStarted;
    if (plan_.kinds.size() != start.kind_index)
      state.reason = "counted with " + plan_.kinds[start.kind_index].unit;
    plan_.kinds.push_back(std::move(state));
  }
  HostUnits of{
      .processes = targets_.size(), .threads = 0, .cpus = facts_.cpus, .interfaces = facts_.interfaces};
  for (const ProcessFacts& process : facts_.processes)
    of.threads += Contains(targets_, process.pid) ? process.threads : 0;
  KindState& state = plan_.kinds[start.kind_index];
  state.record_bytes = RecordBytes(kind.kind, nullptr);
  Estimate(state, HostSampleBytes(kind.kind, of), start.hz);
  plan_.host.push_back(std::move(start));
  return Status::Ok();
}

Status Planner::PlanAgentKind(const KindRequest& request) {
  const bool of_calls = request.kind == Kind::kAgentApi;
  const bool of_reports = CanBeReported(request.kind);
  if (request.hz != 0 || (!request.mode.empty() && !of_calls && !of_reports)) {
    return {Code::kInvalidArgument,
            Text(request.kind) + " comes from the process whenever something happens: ask for it without a " +
                (of_calls || of_reports ? "rate" : "mode or a rate")};
  }
  PROFD_RETURN_IF_ERROR(ReportedOf(request.kind, request.mode).status());
  PROFD_ASSIGN_OR_RETURN(const uint32_t levels, CallLevelsOf(of_calls ? request.mode : ""));
  if (targets_.empty()) {
    return {Code::kInvalidArgument, Text(request.kind) +
                                        " needs a process: name it with --pid or --all-agents; profctl " +
                                        "targets shows them"};
  }
  for (const pid_t pid : targets_) {
    const ProcessFacts& process =
        *std::find_if(facts_.processes.begin(), facts_.processes.end(),
                      [pid](const ProcessFacts& facts) { return facts.pid == pid; });
    const std::string unit = "pid:" + std::to_string(pid);
    const auto skip = [&](std::string reason) { Skip(request.kind, unit, 0, std::move(reason)); };
    if (!process.agent && process.agent_expected) {
      StartAgentKind(request.kind, pid, Verdict::kPending, kNotRegistered, levels, WantedReports());
      continue;
    }
    if (!process.agent) {
      skip("process " + std::to_string(pid) +
           " has no agent: start it with `profctl run -- COMMAND`, or have it `import profd` or link the "
           "agent; `profctl "
           "doctor --pid " +
           std::to_string(pid) + "` tells more");
      continue;
    }
    const AgentFacts& agent = *process.agent;
    std::string instead;
    const Reported reports = ReportsOf(agent, &instead);
    const std::vector<agent::Capability> capabilities =
        CapabilitiesOf(agent.capabilities, reports != Reported::kNothing);
    const auto known = std::find_if(
        capabilities.begin(), capabilities.end(),
        [&](const agent::Capability& capability) { return capability.kind == NameOf(request.kind); });
    if (!agent.usable.ok()) {
      skip(agent.usable.message());
    } else if (!agent.holder.empty()) {
      plan_.held =
          "process " + std::to_string(pid) + " is recorded by " + agent.holder + " already; stop that first";
      skip(plan_.held);
    } else if (known == capabilities.end()) {
      skip("the agent of process " + std::to_string(pid) + " knows no " + Text(request.kind));
    } else if (!known->available) {
      skip(known->reason);
    } else {
      StartAgentKind(request.kind, pid, known->later ? Verdict::kPending : Verdict::kStarted,
                     known->later                ? known->reason
                     : IsFromMspti(request.kind) ? instead
                                                 : "",
                     levels, reports);
    }
  }
  return Status::Ok();
}

// Of all kinds that are MSPTI's elsewhere: there is one receiver.
Reported Planner::WantedReports() const {
  Reported wanted = Reported::kNothing;
  bool whole = false;
  for (const KindRequest& request : wanted_) {
    const Result<Reported> asked = ReportedOf(request.kind, request.mode);
    if (asked.ok()) wanted = std::max(wanted, *asked);
    whole = whole || (request.kind == Kind::kAgentKernel && request.mode.empty());
  }
  if (wanted == Reported::kNothing && !IsWithoutMspti(facts_.devices)) return wanted;
  // Kernels without a mode have their operators.
  if (wanted == Reported::kNothing || whole) wanted = std::max(wanted, Reported::kOperators);
  return wanted;
}

// Where MSPTI knows the chips, it stands in for reports that somebody else receives. `instead` says so.
Reported Planner::ReportsOf(const AgentFacts& agent, std::string* instead) const {
  const Reported wanted = WantedReports();
  if (wanted == Reported::kNothing || IsWithoutMspti(facts_.devices)) return wanted;
  const agent::Capability* const reports = FindReports(agent.capabilities);
  if (reports != nullptr && reports->available) return wanted;
  *instead = "from MSPTI, without parts of collectives, attributes and memory of operators: " +
             (reports == nullptr ? "this agent is older than what records them: start the process again"
                                 : reports->reason);
  return Reported::kNothing;
}

void Planner::StartAgentKind(Kind kind, pid_t pid, Verdict verdict, std::string reason, uint32_t levels,
                             Reported reports) {
  auto start = std::find_if(plan_.agents.begin(), plan_.agents.end(),
                            [pid](const AgentStart& start) { return start.pid == pid; });
  if (start == plan_.agents.end()) {
    start = plan_.agents.emplace(plan_.agents.end());
    start->pid = pid;
    start->reports = reports;
    start->kind_index.fill(kNoKind);
  }
  start->kinds.push_back(kind);
  start->call_levels |= levels;
  start->kind_index[AgentIndex(kind)] = plan_.kinds.size();
  KindState state;
  state.kind = kind;
  state.unit = "pid:" + std::to_string(pid);
  state.verdict = verdict;
  state.reason = std::move(reason);
  state.record_bytes = RecordBytes(kind, nullptr);
  plan_.kinds.push_back(std::move(state));
}

void Planner::Estimate(KindState& state, double sample_bytes, double hz) {
  state.bytes_per_s += sample_bytes * hz;
  plan_.bytes_per_second += sample_bytes * hz;
}

Status Planner::CheckSteps() const {
  const char* what = spec_.steps.from_step != 0                ? "--step"
                     : spec_.steps.active != 0                 ? "--steps"
                     : spec_.snapshot_on != SnapshotOn::kAsked ? "--snapshot-on"
                                                               : nullptr;
  const bool has_windows =
      spec_.steps.active > 0 && std::ranges::any_of(facts_.processes, &ProcessFacts::has_window);
  if (what == nullptr || has_windows || !plan_.agents.empty()) return Status::Ok();
  std::string why = "no agent kind is recorded";
  for (const KindState& kind : plan_.kinds) {
    if (IsAgentKind(kind.kind)) why = kind.reason;
  }
  return {Code::kFailedPrecondition, std::string(what) + " needs an agent kind: " + why};
}

bool Planner::StaysInMemory(Kind kind) const {
  return spec_.flight_recorder &&
         (spec_.flight_recorder_kinds.empty() || Contains(spec_.flight_recorder_kinds, kind));
}

// From 1; 0: none of its own.
uint32_t Planner::BufferOf(Kind kind) const {
  const auto buffer = std::ranges::find_if(
      spec_.buffers, [kind](const MemoryBuffer& one) { return Contains(one.kinds, kind); });
  return buffer == spec_.buffers.end() ? 0 : static_cast<uint32_t>(buffer - spec_.buffers.begin() + 1);
}

Status Planner::CheckBuffers() const {
  std::set<Kind> has_one;
  for (const MemoryBuffer& buffer : spec_.buffers) {
    for (const Kind kind : buffer.kinds) {
      if (std::ranges::count(wanted_, kind, &KindRequest::kind) == 0 || !StaysInMemory(kind))
        return {Code::kInvalidArgument, NotInMemory("--buffer", NameOf(kind)) + " in memory"};
      if (IsAgentKind(kind)) {
        return {Code::kInvalidArgument,
                "--buffer: what " + Text(kind) +
                    " keeps is in the memory of its process (agent.lane_kib): leave it out"};
      }
      if (!has_one.insert(kind).second)
        return {Code::kInvalidArgument, "--buffer: " + Text(kind) + " is in two of them; give it one"};
    }
  }
  return Status::Ok();
}

Status Planner::CheckMemory() {
  PROFD_RETURN_IF_ERROR(CheckBuffers());
  for (const Kind kind : spec_.flight_recorder_kinds) {
    if (std::ranges::count(wanted_, kind, &KindRequest::kind) == 0)
      return {Code::kInvalidArgument, NotInMemory("--in-memory", NameOf(kind))};
  }
  const KindRequest* outside = nullptr;
  for (const KindRequest& request : wanted_) {
    if (!IsAgentKind(request.kind)) continue;
    if (StaysInMemory(request.kind)) {
      plan_.agents_in_memory = true;
    } else {
      outside = &request;
    }
  }
  if (!plan_.agents_in_memory || outside == nullptr) return Status::Ok();
  return {Code::kInvalidArgument, "--in-memory: agent kinds of a process share its memory: name " +
                                      Text(outside->kind) + ", too, or none of them"};
}

Status Planner::CheckDomains() const {
  const auto has_domains = [](const KindRequest& request) {
    return request.kind == Kind::kAgentRange || request.kind == Kind::kAgentMark;
  };
  if (spec_.agent_domains.names.empty() || std::ranges::any_of(wanted_, has_domains)) return Status::Ok();
  return {Code::kInvalidArgument,
          std::string(spec_.agent_domains.exclude ? "--agent-domains-exclude" : "--agent-domains") +
              " chooses among agent-range and agent-mark: ask for one of these kinds"};
}

Status Planner::NothingToCollect() const {
  std::vector<std::string> reasons;
  for (const KindState& kind : plan_.kinds) {
    if (std::find(reasons.begin(), reasons.end(), kind.reason) == reasons.end())
      reasons.push_back(kind.reason);
  }
  constexpr size_t kShown = 3;
  const bool more = reasons.size() > kShown;
  if (more) reasons.resize(kShown);
  Code code = Code::kFailedPrecondition;
  if (denied_) {
    code = Code::kPermissionDenied;
  } else if (!plan_.held.empty()) {
    code = Code::kAborted;
  }
  const bool of_devices = std::ranges::any_of(
      plan_.kinds, [](const KindState& kind) { return kind.unit.starts_with("device:"); });
  const char* const hint =
      of_devices && code == Code::kFailedPrecondition ? "; profctl devices shows what there is" : "";
  return {code, "nothing can be collected: " + Joined(reasons, "; ") + (more ? "; …" : "") + hint};
}

namespace {

KindOffer OfferOf(Kind kind, const Capability& capability) {
  KindOffer offer;
  offer.kind = kind;
  offer.min_hz = capability.rate.min_hz;
  offer.max_hz = capability.rate.max_hz;
  offer.default_hz = capability.rate.default_hz;
  offer.modes = ModesOf(capability);
  return offer;
}

}  // namespace

bool IsOfHostAlone(const SessionSpec& spec) {
  const auto is_of_host = [](Kind kind) { return format::IsOfHost(TraitsOf(kind).scope); };
  if (spec.all_devices || !spec.devices.empty() || (spec.preset.empty() && spec.kinds.empty())) return false;
  if (const format::Preset* preset = format::FindPreset(spec.preset); preset != nullptr) {
    const format::KindList& implied = spec.pids.empty() ? preset->of_node : preset->of_targets;
    if (!std::ranges::all_of(implied, is_of_host)) return false;
  }
  return std::ranges::all_of(spec.kinds, is_of_host, &KindRequest::kind);
}

Result<Plan> MakePlan(const SessionSpec& spec, const NodeFacts& facts) { return Planner(spec, facts).Run(); }

std::vector<KindOffer> DeviceKinds(const DeviceFacts& device, uint32_t api_version) {
  std::vector<KindOffer> kinds;
  for (const Kind kind : format::kDeviceKinds) {
    const driver::Offer found = driver::LookUp(kind, device, api_version);
    kinds.push_back(OfferOf(kind, found.capability == nullptr ? Capability{} : *found.capability));
    kinds.back().available = found.available();
    kinds.back().reason = found.reason;
    kinds.back().channels = found.channels;
    kinds.back().by_task = found.capability != nullptr && found.capability->by_task;
  }
  return kinds;
}

std::vector<KindOffer> HostKinds() {
  std::vector<KindOffer> kinds;
  for (const Kind kind : format::kHostKinds) {
    KindOffer offer;
    offer.kind = kind;
    const driver::RateRange range = RangeOf(TraitsOf(kind));
    offer.min_hz = range.min_hz;
    offer.max_hz = range.max_hz;
    offer.default_hz = range.default_hz;
    offer.available = true;
    kinds.push_back(std::move(offer));
  }
  return kinds;
}

double WriteRateOf(const Plan& plan, const std::vector<driver::DeviceFacts>& devices) {
  constexpr double kOfAFullDevice = 50e6;  // the vendor's own rule, with every channel on
  double rate = 0;
  for (const driver::DeviceFacts& device : devices) {
    std::set<uint32_t> planned;
    for (const ChannelStart& start : plan.channels) {
      if (start.device == device.id) planned.insert(start.channel);
    }
    if (device.channels.empty()) continue;
    const double share = static_cast<double>(planned.size()) / static_cast<double>(device.channels.size());
    rate += kOfAFullDevice * std::min(1.0, share);
  }
  return std::max(rate, plan.bytes_per_second);
}

}  // namespace profd::session
