// What devices are asked for, and the starts of their channels.
#include <algorithm>
#include <string>
#include <vector>

#include "daemon/session/plan/estimate.h"
#include "daemon/session/plan/planner.h"

namespace profd::session {

using base::Code;
using base::Status;
using driver::Capability;
using driver::DeviceFacts;
using format::Kind;

namespace {

std::string DeviceUnit(uint32_t device) { return "device:" + std::to_string(device); }

uint32_t& IntervalOf(driver::ProcessPara& process, format::DeviceFile what) {
  switch (what) {
    case format::DeviceFile::kProcessCpu:
    case format::DeviceFile::kProcessMemory:
      return process.processes_ms;
    case format::DeviceFile::kCpuProfile:
      return process.cpus_ms;
    case format::DeviceFile::kSystemCpu:
    case format::DeviceFile::kSystemMemory:
      break;
  }
  return process.system_ms;
}

bool HasMode(const Capability* capability, const std::string& mode) {
  return capability != nullptr && !mode.empty() &&
         std::ranges::any_of(capability->modes, [&mode](std::string_view known) {
           return mode == known || (known.ends_with(':') && mode.starts_with(known));
         });
}

}  // namespace

// What no device asked for could do is bad input; what only some cannot do is a skipped kind.
Status Planner::CheckDeviceRequest(const KindRequest& request) const {
  const Kind kind = request.kind;
  const Capability* any = driver::AnyCapability(kind);
  const Capability* shown = any;
  bool mode_known = request.mode.empty() || (devices_.empty() && HasMode(any, request.mode));
  if (devices_.empty()) PROFD_RETURN_IF_ERROR(CheckRate(request, any->rate, ""));
  for (const DeviceFacts* device : devices_) {
    const driver::Offer offer = driver::LookUp(kind, *device, facts_.api_version);
    const Capability* capability = offer.capability == nullptr ? any : offer.capability;
    PROFD_RETURN_IF_ERROR(CheckRate(request, capability->rate, " on a " + driver::ChipName(device->chip)));
    mode_known = mode_known || HasMode(capability, request.mode);
    if (mode_known && offer.capability != nullptr) {
      PROFD_RETURN_IF_ERROR(driver::CheckMode(kind, request.mode, *device));
    }
    shown = capability;
  }
  if (mode_known) return Status::Ok();
  const std::vector<std::string> modes = ModesOf(*shown);
  return {Code::kInvalidArgument, Text(kind) + ":" + request.mode + ": " + Text(kind) +
                                      (modes.empty() ? std::string(" has no modes; ask for it without one")
                                                     : " knows the modes " + Joined(modes, " and "))};
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
      skip("a " + driver::ChipName(device->chip) + " knows no mode " + request.mode + " of " +
           Text(request.kind));
      continue;
    }
    std::erase_if(offer.channels, [&](const driver::ChannelUse& use) {
      return format::FindStreamFormat(use.file, device->chip, offer.capability->by_task) == nullptr;
    });
    if (offer.channels.empty()) {
      skip("this profd does not know the records of " + Text(request.kind) + " on a " +
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
      state.reason = "the driver takes at most " + HzText(state.effective_hz) + " samples a second";
    }
    const bool listed =
        std::any_of(offer.channels.begin(), offer.channels.end(),
                    [&](const driver::ChannelUse& use) { return driver::Lists(*device, use.channel); });
    state.verdict = listed ? Verdict::kStarted : Verdict::kPending;
    if (!listed) {
      state.reason = offer.capability->device_file ? "starts with the vendor's process on the device"
                                                   : "starts when a process of the device offers it";
    }
    plan_.kinds.push_back(std::move(state));
    chosen.channels = std::move(offer.channels);
    chosen_.push_back(std::move(chosen));
  }
  return Status::Ok();
}

