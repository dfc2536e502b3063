// Which kinds of data there are: one enum, one table of what each is. Nobody else knows their names, nor
// those of their files.
//
// What a chip offers of a device's kind, at which rates and in which modes, is the driver's to say
// (daemon/driver/capabilities.cc).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace profd::format {

// In the order people see them.
enum class Kind : uint8_t {
  kHbm,
  kDdr,
  kLlc,
  kPcie,
  kHccs,
  kNic,
  kRoce,
  kNetdev,
  kDvpp,
  kNpuMem,
  kNpuAppMem,
  kNpuModuleMem,
  kQos,
  kSocProfile,
  kLowPower,
  kUb,
  kCcu,
  kCcuTask,
  kTsCpu,
  kAiCore,
  kAiVector,
  kAiCoreTask,
  kAiVectorTask,
  kSocPmu,
  kL2,
  kAiCpu,
  kTask,
  kInstr,
  kCtrlCpu,
  kDevCpu,
  kDevMem,
  kDevPidCpu,
  kDevPidMem,
  kHostCpu,
  kHostMem,
  kHostDisk,
  kHostNetwork,
  kHostSysCpu,
  kHostSysMem,
  kHostPidCpu,
  kHostPidMem,
  kHostCpuProfile,
  kHostOffCpu,
  kHostOsrt,
  kHostPthread,
  kHostCgroup,
  kHostNetDevices,
  kHostHardware,
  kAgentRange,  // from here on as AgentKind (agent_blocks.h)
  kAgentMark,
  kAgentCounter,
  kAgentStep,
  kAgentKernel,
  kAgentComm,
  kAgentApi,
  kAgentMemory,
  kStepTrace,
  kApi,
};

// Files below data/ without device and slice, as the vendor names them. One that begins with '-' has the
// number of a process in front.
namespace file {
inline constexpr std::string_view kHbm = "hbm.data", kDdr = "ddr.data", kLlc = "llc.data",
                                  kPcie = "pcie.data", kHccs = "hccs.data", kNic = "nic.data",
                                  kRoce = "roce.data", kNetdev = "netdev_stats.data",
                                  kNpuMem = "npu_mem.data", kNpuAppMem = "npu_mem.app",
                                  kNpuModuleMem = "npu_module_mem.data", kQos = "qos.data",
                                  kSocProfile = "stars_soc_profile.data", kUb = "ub.data",
                                  kTsCpu = "tscpu.data", kAiCpu = "aicpu.data", kSocPmu = "socpmu.data",
                                  kL2Cache = "l2_cache.data";
// Frequencies alone, or with voltages.
inline constexpr std::string_view kFrequencies = "lpmFreqConv.data", kPower = "lpmInfoConv.data";
// All engines in one, or a file each.
inline constexpr std::string_view kDvpp = "dvpp.data", kVdec = "dvpp.vdec", kJpegd = "dvpp.jpegd",
                                  kPng = "dvpp.png", kJpege = "dvpp.jpege", kVpc = "dvpp.vpc",
                                  kVenc = "dvpp.venc", kScd = "dvpp.scd";
// Collective units, by die.
inline constexpr std::string_view kCcu0Missions = "ccu0.instr", kCcu1Missions = "ccu1.instr",
                                  kCcu0Channels = "ccu0.stat", kCcu1Channels = "ccu1.stat";
// Counters of cores, by time or by task: of chips before STARS, and of both cores of later ones.
inline constexpr std::string_view kAiCore = "aicore.data", kVectorCore = "aiVectorCore.data",
                                  kBothCores = "ffts_profile.data";
// Of the task scheduler, also a 310P's second one.
inline constexpr std::string_view kStarsLog = "stars_soc.data", kTaskLog = "hwts.data",
                                  kVectorTaskLog = "hwts.aiv_data", kTaskTrack = "ts_track.data",
                                  kVectorTaskTrack = "ts_track.aiv_data";
// Of many groups and cores, by what is the same in their names.
inline constexpr std::string_view kInstrAiCore = "instr.group_aic", kInstrVectorCore = "instr.group_aiv",
                                  kInstrOf950 = "instr.biu_perf_group";
// The device's own system; the last two are files of the host's processes, too.
inline constexpr std::string_view kCpuSamples = "ai_ctrl_cpu.data", kSystemCpu = "SystemCpuUsage.data",
                                  kSystemMemory = "Memory.data", kProcessCpu = "-CpuUsage.data",
                                  kProcessMemory = "-Memory.data";
inline constexpr std::string_view kHostCpu = "host_cpu.data", kHostMem = "host_mem.data",
                                  kHostDisk = "host_disk.data", kHostNetwork = "host_network.data",
                                  kHostSysCpu = "host_sys_cpu.data", kHostSysMem = "host_sys_mem.data",
                                  kHostOsrt = "host_syscall.data", kHostPthread = "host_pthreadcall.data",
                                  kHostCgroup = "host_cgroup.data", kHostNetDevices = "host_net_devices.data",
                                  kHostHardware = "host_hardware.data";
// profd's own: no place at the vendor's.
inline constexpr std::string_view kProcessDisk = "-Disk.data", kCpuProfile = "cpu-profile.data",
                                  kOffCpu = "off-cpu.data";
// CANN's calls in a program.
inline constexpr std::string_view kApi = "api_event.data", kStreamSpec = "compact.expand_stream_spec";
}  // namespace file

