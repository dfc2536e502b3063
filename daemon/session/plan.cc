#include "daemon/session/plan.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "daemon/driver/capabilities.h"
#include "daemon/driver/core_metrics.h"
#include "daemon/driver/start_para.h"
#include "daemon/session/kinds.h"

namespace profd::session {

using base::Code;
using base::Result;
using base::Status;
using driver::Capability;
using driver::DeviceFacts;

namespace {

constexpr std::string_view kHostNetwork = "host-network";
constexpr double kTextBytesPerSample = 120;  // estimate for kinds without a fixed record

std::string DeviceUnit(uint32_t device) { return "device:" + std::to_string(device); }

std::string Hz(double hz) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", hz);
  return text;
}

template <typename Container>
std::string Joined(const Container& items, const char* separator) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : separator) + std::string(item);
  return text;
}

template <typename Container, typename Value>
bool Contains(const Container& items, const Value& value) {
  return std::find(items.begin(), items.end(), value) != items.end();
}

std::vector<std::string> ModesOf(const Capability& capability) {
  return {capability.modes.begin(), capability.modes.end()};
}

bool HasMode(const Capability* capability, const std::string& mode) {
  return capability != nullptr && !mode.empty() &&
         std::ranges::any_of(capability->modes, [&mode](std::string_view known) {
           return mode == known || (known.ends_with(':') && mode.starts_with(known));
         });
}

// `where` is " on a 910B", or nothing.
Status CheckRate(const KindRequest& request, const driver::RateRange& range, const std::string& where) {
  if (request.hz == 0) return Status::Ok();
  if (!range.exists()) {
    return {Code::kInvalidArgument, request.kind + "=" + Hz(request.hz) + "Hz: " + request.kind +
                                        " has no rate; ask for it without one"};
  }
  // Written so that NaN fails.
  if (request.hz >= range.min_hz && request.hz <= range.max_hz && request.hz == std::floor(request.hz)) {
    return Status::Ok();
  }
  return {Code::kInvalidArgument, request.kind + "=" + Hz(request.hz) + "Hz: the rate of " + request.kind +
                                      where + " is a whole number from " + Hz(range.min_hz) + " to " +
                                      Hz(range.max_hz) + " Hz"};
}

driver::RateRange RangeOf(const HostKind& kind) {
  if (kind.max_hz == 0) return {};
  return {1, static_cast<double>(kind.max_hz), static_cast<double>(kind.default_hz)};
}

class Planner {
 public:
  Planner(const SessionSpec& spec, const NodeFacts& facts) : spec_(spec), facts_(facts) {}

  Result<Plan> Run() {
    PROFD_RETURN_IF_ERROR(CheckTargets());
    PROFD_RETURN_IF_ERROR(ResolveKinds());
    PROFD_RETURN_IF_ERROR(ResolveDevices());
    for (const KindRequest& request : wanted_) {
      const HostKind* host_kind = FindHostKind(request.kind);
      PROFD_RETURN_IF_ERROR(IsAgentKind(request.kind) ? PlanAgentKind(request)
                            : host_kind != nullptr    ? PlanHostKind(request, *host_kind)
                                                      : PlanDeviceKind(request));
    }
    LeaveTasksToAgents();
    BuildChannels();
    if (plan_.channels.empty() && plan_.host.empty() && plan_.agents.empty()) return NothingToCollect();
    PROFD_RETURN_IF_ERROR(CheckSteps());
    return std::move(plan_);
  }

 private:
  // A device kind that can be had.
  struct Chosen {
    const DeviceFacts* device = nullptr;
    std::vector<driver::ChannelUse> channels;
    const Capability* capability = nullptr;
    std::string mode;
    driver::Period period;
    size_t kind_index = 0;
  };

  Status CheckTargets();
  Status ResolveKinds();
  Status ResolveDevices();
  Status CheckDeviceRequest(const KindRequest& request) const;
  Status PlanDeviceKind(const KindRequest& request);
  Status PlanHostKind(const KindRequest& request, const HostKind& kind);
  Status PlanAgentKind(const KindRequest& request);
  Status CheckSteps() const;
  void LeaveTasksToAgents();
  void BuildChannels();
  void AddChannel(const Chosen& chosen, const driver::ChannelUse& use, driver::StartChoice choice);
  Status NothingToCollect() const;