// An agent's kernel records of MSPTI come through the channels of the task log, which have one holder; they
// say more. A process that shows no device may use any of them. As long as nobody knows whether a process
// will have any, the task log is kept.
void Planner::LeaveTasksToAgents() {
  std::erase_if(chosen_, [this](Chosen& chosen) {
    if (chosen.capability->kind != Kind::kTask) return false;
    for (const ProcessFacts& process : facts_.processes) {
      if (!process.open_devices.empty() && !Contains(process.open_devices, chosen.device->id)) continue;
      const auto records =
          std::find_if(plan_.agents.begin(), plan_.agents.end(), [&](const AgentStart& start) {
            return start.pid == process.pid && start.reports == agent::Reported::kNothing &&
                   Contains(start.kinds, Kind::kAgentKernel);
          });
      if (records == plan_.agents.end()) continue;
      if (plan_.kinds[records->kind_index[static_cast<size_t>(format::AgentKind::kKernel)]].verdict ==
          Verdict::kPending) {
        records->announce = true;
        chosen.gives_way.push_back(process.pid);
        continue;
      }
      KindState& state = plan_.kinds[chosen.kind_index];
      state.verdict = Verdict::kSkipped;
      state.reason = "the agent of process " + std::to_string(process.pid) +
                     " records agent-kernel, which needs the same channels";
      return true;
    }
    return false;
  });
}

// The vendor keeps counters by task and by time in files of one name.
void Planner::LeaveFilesToSamples() {
  const std::vector<Chosen> all = chosen_;
  std::erase_if(chosen_, [this, &all](const Chosen& chosen) {
    if (!chosen.capability->by_task) return false;
    const auto sampled = std::ranges::find_if(all, [&chosen](const Chosen& other) {
      return other.device == chosen.device && !other.capability->by_task &&
             other.channels[0].file == chosen.channels[0].file;
    });
    if (sampled == all.end()) return false;
    KindState& state = plan_.kinds[chosen.kind_index];
    state.verdict = Verdict::kSkipped;
    state.reason =
        std::string(NameOf(sampled->capability->kind)) + " goes into the same file: ask for one of the two";
    return true;
  });
}

// One system is collected once, however many devices it runs.
void Planner::LeaveSharedSystems() {
  std::vector<const Chosen*> kept;
  std::vector<size_t> left;  // kinds
  for (const Chosen& chosen : chosen_) {
    if (!chosen.capability->device_file) continue;
    const auto twin = std::ranges::find_if(kept, [&chosen](const Chosen* other) {
      return other->capability->kind == chosen.capability->kind &&
             driver::ShareSystem(*other->device, *chosen.device);
    });
    if (twin == kept.end()) {
      kept.push_back(&chosen);
      continue;
    }
    KindState& state = plan_.kinds[chosen.kind_index];
    state.verdict = Verdict::kSkipped;
    state.reason = "the system that runs it runs device " + std::to_string((*twin)->device->id) +
                   ", too: it is collected there";
    left.push_back(chosen.kind_index);
  }
  std::erase_if(chosen_, [&left](const Chosen& chosen) { return Contains(left, chosen.kind_index); });
}

// The process samples the two kinds of a sort at one rate: the higher of what they ask for.
void Planner::AddToProcess(const Chosen& chosen, ChannelStart& start) {
  if (!start.process) start.process.emplace();
  const format::DeviceFile what = *chosen.capability->device_file;
  uint32_t& interval = IntervalOf(*start.process, what);
  interval = interval == 0 ? chosen.period.ms : std::min(interval, chosen.period.ms);
  start.files.push_back({what, chosen.kind_index});
}

void Planner::SettleProcess(const ChannelStart& start) {
  driver::ProcessPara process = *start.process;
  for (const DeviceFileStart& file : start.files) {
    KindState& state = plan_.kinds[file.kind_index];
    const double hz = 1e3 / IntervalOf(process, file.what);
    if (hz > state.effective_hz) {
      state.reason =
          "sampled at the rate of its neighbour" + (state.reason.empty() ? "" : "; " + state.reason);
    }
    state.effective_hz = hz;
  }
}