// What a kind is of.
enum class Scope : uint8_t {
  kDevice,
  kProcess,  // the target processes
  kHost,     // the whole host, targets or not
  kEither,   // the targets, or every process where there are none
  kAgent,    // what a process says of itself
  kFound,    // in what others record, for who reads it: nobody can ask for it
};

struct KindTraits {
  Kind kind = Kind::kHbm;
  std::string_view name = {};
  Scope scope = Scope::kDevice;
  std::string_view about = {};
  std::array<std::string_view, 8> files = {};  // ends with an empty one
  struct Habits {
    // It interrupts or slows down what it looks at, or takes another library than the driver's: only for who
    // names it.
    bool by_name = false;
    bool of_job = false;  // no peripheral of the node: cores and processors at work for somebody
    // Of the host's; 0: it has no rate.
    uint32_t usual_hz = 0, max_hz = 0;
    bool breakpoints = false;  // it has some set in the process
  } habits = {};
};

// clang-format off
inline constexpr KindTraits kKinds[] = {
    {Kind::kHbm, "hbm", Scope::kDevice, "bandwidth of HBM memory", {file::kHbm}},
    {Kind::kDdr, "ddr", Scope::kDevice, "bandwidth of DDR memory", {file::kDdr}},
    {Kind::kLlc, "llc", Scope::kDevice, "hits and throughput of the last-level cache", {file::kLlc}},
    {Kind::kPcie, "pcie", Scope::kDevice, "traffic and latency of the PCIe link", {file::kPcie}},
    {Kind::kHccs, "hccs", Scope::kDevice, "traffic of the links between devices", {file::kHccs}},
    {Kind::kNic, "nic", Scope::kDevice, "traffic and errors of the network ports", {file::kNic}},
    {Kind::kRoce, "roce", Scope::kDevice, "traffic and errors of the RoCE ports", {file::kRoce}},
    {Kind::kNetdev, "netdev", Scope::kDevice, "pause frames, congestion, retries of the port", {file::kNetdev},
     {.by_name = true}},
    {Kind::kDvpp, "dvpp", Scope::kDevice, "use of the media engines",
     {file::kDvpp, file::kVdec, file::kJpegd, file::kPng, file::kJpege, file::kVpc, file::kVenc, file::kScd}},
    {Kind::kNpuMem, "npu-mem", Scope::kDevice, "memory of the device in use", {file::kNpuMem}},
    {Kind::kNpuAppMem, "npu-app-mem", Scope::kDevice, "memory of the device in use by programs",
     {file::kNpuAppMem}},
    {Kind::kNpuModuleMem, "npu-module-mem", Scope::kDevice, "memory of the device that CANN's components hold",
     {file::kNpuModuleMem}},
    {Kind::kQos, "qos", Scope::kDevice, "bandwidth of the QoS streams", {file::kQos}},
    {Kind::kSocProfile, "soc-profile", Scope::kDevice, "traffic within the chip, between its dies and to others",
     {file::kSocProfile}},
    {Kind::kLowPower, "low-power", Scope::kDevice, "frequency of the cores, voltages",
     {file::kFrequencies, file::kPower}},
    {Kind::kUb, "ub", Scope::kDevice, "traffic of the UB ports", {file::kUb}},
    {Kind::kCcu, "ccu", Scope::kDevice, "channels of the collective units",
     {file::kCcu0Channels, file::kCcu1Channels}, {.of_job = true}},
    {Kind::kCcuTask, "ccu-task", Scope::kDevice, "missions of the collective units",
     {file::kCcu0Missions, file::kCcu1Missions}, {.of_job = true}},
    {Kind::kTsCpu, "tscpu", Scope::kDevice, "counters of the task scheduler's CPU", {file::kTsCpu},
     {.of_job = true}},
    {Kind::kAiCore, "aicore", Scope::kDevice, "counters of the AI cores by time",
     {file::kAiCore, file::kBothCores}, {.of_job = true}},
    {Kind::kAiVector, "aivector", Scope::kDevice, "counters of the vector cores by time",
     {file::kVectorCore, file::kBothCores}, {.of_job = true}},
    {Kind::kAiCoreTask, "aicore-task", Scope::kDevice, "counters of the AI cores by task",
     {file::kAiCore, file::kBothCores}, {.by_name = true}},
    {Kind::kAiVectorTask, "aivector-task", Scope::kDevice, "counters of the vector cores by task",
     {file::kVectorCore, file::kBothCores}, {.by_name = true}},
    {Kind::kSocPmu, "soc-pmu", Scope::kDevice,
     "hits of cache and address translation by task, events of the chip", {file::kSocPmu}, {.by_name = true}},
    {Kind::kL2, "l2", Scope::kDevice, "hits of the L2 cache by task", {file::kL2Cache, file::kSocPmu},
     {.by_name = true}},
    {Kind::kAiCpu, "aicpu", Scope::kDevice, "what the AI CPUs report of their tasks", {file::kAiCpu},
     {.of_job = true}},
    {Kind::kTask, "task", Scope::kDevice, "what the task scheduler logs",
     {file::kStarsLog, file::kTaskLog, file::kVectorTaskLog, file::kTaskTrack, file::kVectorTaskTrack},
     {.of_job = true}},
    {Kind::kInstr, "instr", Scope::kDevice, "what the cores' bus units count",
     {file::kInstrAiCore, file::kInstrVectorCore, file::kInstrOf950}, {.by_name = true}},
    {Kind::kCtrlCpu, "ctrlcpu", Scope::kDevice, "what the control and AI CPUs run", {file::kCpuSamples},
     {.by_name = true}},
    {Kind::kDevCpu, "dev-cpu", Scope::kDevice, "CPUs of the device's own system", {file::kSystemCpu},
     {.by_name = true}},
    {Kind::kDevMem, "dev-mem", Scope::kDevice, "memory of the device's own system", {file::kSystemMemory},
     {.by_name = true}},
    {Kind::kDevPidCpu, "dev-pid-cpu", Scope::kDevice, "CPU use of the processes of the device's own system",
     {file::kProcessCpu}, {.by_name = true}},
    {Kind::kDevPidMem, "dev-pid-mem", Scope::kDevice, "memory of the processes of the device's own system",
     {file::kProcessMemory}, {.by_name = true}},
    {Kind::kHostCpu, "host-cpu", Scope::kProcess, "CPU use of its threads", {file::kHostCpu},
     {.usual_hz = 50, .max_hz = 50}},
    {Kind::kHostMem, "host-mem", Scope::kProcess, "its memory", {file::kHostMem},
     {.usual_hz = 50, .max_hz = 50}},
    {Kind::kHostDisk, "host-disk", Scope::kProcess, "what it reads from disks and writes to them",
     {file::kHostDisk, file::kProcessDisk}, {.usual_hz = 50, .max_hz = 50}},
    {Kind::kHostNetwork, "host-network", Scope::kHost, "traffic of the host's network ports",
     {file::kHostNetwork}, {.usual_hz = 50, .max_hz = 50}},
    {Kind::kHostSysCpu, "host-sys-cpu", Scope::kHost, "CPUs of the host", {file::kHostSysCpu},
     {.usual_hz = 10, .max_hz = 50}},
    {Kind::kHostSysMem, "host-sys-mem", Scope::kHost, "memory of the host", {file::kHostSysMem},
     {.usual_hz = 10, .max_hz = 50}},
    {Kind::kHostPidCpu, "host-pid-cpu", Scope::kEither, "CPU use by process", {file::kProcessCpu},
     {.usual_hz = 10, .max_hz = 50}},
    {Kind::kHostPidMem, "host-pid-mem", Scope::kEither, "memory by process", {file::kProcessMemory},
     {.usual_hz = 10, .max_hz = 50}},
    {Kind::kHostCpuProfile, "host-cpu-profile", Scope::kProcess, "hot functions and call chains",
     {file::kCpuProfile}, {.by_name = true, .usual_hz = 99, .max_hz = 999}},
    {Kind::kHostOffCpu, "host-off-cpu", Scope::kProcess, "where its threads wait", {file::kOffCpu},
     {.by_name = true}},
    {Kind::kHostOsrt, "host-osrt", Scope::kProcess, "system calls", {file::kHostOsrt}, {.by_name = true}},
    {Kind::kHostPthread, "host-pthread", Scope::kProcess, "pthread calls", {file::kHostPthread},
     {.by_name = true, .breakpoints = true}},
    {Kind::kHostCgroup, "host-cgroup", Scope::kProcess, "limits and use of its cgroups", {file::kHostCgroup},
     {.usual_hz = 10, .max_hz = 50}},
    {Kind::kHostNetDevices, "host-net-devices", Scope::kHost, "every interface and RDMA port, PFC",
     {file::kHostNetDevices}, {.usual_hz = 10, .max_hz = 50}},
    {Kind::kHostHardware, "host-hardware", Scope::kHost, "NUMA nodes, PCIe links of NPUs",
     {file::kHostHardware}, {.usual_hz = 10, .max_hz = 50}},
    {Kind::kAgentRange, "agent-range", Scope::kAgent, "ranges"},
    {Kind::kAgentMark, "agent-mark", Scope::kAgent, "marks"},
    {Kind::kAgentCounter, "agent-counter", Scope::kAgent, "values by name"},
    {Kind::kAgentStep, "agent-step", Scope::kAgent, "steps of training"},
    {Kind::kAgentKernel, "agent-kernel", Scope::kAgent, "kernels, from MSPTI or CANN's reports"},
    {Kind::kAgentComm, "agent-comm", Scope::kAgent, "collectives, from MSPTI or CANN's reports"},
    {Kind::kAgentApi, "agent-api", Scope::kAgent, "calls of CANN, from MSPTI or its own reports"},
    {Kind::kAgentMemory, "agent-memory", Scope::kAgent,
     "allocations and copies, from MSPTI; of operators, from CANN's reports"},
    {Kind::kStepTrace, "step-trace", Scope::kFound, "iterations of models, in what `task` records"},
    {Kind::kApi, "api", Scope::kFound, "calls of CANN, in what the vendor's collector records", {file::kApi}},
};
// clang-format on
inline constexpr size_t kKindCount = sizeof kKinds / sizeof kKinds[0];

constexpr const KindTraits& TraitsOf(Kind kind) { return kKinds[static_cast<size_t>(kind)]; }
constexpr std::string_view NameOf(Kind kind) { return TraitsOf(kind).name; }
constexpr bool IsOfHost(Scope scope) {
  return scope == Scope::kProcess || scope == Scope::kHost || scope == Scope::kEither;
}

// Nothing for a name that is none.
constexpr std::optional<Kind> FindKind(std::string_view name) {
  for (const KindTraits& traits : kKinds) {
    if (traits.name == name) return traits.kind;
  }
  return std::nullopt;
}

}  // namespace profd::format