  // Why a device kind cannot be had where no device is to be looked at.
  std::string NoDeviceReason() const {
    return facts_.library_error.empty() ? "this node has no NPU device that profd can see"
                                        : facts_.library_error;
  }
  bool DeviceAllowed(uint32_t device) const {
    return facts_.device_kinds_allowed ||
           std::find(facts_.leased_devices.begin(), facts_.leased_devices.end(), device) !=
               facts_.leased_devices.end();
  }
  void Skip(std::string kind, std::string unit, double requested_hz, std::string reason) {
    KindState state;
    state.kind = std::move(kind);
    state.unit = std::move(unit);
    state.requested_hz = requested_hz;
    state.reason = std::move(reason);
    plan_.kinds.push_back(std::move(state));
  }

  const SessionSpec& spec_;
  const NodeFacts& facts_;
  std::vector<pid_t> targets_;
  std::vector<uint32_t> open_devices_;  // of the targets
  bool only_open_devices_ = false;
  std::vector<KindRequest> wanted_;
  std::vector<const DeviceFacts*> devices_;
  std::vector<Chosen> chosen_;
  bool denied_ = false;  // … because the caller may not have it
  Plan plan_;
};

Status Planner::CheckTargets() {
  for (const pid_t pid : spec_.pids) {
    const auto process = std::find_if(facts_.processes.begin(), facts_.processes.end(),
                                      [pid](const ProcessFacts& facts) { return facts.pid == pid; });
    if (process == facts_.processes.end() || !process->exists) {
      return {Code::kNotFound, "process " + std::to_string(pid) + " does not exist; check --pid"};
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
  std::vector<std::string_view> implied;
  const auto imply = [&](const std::string_view preset) {
    for (const std::string_view kind : PresetKinds(preset, !targets_.empty())) {
      if (std::find(implied.begin(), implied.end(), kind) == implied.end()) implied.push_back(kind);
    }
  };
  const bool devices_named = spec_.all_devices || !spec_.devices.empty();
  if (!spec_.preset.empty()) {
    imply(spec_.preset);
    if (implied.empty()) return {Code::kInvalidArgument, UnknownPreset(spec_.preset)};
  } else if (spec_.kinds.empty()) {
    if (targets_.empty() || devices_named) imply("node");
    if (!targets_.empty()) imply("host");
    if (!targets_.empty() && !devices_named) {
      only_open_devices_ = true;
      const std::vector<std::string_view> kinds = UsualDeviceKinds();
      implied.insert(implied.begin(), kinds.begin(), kinds.end());
    }
    if (!targets_.empty()) implied.insert(implied.end(), AgentKindNames().begin(), AgentKindNames().end());
  }
  for (const std::string_view kind : implied) wanted_.push_back({std::string(kind), "", 0});

  // What was asked for by name goes before what a preset implies of the same kind.
  std::map<std::string, KindRequest> named;
  for (const KindRequest& request : spec_.kinds) {
    if (FindHostKind(request.kind) == nullptr && !IsAgentKind(request.kind) &&
        driver::AnyCapability(request.kind) == nullptr) {
      return {Code::kInvalidArgument, UnknownKind(request.kind)};
    }
    const auto [earlier, is_new] = named.emplace(request.kind, request);
    if (!is_new) {
      if (earlier->second.mode == request.mode && earlier->second.hz == request.hz) continue;
      return {Code::kInvalidArgument,
              request.kind + " is asked for twice with different settings; give it once"};
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

// What no device asked for could do is bad input; what only some cannot do is a skipped kind.
Status Planner::CheckDeviceRequest(const KindRequest& request) const {
  const Capability* any = driver::AnyCapability(request.kind);
  const Capability* shown = any;
  bool mode_known = request.mode.empty() || (devices_.empty() && HasMode(any, request.mode));
  if (devices_.empty()) PROFD_RETURN_IF_ERROR(CheckRate(request, any->rate, ""));
  for (const DeviceFacts* device : devices_) {
    const driver::Offer offer = driver::LookUp(request.kind, *device, facts_.api_version);
    const Capability* capability = offer.capability == nullptr ? any : offer.capability;
    PROFD_RETURN_IF_ERROR(CheckRate(request, capability->rate, " on a " + driver::ChipName(device->chip)));
    mode_known = mode_known || HasMode(capability, request.mode);
    if (mode_known && offer.capability != nullptr) {
      PROFD_RETURN_IF_ERROR(driver::CheckMode(request.kind, request.mode, device->chip));
    }
    shown = capability;
  }
  if (mode_known) return Status::Ok();
  const std::vector<std::string> modes = ModesOf(*shown);
  return {Code::kInvalidArgument,
          request.kind + ":" + request.mode + ": " + request.kind +
              (modes.empty() ? std::string(" has no modes") : " knows the modes " + Joined(modes, " and "))};
}

Status Planner::PlanDeviceKind(const KindRequest& request) {
  PROFD_RETURN_IF_ERROR(CheckDeviceRequest(request));
  if (devices_.empty() && !only_open_devices_) {
    denied_ = denied_ || !facts_.device_kinds_allowed;
    Skip(request.kind, "device:all", request.hz,
         facts_.device_kinds_allowed ? NoDeviceReason() : facts_.device_kinds_denied_reason);
  }
  for (const DeviceFacts* device : devices_) {
    driver::Offer offer = driver::LookUp(request.kind, *device, facts_.api_version);
    const driver::RateRange rate = offer.capability == nullptr ? driver::RateRange{} : offer.capability->rate;
    const double hz = request.hz == 0 ? rate.default_hz : request.hz;
    const auto skip = [&](std::string reason) {
      Skip(request.kind, DeviceUnit(device->id), hz, std::move(reason));
    };
    if (!DeviceAllowed(device->id)) {
      denied_ = true;
      skip(facts_.device_kinds_denied_reason);
      continue;
    }
    if (!offer.available()) {
      skip(std::move(offer.reason));
      continue;
    }
    if (!request.mode.empty() && !HasMode(offer.capability, request.mode)) {
      skip("a " + driver::ChipName(device->chip) + " knows no mode " + request.mode + " of " + request.kind);
      continue;
    }
    std::erase_if(offer.channels, [&](const driver::ChannelUse& use) {
      return format::FindStreamFormat(use.file, device->chip) == nullptr;
    });
    if (offer.channels.empty()) {
      skip("this profd does not know the records of " + request.kind + " on a " +
           driver::ChipName(device->chip));
      continue;
    }

    Chosen chosen;
    chosen.device = device;
    chosen.capability = offer.capability;
    chosen.mode = request.mode.empty() && !offer.capability->modes.empty()
                      ? std::string(offer.capability->modes.front())
                      : request.mode;
    if (rate.exists()) chosen.period = driver::PeriodOf(hz);
    chosen.kind_index = plan_.kinds.size();
    KindState state;
    state.kind = request.kind;
    state.unit = DeviceUnit(device->id);
    state.requested_hz = hz;
    state.effective_hz = driver::EffectiveHz(offer.channels[0].channel, *device, chosen.period, chosen.mode);
    // Periods are rounded down, so only the driver's floor makes a rate fall behind.
    if (state.effective_hz < hz) {
      state.reason = "the driver takes at most " + Hz(state.effective_hz) + " samples a second";
    }
    const bool listed =
        std::any_of(offer.channels.begin(), offer.channels.end(),
                    [&](const driver::ChannelUse& use) { return driver::Lists(*device, use.channel); });
    state.verdict = listed ? Verdict::kStarted : Verdict::kPending;
    if (!listed) state.reason = "starts when a process of the device offers it";
    plan_.kinds.push_back(std::move(state));
    chosen.channels = std::move(offer.channels);
    chosen_.push_back(std::move(chosen));
  }
  return Status::Ok();
}

Status Planner::PlanHostKind(const KindRequest& request, const HostKind& kind) {
  if (!request.mode.empty()) {
    return {Code::kInvalidArgument,
            request.kind + ":" + request.mode + ": " + request.kind + " has no modes"};
  }
  PROFD_RETURN_IF_ERROR(CheckRate(request, RangeOf(kind), ""));
  if (kind.scope == HostKind::Scope::kProcess && targets_.empty()) {
    return {Code::kInvalidArgument, request.kind +
                                        " is of a process: name it with --pid, or ask for host-sys-cpu and " +
                                        "host-sys-mem of the whole host"};
  }
  // Beside a process of the caller's own its network is seen as a whole: there is no other way to see it.
  const bool whole_host =
      targets_.empty() || (kind.scope == HostKind::Scope::kHost && request.kind != kHostNetwork);
  if (whole_host && !facts_.host_kinds_denied_reason.empty()) {
    denied_ = true;
    Skip(request.kind, "host", request.hz, facts_.host_kinds_denied_reason);
    return Status::Ok();
  }
  HostStart start;
  start.kind = request.kind;
  start.hz = request.hz == 0 ? kind.default_hz : static_cast<uint32_t>(request.hz);
  start.kind_index = plan_.kinds.size();
  std::vector<std::string> units;
  if (kind.scope != HostKind::Scope::kHost) {
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
  plan_.bytes_per_second += static_cast<double>(start.hz) * kind.bytes_per_sample;
  plan_.host.push_back(std::move(start));
  return Status::Ok();
}

Status Planner::PlanAgentKind(const KindRequest& request) {
  if (!request.mode.empty() || request.hz != 0) {
    return {Code::kInvalidArgument,
            request.kind + " is what a process says, when it says it: ask for it without a mode or a rate"};
  }
  if (targets_.empty()) {
    return {Code::kInvalidArgument, request.kind +
                                        " is of a process: name it with --pid or --all-agents; profctl " +
                                        "targets shows them"};
  }
  for (const pid_t pid : targets_) {
    const ProcessFacts& process =
        *std::find_if(facts_.processes.begin(), facts_.processes.end(),
                      [pid](const ProcessFacts& facts) { return facts.pid == pid; });
    const std::string unit = "pid:" + std::to_string(pid);
    const auto skip = [&](std::string reason) { Skip(request.kind, unit, 0, std::move(reason)); };
    if (!process.agent) {
      skip("process " + std::to_string(pid) +
           " has no agent: start it with `profctl run -- COMMAND`, or have it `import profd` or link the "
           "agent; `profctl "
           "doctor --pid " +
           std::to_string(pid) + "` tells more");
      continue;
    }
    const AgentFacts& agent = *process.agent;
    const auto known =
        std::find_if(agent.capabilities.begin(), agent.capabilities.end(),
                     [&](const agent::Capability& capability) { return capability.kind == request.kind; });
    if (!agent.usable.ok()) {
      skip(agent.usable.message());
    } else if (!agent.holder.empty()) {
      plan_.held =
          "process " + std::to_string(pid) + " is recorded by " + agent.holder + " already; stop that first";
      skip(plan_.held);
    } else if (known == agent.capabilities.end()) {
      skip("the agent of process " + std::to_string(pid) + " knows no " + request.kind);
    } else if (!known->available) {
      skip(known->reason);
    } else {
      auto start = std::find_if(plan_.agents.begin(), plan_.agents.end(),
                                [pid](const AgentStart& start) { return start.pid == pid; });
      if (start == plan_.agents.end()) {
        start = plan_.agents.emplace(plan_.agents.end());
        start->pid = pid;
        start->kind_index.fill(kNoKind);
      }
      const auto kind = std::find(AgentKindNames().begin(), AgentKindNames().end(), request.kind);
      start->kinds.push_back(request.kind);
      start->kind_index[static_cast<size_t>(kind - AgentKindNames().begin())] = plan_.kinds.size();
      KindState state;
      state.kind = request.kind;
      state.unit = unit;
      state.verdict = Verdict::kStarted;
      plan_.kinds.push_back(std::move(state));
    }
  }
  return Status::Ok();
}

Status Planner::CheckSteps() const {
  const char* what = spec_.steps.from_step != 0 ? "--step"
                     : spec_.steps.active != 0  ? "--steps"
                     : spec_.flight_recorder    ? "--flight-recorder"
                                                : nullptr;
  if (what == nullptr || !plan_.agents.empty()) return Status::Ok();
  std::string why = "no agent kind is recorded";
  for (const KindState& kind : plan_.kinds) {
    if (IsAgentKind(kind.kind)) why = kind.reason;
  }
  return {Code::kFailedPrecondition,
          std::string(what) + " is for what processes record of themselves: " + why};
}

// An agent's kernel records come through the channels of the task log, which have one holder; they say more.
// A process that shows no device may use any of them.
void Planner::LeaveTasksToAgents() {
  std::erase_if(chosen_, [this](const Chosen& chosen) {
    if (chosen.capability->kind != "task") return false;
    for (const ProcessFacts& process : facts_.processes) {
      if (!process.open_devices.empty() && !Contains(process.open_devices, chosen.device->id)) continue;
      const bool records =
          std::any_of(plan_.agents.begin(), plan_.agents.end(), [&](const AgentStart& start) {
            return start.pid == process.pid && Contains(start.kinds, "agent-kernel");
          });
      if (!records) continue;
      KindState& state = plan_.kinds[chosen.kind_index];
      state.verdict = Verdict::kSkipped;
      state.reason = "the agent of process " + std::to_string(process.pid) +
                     " records agent-kernel, which needs the same channels";
      return true;
    }
    return false;
  });
}

void Planner::BuildChannels() {
  for (const DeviceFacts* device : devices_) {
    // Some starts depend on what else is asked of the device.
    driver::StartChoice choice;
    choice.api_version = facts_.api_version;
    choice.host_counter_known = facts_.host_counter_known;
    for (const Chosen& chosen : chosen_) {
      if (chosen.device != device) continue;
      const std::string_view kind = chosen.capability->kind;
      // CheckDeviceRequest() found the mode right.
      if (kind == "aicore") {
        choice.ai_core_period_ms = chosen.period.ms;
        choice.ai_core_events = driver::CoreEvents(chosen.mode, device->chip, driver::CoreType::kAiCore);
      } else if (kind == "aivector") {
        choice.ai_vector_period_ms = chosen.period.ms;
        choice.ai_vector_events =
            driver::CoreEvents(chosen.mode, device->chip, driver::CoreType::kVectorCore);
      }
      choice.soc_memory = choice.soc_memory || IsMemoryKind(kind);
      choice.soc_links = choice.soc_links || IsLinkKind(kind);
    }
    if (!choice.soc_memory && !choice.soc_links)
      choice.soc_memory = choice.soc_links = true;  // asked for alone

    const size_t first = plan_.channels.size();
    for (const Chosen& chosen : chosen_) {
      if (chosen.device != device) continue;
      for (const driver::ChannelUse& use : chosen.channels) AddChannel(chosen, use, choice);
    }
    if (plan_.channels.size() == first) continue;
    plan_.devices.push_back(device->id);
    std::sort(plan_.channels.begin() + static_cast<ptrdiff_t>(first), plan_.channels.end(),
              [](const ChannelStart& a, const ChannelStart& b) {
                return driver::StartRank(a.channel) < driver::StartRank(b.channel);
              });
  }
}

void Planner::AddChannel(const Chosen& chosen, const driver::ChannelUse& use, driver::StartChoice choice) {
  choice.period = chosen.period;
  choice.mode = chosen.mode;
  const driver::StartPara para = driver::MakeStartPara(use.channel, *chosen.device, choice);
  for (ChannelStart& start : plan_.channels) {
    if (start.device != chosen.device->id || start.channel != use.channel) continue;
    if (start.para != para) {
      KindState& state = plan_.kinds[chosen.kind_index];
      state.verdict = Verdict::kSkipped;
      state.reason = plan_.kinds[start.kind_index].kind + " has its channel, with other settings";
    } else {
      start.also_kinds.push_back(chosen.kind_index);
    }
    return;
  }
  ChannelStart start;
  start.device = chosen.device->id;
  start.channel = use.channel;
  start.para = para;
  start.format = format::FindStreamFormat(use.file, chosen.device->chip);
  start.file = use.file;
  start.one_slice = chosen.capability->one_slice;
  start.late = chosen.capability->late;
  start.needs_job = chosen.capability->needs_job;
  start.kind_index = chosen.kind_index;
  const bool fixed = start.format->framing == format::Framing::kFixed;
  const double per_sample =
      fixed ? static_cast<double>(start.format->record_bytes) * std::max(start.format->records_per_period, 1U)
            : kTextBytesPerSample;
  // What the cores' units tell every so many clocks is more than a link takes: nobody knows what comes of it.
  if (chosen.capability->rate.exists()) {
    plan_.bytes_per_second += per_sample * plan_.kinds[chosen.kind_index].effective_hz;
  }
  plan_.channels.push_back(std::move(start));
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
  return {code, "nothing can be collected: " + Joined(reasons, "; ") + (more ? "; …" : "")};
}

KindOffer OfferOf(std::string_view kind, const Capability& capability) {
  KindOffer offer;
  offer.kind = kind;
  offer.min_hz = capability.rate.min_hz;
  offer.max_hz = capability.rate.max_hz;
  offer.default_hz = capability.rate.default_hz;
  offer.modes = ModesOf(capability);
  return offer;
}

}  // namespace

Result<Plan> MakePlan(const SessionSpec& spec, const NodeFacts& facts) { return Planner(spec, facts).Run(); }

std::vector<KindOffer> DeviceKinds(const DeviceFacts& device, uint32_t api_version) {
  std::vector<KindOffer> kinds;
  for (const std::string_view kind : driver::DeviceKindNames()) {
    const driver::Offer found = driver::LookUp(kind, device, api_version);
    kinds.push_back(OfferOf(kind, found.capability == nullptr ? Capability{} : *found.capability));
    kinds.back().available = found.available();
    kinds.back().reason = found.reason;
  }
  return kinds;
}

std::vector<KindOffer> HostKinds() {
  std::vector<KindOffer> kinds;
  for (const HostKind& kind : HostKindTable()) {
    KindOffer offer;
    offer.kind = kind.name;
    const driver::RateRange range = RangeOf(kind);
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
