#include "format/preset.h"

namespace profd::format {

namespace {

using enum Kind;

constexpr KindList kMemory = {kHbm, kDdr, kLlc, kNpuMem, kNpuAppMem, kNpuModuleMem};
constexpr KindList kNetwork = {kNic, kRoce, kNetdev, kHccs, kPcie, kUb, kHostNetwork};
constexpr KindList kWholeHost = {kHostSysCpu, kHostSysMem, kHostNetwork};
constexpr KindList kOfTargets = {kHostCpu, kHostMem, kHostDisk, kHostNetwork};
constexpr KindList kLight = {kTask,      kAgentStep, kAgentRange, kAgentMark, kAgentKernel,
                             kAgentComm, kAgentApi,  kHostCpu,    kHostMem};
constexpr KindList kLightOfNode = {kTask, kNpuMem, kHostSysCpu, kHostSysMem};
constexpr KindList kDetail = {kAiCoreTask, kAiVectorTask, kL2, kAiCpu, kCcuTask, kCcu, kHccs, kPcie};
constexpr KindList kDetailOfAgents = {kAgentMemory, kAgentCounter};
constexpr KindList kPeripherals = KindsWith(
    [](const KindTraits& traits) { return kUsualDeviceKinds.Has(traits.kind) && !traits.habits.of_job; });
constexpr KindList UsualHostKinds(bool with_targets) {
  return KindsWith([with_targets](const KindTraits& traits) {
    const bool is_had = with_targets || traits.scope != Scope::kProcess;
    return IsOfHost(traits.scope) && !traits.habits.by_name && is_had;
  });
}

constexpr Preset kPresets[] = {
    {"node",
     "memory, caches, links, ports, media engines and power of the devices; CPU, memory and network of the "
     "host",
     kPeripherals + kWholeHost, kPeripherals + kWholeHost},
    {"memory", "memory and caches of the devices", kMemory, kMemory},
    {"network", "links and ports of the devices, network of the host", kNetwork, kNetwork},
    {"host", "the processes on the host, or the whole host", kOfTargets, kWholeHost},
    {"light", "what ran when in a job, on the device and in the program, at little cost", kLight,
     kLightOfNode},
    {"detail", "each task with its counters and memory, and what the host did meanwhile",
     kLight + kDetailOfAgents + kDetail + kMemory + KindList{kHostDisk, kHostCpuProfile},
     kLightOfNode + kDetail + kMemory},
    {"all", "everything except kinds that must be requested by name",
     kUsualDeviceKinds + UsualHostKinds(true) + kAgentKindList, kUsualDeviceKinds + UsualHostKinds(false)},
};

}  // namespace

std::span<const Preset> Presets() { return kPresets; }

const Preset* FindPreset(std::string_view name) {
  const auto* const found = std::ranges::find(kPresets, name, &Preset::name);
  return found == std::end(kPresets) ? nullptr : found;
}

}  // namespace profd::format