void Planner::BuildChannels() {
  const driver::StartFacts node = {.api_version = facts_.api_version,
                                   .host_counter_known = facts_.host_counter_known,
                                   .main_memory_anew = facts_.main_memory_anew};
  for (const DeviceFacts* device : devices_) {
    std::vector<driver::Asked> asked;
    for (const Chosen& chosen : chosen_) {
      if (chosen.device == device) asked.push_back({chosen.capability, chosen.mode, chosen.period});
    }
    const size_t first = plan_.channels.size();
    for (const Chosen& chosen : chosen_) {
      if (chosen.device != device) continue;
      const driver::Asked its{chosen.capability, chosen.mode, chosen.period};
      for (const driver::ChannelUse& use : chosen.channels)
        AddChannel(chosen, use, driver::StartOf(use.channel, its, asked, *device, node));
    }
    if (plan_.channels.size() == first) continue;
    for (size_t i = first; i < plan_.channels.size(); ++i) {
      if (plan_.channels[i].process) SettleProcess(plan_.channels[i]);
    }
    plan_.devices.push_back(device->id);
    std::sort(plan_.channels.begin() + static_cast<ptrdiff_t>(first), plan_.channels.end(),
              [](const ChannelStart& a, const ChannelStart& b) {
                return driver::StartRank(a.channel) < driver::StartRank(b.channel);
              });
  }
}

void Planner::AddChannel(const Chosen& chosen, const driver::ChannelUse& use, driver::StartPara para) {
  for (ChannelStart& start : plan_.channels) {
    if (start.device != chosen.device->id || start.channel != use.channel) continue;
    if (start.para != para) {
      KindState& state = plan_.kinds[chosen.kind_index];
      state.verdict = Verdict::kSkipped;
      state.reason = Text(plan_.kinds[start.kind_index].kind) + " has its channel, with other settings";
    } else {
      start.also_kinds.push_back(chosen.kind_index);
      start.gives_way.clear();  // somebody else needs it, too
      if (start.process) AddToProcess(chosen, start);
    }
    return;
  }
  ChannelStart start;
  start.device = chosen.device->id;
  start.channel = use.channel;
  start.para = para;
  start.format = format::FindStreamFormat(use.file, chosen.device->chip, chosen.capability->by_task);
  start.file = use.file;
  start.one_slice = chosen.capability->one_slice;
  start.late = chosen.capability->late;
  start.needs_job = chosen.capability->needs_job;
  start.kind_index = chosen.kind_index;
  start.mode = chosen.mode;
  start.gives_way = chosen.gives_way;
  if (chosen.capability->device_file) {
    AddToProcess(chosen, start);
    for (const DeviceFacts& other : facts_.devices) {
      if (driver::ShareSystem(*chosen.device, other)) start.twin = other.id;
    }
  }
  plan_.channels.push_back(std::move(start));
}

// Where its bytes will be counted: at the kind that a channel is started for, and at each file of a device's
// own system.
void Planner::EstimateChannels() {
  for (const ChannelStart& start : plan_.channels) {
    const auto device =
        std::ranges::find(facts_.devices, start.device, [](const DeviceFacts& facts) { return facts.id; });
    KindState& state = plan_.kinds[start.kind_index];
    const Kind kind = state.kind;
    const Capability* capability = driver::LookUp(kind, *device, facts_.api_version).capability;
    state.record_bytes = std::max(state.record_bytes, RecordBytes(kind, start.format));
    for (const DeviceFileStart& file : start.files) {
      KindState& of_file = plan_.kinds[file.kind_index];
      Estimate(of_file, DeviceFileSampleBytes(file.what), of_file.effective_hz);
    }
    // What the cores' units tell every so many clocks is more than a link takes: nobody knows what comes of
    // it.
    if (!start.files.empty() || !capability->rate.exists()) continue;
    format::KindList kinds{kind};
    for (const size_t also : start.also_kinds) kinds.Add(plan_.kinds[also].kind);
    Estimate(state, ChannelSampleBytes(start, kinds, *device), state.effective_hz);
  }
}

}  // namespace profd::session
