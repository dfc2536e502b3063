#include "options/table.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

namespace profd::options {

namespace {

struct ChipName {
  Chips chip;
  std::string_view name;
};
constexpr ChipName kChips[] = {{k310, "310"},   {k910, "910"}, {k310P, "310P"},   {k910B, "910B"},
                               {k310B, "310B"}, {k950, "950"}, {k910B, "910_93"}, {k950, "910_96"}};

constexpr uint64_t kMaxSeconds = 4294967295;

constexpr Values kOffByDefault[] = {{.words = "on off", .preset = "off"}};
constexpr Values kOnByDefault[] = {{.words = "on off", .preset = "on"}};
constexpr Values kPlain[] = {{}};
constexpr Values kSeconds[] = {{.min = 1, .max = kMaxSeconds}};
constexpr Values kCoreHz[] = {{.min = 1, .max = 100, .preset = "100"}};
constexpr Values kCoreMode[] = {{.words = "task-based sample-based", .preset = "task-based"}};
constexpr Values kCpuHz[] = {{.min = 1, .max = 50, .preset = "50"}};
constexpr Values kUsageHz[] = {{.min = 1, .max = 10, .preset = "10"}};
constexpr Values kCycles[] = {{.min = 300, .max = 30000, .preset = "1000"}};

// Which groups of core counters the chips have.
constexpr std::string_view kOnly310 =
    "PipeUtilization ArithmeticUtilization Memory MemoryL0 MemoryUB ResourceConflictRatio";
constexpr std::string_view kOn310P =
    "PipeUtilization ArithmeticUtilization Memory MemoryL0 MemoryUB ResourceConflictRatio Custom:";
constexpr std::string_view kOn910And950 =
    "PipeUtilization ArithmeticUtilization Memory MemoryL0 MemoryUB ResourceConflictRatio L2Cache Custom:";
constexpr std::string_view kOn910B =
    "PipeUtilization ArithmeticUtilization Memory MemoryL0 MemoryUB ResourceConflictRatio L2Cache "
    "MemoryAccess Custom:";
constexpr std::string_view kOn310B =
    "PipelineExecuteUtilization PipeUtilization ArithmeticUtilization Memory MemoryL0 MemoryUB "
    "ResourceConflictRatio L2Cache Custom:";
constexpr Values kCoreMetrics[] = {{.chips = k910B, .words = kOn910B, .preset = "PipeUtilization"},
                                   {.chips = k910 | k950, .words = kOn910And950, .preset = "PipeUtilization"},
                                   {.chips = k310P, .words = kOn310P, .preset = "PipeUtilization"},
                                   {.chips = k310B, .words = kOn310B, .preset = "PipelineExecuteUtilization"},
                                   {.chips = k310, .words = kOnly310, .preset = "PipeUtilization"}};

constexpr Values kStorage[] = {{.min = 200, .max = kMaxSeconds}};
constexpr Values kResultType[] = {{.words = "text db", .preset = "text"}};
constexpr Values kTaskTime[] = {{.chips = k910B | k950, .words = "on off l0 l1 l2 l3", .preset = "on"},
                                {.words = "on off l0 l1 l2", .preset = "on"}};
constexpr Values kSchedule[] = {{.words = "off l0 l1", .preset = "off"}};
constexpr Values kBlock[] = {{.chips = k950, .words = "off all on", .preset = "off"},
                             {.words = "off all", .preset = "off"}};
constexpr Values kSystemPeriod[] = {{.min = 1, .max = 2592000}};
constexpr Values kMemoryHz[] = {{.chips = k950, .min = 1, .max = 10000, .preset = "50"},
                                {.min = 1, .max = 100, .preset = "50", .once_max = 1000}};
constexpr Values kCache[] = {{.chips = k310, .words = "capacity bandwidth", .preset = "capacity"},
                             {.words = "read write", .preset = "read"}};
constexpr Values kPortHz[] = {{.min = 1, .max = 100, .preset = "100"}};
constexpr Values kMediaHz[] = {{.min = 1, .max = 100, .preset = "50"}};
constexpr Values kOfAProcess[] = {{.words = "cpu mem disk network osrt numa"}};
constexpr Values kOfTheHost[] = {{.words = "cpu mem"}};
constexpr Values kNumber[] = {{.min = 0, .max = kMaxSeconds}};
constexpr Values kIteration[] = {{.min = 1, .max = kMaxSeconds, .preset = "1"}};
constexpr Values kTableFormat[] = {{.words = "csv json", .preset = "csv"}};
constexpr Values kRules[] = {
    {.words = "communication communication_matrix", .preset = "communication,communication_matrix"}};
constexpr Values kSchedulerMetrics[] = {{.words = "PipeUtilization Custom:"}};

constexpr std::string_view kInOwnReports =
    "only the vendor's collector inside the process is told this, and it hands it to nobody else";
constexpr std::string_view kByActivity =
    "recorded by the agent in the process through the vendor's activity interface (MSPTI), with its fields";
constexpr std::string_view kNotYet = "profd does not read this channel of the driver";
constexpr std::string_view kDeviceProcess =
    "needs the vendor's process on the device, which profd does not start";
constexpr std::string_view kAlways =
    "exports hold all models and iterations; use profctl export --from and --to";
constexpr std::string_view kOwnMetrics =
    "counted as the vendor's, for its parser; profctl export makes ratios of them, and no bandwidths. "
    "Without it "
    "PipeUtilization, on a 310B too; which events make L2Cache on a 910 is not known";

constexpr Option kOptions[] = {
    // General.
    {.name = "application",
     .rows = "F-002",
     .about = "the program to run, with its arguments",
     .values = kPlain,
     .becomes = Becomes::kProgram},
    {.name = "output",
     .rows = "F-003",
     .about = "directory for the result",
     .shape = Shape::kPath,
     .values = kPlain,
     .becomes = Becomes::kSession,
     .what = "output"},
    {.name = "environment",
     .rows = "F-004",
     .about = "environment of the program: K=V;K2=V2",
     .values = kPlain,
     .becomes = Becomes::kProgram},
    {.name = "storage-limit",
     .rows = "F-005 F-006 F-007 F-008 F-009",
     .about = "what the result may take on disk, e.g. 500MB",
     .shape = Shape::kMegabytes,
     .values = kStorage,
     .becomes = Becomes::kSession,
     .what = "storage-limit",
     .standing = Standing::kDifferent,
     .because = "it holds for all directories of the session together, as du counts them, on a 310 too; "
                "without it only a full disk makes the oldest data go"},
    {.name = "type",
     .rows = "F-010",
     .about = "what the result is turned into",
     .shape = Shape::kWord,
     .values = kResultType,
     .becomes = Becomes::kResults,
     .what = "format"},
    {.name = "python-path",
     .rows = "F-011",
     .about = "the Python of the export",
     .shape = Shape::kPath,
     .values = kPlain,
     .becomes = Becomes::kResults,
     .standing = Standing::kDifferent,
     .because = "taken and not used: the export needs no Python"},

    // Tasks of a job.
    {.name = "ascendcl",
     .rows = "F-024",
     .about = "AscendCL calls",
     .shape = Shape::kSwitch,
     .values = kOnByDefault,
     .needs = kProcess,
     .becomes = Becomes::kKinds,
     .what = "agent-api",
     .standing = Standing::kDifferent,
     .because = kByActivity},
    {.name = "runtime-api",
     .rows = "F-025",
     .about = "Runtime calls",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .needs = kProcess,
     .becomes = Becomes::kKinds,
     .what = "agent-api",
     .standing = Standing::kDifferent,
     .because = kByActivity},
    {.name = "model-execution",
     .rows = "F-026",
     .about = "model execution",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .needs = kProcess,
     .standing = Standing::kImpossible,
     .because = kInOwnReports},
    {.name = "hccl",
     .rows = "F-027",
     .about = "collective communication",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .needs = kProcess,
     .becomes = Becomes::kKinds,
     .what = "agent-comm",
     .standing = Standing::kDifferent,
     .because = kByActivity},
    {.name = "task-time",
     .rows = "F-028",
     .about = "tasks: when they ran and how long",
     .shape = Shape::kWord,
     .values = kTaskTime,
     .needs = kProcess,
     .becomes = Becomes::kKinds,
     .what = "task agent-kernel agent-comm",
     .standing = Standing::kDifferent,
     .because =
         "what the devices' task schedulers log; where the agent records kernels (MSPTI) those instead, and "
         "collectives. The same at every level; shapes and attributes of operators are not in it"},
    {.name = "ge-api",
     .rows = "F-029",
     .about = "phases of the graph engine on the host",
     .shape = Shape::kWord,
     .values = kSchedule,
     .needs = kProcess,
     .standing = Standing::kImpossible,
     .because = kInOwnReports},
    {.name = "task-memory",
     .rows = "F-030",
     .about = "device memory of the program",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .needs = kProcess,
     .becomes = Becomes::kKinds,
     .what = "agent-memory",
     .standing = Standing::kDifferent,
     .because = "allocations and copies of the process (MSPTI), not by operator"},
    {.name = "aicore-shape",
     .rows = "F-031",
     .about = "shapes of operators",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .needs = "task-time=l0",
     .standing = Standing::kImpossible,
     .because = kInOwnReports},
    {.name = "task-tsfw",
     .rows = "F-032",
     .about = "firmware of the task scheduler",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .needs = kProcess,
     .standing = Standing::kMissing,
     .because = kNotYet},
    {.name = "task-block",
     .rows = "F-033",
     .about = "blocks of tasks",
     .shape = Shape::kWord,
     .values = kBlock,
     .chips = k910B | k310B | k950,
     .needs = kProcess,
     .standing = Standing::kMissing,
     .because = kNotYet},
    {.name = "optype",
     .rows = "F-034",
     .about = "types of operators for task-block",
     .values = kPlain,
     .chips = kEveryChip & ~k910,
     .needs = "task-block=all",
     .standing = Standing::kMissing,
     .because = kNotYet},
    {.name = "aicpu",
     .rows = "F-035",
     .about = "operators of the AI CPUs",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .needs = kProcess,
     .becomes = Becomes::kKinds,
     .what = "aicpu"},
    {.name = "ai-core",
     .rows = "F-036 F-064",
     .about = "counters of the AI cores",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .becomes = Becomes::kKinds,
     .what = "aicore aivector",
     .standing = Standing::kDifferent,
     .because = "sampled, and only when it is asked for; with a program the vendor's is on and per task"},
    {.name = "aic-mode",
     .rows = "F-037",
     .about = "counters per task or by time",
     .shape = Shape::kWord,
     .values = kCoreMode,
     .needs = "ai-core=on",
     .becomes = Becomes::kNothing,
     .standing = Standing::kDifferent,
     .because =
         "the counters are sampled whatever it says; per task they come through a channel (53) that profd "
         "does not read",
     .served = "sample-based"},
    {.name = "aic-freq",
     .rows = "F-038",
     .about = "samples of the AI cores a second",
     .shape = Shape::kNumber,
     .values = kCoreHz,
     .needs = "ai-core=on",
     .becomes = Becomes::kRate,
     .what = "ai-core"},
    {.name = "aic-metrics",
     .rows = "F-039 F-040",
     .about = "which counters of the AI cores",
     .shape = Shape::kWord,
     .values = kCoreMetrics,
     .needs = "ai-core=on",
     .becomes = Becomes::kMode,
     .what = "aicore aivector",
     .standing = Standing::kDifferent,
     .because = kOwnMetrics},
    {.name = "ai-vector-core",
     .rows = "F-041",
     .about = "counters of vector cores of their own",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .chips = k910 | k310P | k310B,
     .becomes = Becomes::kKinds,
     .what = "aivector",
     .standing = Standing::kDifferent,
     .because = "sampled, and only when it is asked for"},
    {.name = "aiv-mode",
     .rows = "F-041",
     .about = "counters per task or by time",
     .shape = Shape::kWord,
     .values = kCoreMode,
     .chips = k910 | k310P | k310B,
     .needs = "ai-vector-core=on",
     .standing = Standing::kDifferent,
     .because = "as aic-mode",
     .served = "sample-based"},
    {.name = "aiv-freq",
     .rows = "F-041",
     .about = "samples of the vector cores a second",
     .shape = Shape::kNumber,
     .values = kCoreHz,
     .chips = k910 | k310P | k310B,
     .needs = "ai-vector-core=on",
     .becomes = Becomes::kRate,
     .what = "ai-vector-core"},
    {.name = "aiv-metrics",
     .rows = "F-041",
     .about = "which counters of the vector cores",
     .shape = Shape::kWord,
     .values = kCoreMetrics,
     .chips = k910 | k310P | k310B,
     .needs = "ai-vector-core=on",
     .becomes = Becomes::kMode,
     .what = "aivector",
     .standing = Standing::kDifferent,
     .because = kOwnMetrics},
    {.name = "l2",
     .rows = "F-042",
     .about = "hits of the L2 cache by task",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .chips = kEveryChip & ~k310,
     .needs = kProcess,
     .becomes = Becomes::kKinds,
     .what = "l2"},
    {.name = "instr-profiling",
     .rows = "F-043 F-044",
     .about = "bandwidth and latency of the cores' buses",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .chips = k910B | k950,
     .old_name = "biu",
     .excludes =
         "ascendcl model-execution runtime-api hccl task-time aicpu ai-core aic-mode aic-freq aic-metrics l2",
     .becomes = Becomes::kKinds,
     .what = "instr",
     .standing = Standing::kDifferent,
     .because =
         "in timelines as counters: how busy each pipe of each core was, of a 950 its changes; check points "
         "are left out"},
    {.name = "instr-profiling-freq",
     .rows = "F-043 F-044",
     .about = "core clocks between two samples",
     .shape = Shape::kNumber,
     .values = kCycles,
     .chips = k910B,
     .old_name = "biu-freq",
     .needs = "instr-profiling=on",
     .becomes = Becomes::kMode,
     .what = "instr",
     .before = "cycles:"},
    {.name = "npu-events",
     .rows = "F-045",
     .about = "events of the chip: HA:0x1,0x2;SMMU:0x2",
     .values = kPlain,
     .chips = kEveryChip & ~k310,
     .becomes = Becomes::kKindMode,
     .what = "soc-pmu",
     .standing = Standing::kDifferent,
     .because = "events that make no hit rate have a table of their own (soc_pmu_events); beside --l2, which "
                "needs the same counters, it gives way and says so"},
    {.name = "nts-metrics",
     .rows = "F-046",
     .about = "counters of the task scheduler",
     .shape = Shape::kWord,
     .values = kSchedulerMetrics,
     .chips = 0,
     .standing = Standing::kImpossible,
     .because = "a chip for cars has it, none that profd knows"},
    {.name = "sys-mem-serviceflow",
     .rows = "F-047",
     .about = "which memory streams of the chip",
     .values = kPlain,
     .chips = kEveryChip & ~k910,
     .needs = "sys-hardware-mem=on",
     .standing = Standing::kDifferent,
     .because = "taken and not used: the first eight streams that the driver names are measured"},
    {.name = "msproftx",
     .rows = "F-048 F-107",
     .about = "ranges and marks of the program",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .needs = kProcess,
     .becomes = Becomes::kKinds,
     .what = "agent-range agent-mark"},
    {.name = "mstx-domain-include",
     .rows = "F-049",
     .about = "only these domains of marks",
     .values = kPlain,
     .needs = "msproftx=on",
     .excludes = "mstx-domain-exclude",
     .standing = Standing::kDifferent,
     .because = "taken and not used: every domain is recorded, with its name"},
    {.name = "mstx-domain-exclude",
     .rows = "F-049",
     .about = "not these domains of marks",
     .values = kPlain,
     .needs = "msproftx=on",
     .excludes = "mstx-domain-include",
     .standing = Standing::kDifferent,
     .because = "taken and not used: every domain is recorded, with its name"},
    {.name = "delay",
     .rows = "F-050",
     .about = "seconds until collection begins",
     .shape = Shape::kNumber,
     .values = kSeconds,
     .needs = kProcess,
     .excludes = "dynamic sys-period",
     .becomes = Becomes::kSession,
     .what = "delay",
     .standing = Standing::kDifferent,
     .because = "at most 30 days; on a 310 too"},
    {.name = "duration",
     .rows = "F-051",
     .about = "seconds of collection, from the end of the delay",
     .shape = Shape::kNumber,
     .values = kSeconds,
     .needs = kProcess,
     .excludes = "dynamic sys-period",
     .becomes = Becomes::kSession,
     .what = "duration",
     .standing = Standing::kDifferent,
     .because = "at most 30 days; on a 310 too"},

    // Devices.
    {.name = "sys-period",
     .rows = "F-052",
     .about = "seconds of collection",
     .shape = Shape::kNumber,
     .values = kSystemPeriod,
     .excludes = "dynamic",
     .becomes = Becomes::kSession,
     .what = "duration"},
    {.name = "sys-devices",
     .rows = "F-053",
     .about = "all, or numbers: 0,1",
     .values = kPlain,
     .excludes = "dynamic",
     .becomes = Becomes::kSession,
     .what = "devices"},
    {.name = "sys-hardware-mem",
     .rows = "F-054",
     .about = "bandwidth and use of memory on the chip",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .becomes = Becomes::kKinds,
     .what = "ddr hbm llc npu-app-mem npu-mem npu-module-mem qos soc-profile"},
    {.name = "sys-hardware-mem-freq",
     .rows = "F-055",
     .about = "samples of it a second",
     .shape = Shape::kNumber,
     .values = kMemoryHz,
     .needs = "sys-hardware-mem=on",
     .becomes = Becomes::kRate,
     .what = "sys-hardware-mem"},
    {.name = "llc-profiling",
     .rows = "F-056",
     .about = "what of the cache",
     .shape = Shape::kWord,
     .values = kCache,
     .needs = "sys-hardware-mem=on",
     .becomes = Becomes::kMode,
     .what = "llc"},
    {.name = "sys-cpu-profiling",
     .rows = "F-057",
     .about = "CPUs of the device: hot functions and counters",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .excludes = "dynamic",
     .becomes = Becomes::kKinds,
     .what = "tscpu",
     .standing = Standing::kDifferent,
     .because = "the TS CPU; control and AI CPUs need the vendor's process on the device, which profd does "
                "not start"},
    {.name = "sys-cpu-freq",
     .rows = "F-057",
     .about = "samples of them a second",
     .shape = Shape::kNumber,
     .values = kCpuHz,
     .needs = "sys-cpu-profiling=on",
     .becomes = Becomes::kRate,
     .what = "sys-cpu-profiling"},
    {.name = "sys-profiling",
     .rows = "F-058 F-066",
     .about = "CPU and memory of the device's system",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .standing = Standing::kMissing,
     .because = kDeviceProcess},
    {.name = "sys-sampling-freq",
     .rows = "F-058",
     .about = "samples of it a second",
     .shape = Shape::kNumber,
     .values = kUsageHz,
     .needs = "sys-profiling=on",
     .standing = Standing::kMissing,
     .because = kDeviceProcess},
    {.name = "sys-pid-profiling",
     .rows = "F-059 F-066",
     .about = "CPU and memory of processes on the device",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .standing = Standing::kMissing,
     .because = kDeviceProcess},
    {.name = "sys-pid-sampling-freq",
     .rows = "F-059",
     .about = "samples of them a second",
     .shape = Shape::kNumber,
     .values = kUsageHz,
     .needs = "sys-pid-profiling=on",
     .standing = Standing::kMissing,
     .because = kDeviceProcess},
    {.name = "sys-io-profiling",
     .rows = "F-060",
     .about = "network ports of the device",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .chips = kEveryChip & ~k310P,
     .becomes = Becomes::kKinds,
     .what = "nic roce ub",
     .standing = Standing::kDifferent,
     .because = "without the pause and congestion counters, which come from another library (DCMI)"},
    {.name = "sys-io-sampling-freq",
     .rows = "F-060",
     .about = "samples of them a second",
     .shape = Shape::kNumber,
     .values = kPortHz,
     .chips = kEveryChip & ~k310P,
     .needs = "sys-io-profiling=on",
     .becomes = Becomes::kRate,
     .what = "sys-io-profiling"},
    {.name = "sys-interconnection-profiling",
     .rows = "F-061",
     .about = "links: PCIe, HCCS, between chips and dies",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .chips = kEveryChip & ~(k310 | k310B),
     .becomes = Becomes::kKinds,
     .what = "pcie hccs ub soc-profile",
     .standing = Standing::kDifferent,
     .because = "without the collective units (CCU) of a 950"},
    {.name = "sys-interconnection-freq",
     .rows = "F-061",
     .about = "samples of them a second",
     .shape = Shape::kNumber,
     .values = kCpuHz,
     .chips = kEveryChip & ~(k310 | k310B),
     .needs = "sys-interconnection-profiling=on",
     .becomes = Becomes::kRate,
     .what = "sys-interconnection-profiling"},
    {.name = "dvpp-profiling",
     .rows = "F-062",
     .about = "media engines",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .becomes = Becomes::kKinds,
     .what = "dvpp"},
    {.name = "dvpp-freq",
     .rows = "F-062",
     .about = "samples of them a second",
     .shape = Shape::kNumber,
     .values = kMediaHz,
     .needs = "dvpp-profiling=on",
     .becomes = Becomes::kRate,
     .what = "dvpp-profiling"},
    {.name = "sys-lp",
     .rows = "F-063",
     .about = "power and frequencies",
     .shape = Shape::kSwitch,
     .values = kOnByDefault,
     .chips = k950,
     .becomes = Becomes::kKinds,
     .what = "soc-profile",
     .standing = Standing::kDifferent,
     .because = "comes with everything else of soc-profile, and only when something of it is asked for"},
    {.name = "sys-lp-freq",
     .rows = "F-063",
     .about = "samples of them a second",
     .shape = Shape::kNumber,
     .values = kPortHz,
     .chips = k950,
     .needs = "sys-lp=on",
     .standing = Standing::kDifferent,
     .because = "taken and not used: power is sampled every 10 ms"},

    // The host.
    {.name = "host-sys",
     .rows = "F-069 F-070 F-071 F-072 F-073 F-074 F-075",
     .about = "of a process, its threads and children; network of the host",
     .shape = Shape::kWords,
     .values = kOfAProcess,
     .needs = kProcess,
     .becomes = Becomes::kWordKinds,
     .what = "cpu:host-cpu mem:host-mem disk:host-disk network:host-network osrt:host-osrt",
     .standing = Standing::kDifferent,
     .because =
         "from the kernel, without iotop, perf, ltrace and sudo: osrt has system calls, no pthread calls; "
         "numa needs counters of the memory controllers that profd does not read"},
    {.name = "host-sys-pid",
     .rows = "F-076",
     .about = "which process",
     .shape = Shape::kNumber,
     .values = kSeconds,
     .becomes = Becomes::kSession,
     .what = "pid"},
    {.name = "host-sys-usage",
     .rows = "F-077",
     .about = "of the host and of all its processes, or of host-sys-pid",
     .shape = Shape::kWords,
     .values = kOfTheHost,
     .becomes = Becomes::kWordKinds,
     .what = "cpu:host-sys-cpu cpu:host-pid-cpu mem:host-sys-mem mem:host-pid-mem"},
    {.name = "host-sys-usage-freq",
     .rows = "F-078",
     .about = "samples of it a second",
     .shape = Shape::kNumber,
     .values = kCpuHz,
     .needs = "host-sys-usage",
     .becomes = Becomes::kRate,
     .what = "host-sys-usage"},

    // Start and stop inside a running job.
    {.name = "dynamic",
     .rows = "F-080 F-082 F-087",
     .about = "on: start and stop by words on the standard input",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .needs = kProcess,
     .excludes = "sys-devices sys-period sys-cpu-profiling delay duration",
     .becomes = Becomes::kProgram,
     .standing = Standing::kDifferent,
     .because =
         "on a 310 too; no environment variable has to be set, and client and job may be of two users"},
    {.name = "pid",
     .rows = "F-081",
     .about = "the running processes: N,…",
     .values = kPlain,
     .needs = "dynamic=on",
     .becomes = Becomes::kProgram,
     .standing = Standing::kDifferent,
     .because = "all processes are in one directory, and begin at one instant"},

    // Results.
    {.name = "parse",
     .rows = "F-089",
     .about = "on: parse a PROF directory",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .needs = "output",
     .excludes = "query export analyze rule clear",
     .becomes = Becomes::kResults,
     .what = "export",
     .standing = Standing::kDifferent,
     .because = "does what export=on does: nothing is parsed beforehand"},
    {.name = "query",
     .rows = "F-090",
     .about = "on: what is in PROF directories",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .needs = "output",
     .becomes = Becomes::kResults,
     .what = "query"},
    {.name = "export",
     .rows = "F-091 F-101",
     .about = "on: timelines, tables and a database of PROF directories",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .needs = "output",
     .becomes = Becomes::kResults,
     .what = "export"},
    {.name = "iteration-id",
     .rows = "F-092",
     .about = "which iteration",
     .shape = Shape::kNumber,
     .values = kIteration,
     .excludes = "type=db",
     .becomes = Becomes::kResults,
     .standing = Standing::kDifferent,
     .because = kAlways},
    {.name = "model-id",
     .rows = "F-093",
     .about = "which model",
     .shape = Shape::kNumber,
     .values = kNumber,
     .excludes = "type=db",
     .becomes = Becomes::kResults,
     .standing = Standing::kDifferent,
     .because = kAlways},
    {.name = "summary-format",
     .rows = "F-094",
     .about = "of the tables",
     .shape = Shape::kWord,
     .values = kTableFormat,
     .excludes = "type=db",
     .becomes = Becomes::kResults,
     .standing = Standing::kDifferent,
     .because = "tables are CSV; the database has them for programs"},
    {.name = "reports",
     .rows = "F-095",
     .about = "file that chooses tracks of the timeline",
     .shape = Shape::kPath,
     .values = kPlain,
     .needs = "export=on",
     .excludes = "type=db",
     .becomes = Becomes::kResults,
     .standing = Standing::kDifferent,
     .because = "taken and not used: every track is exported; use profctl export --kinds"},
    {.name = "clear",
     .rows = "F-096",
     .about = "on: remove what parsing left",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .excludes = "type=db",
     .becomes = Becomes::kResults,
     .standing = Standing::kDifferent,
     .because = "nothing is left to be removed"},
    {.name = "analyze",
     .rows = "F-097",
     .about = "on: analyse communication",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .needs = "output",
     .becomes = Becomes::kResults,
     .standing = Standing::kMissing,
     .because = "profd records, exports and counts; it does not analyse"},
    {.name = "rule",
     .rows = "F-097",
     .about = "what is analysed",
     .shape = Shape::kWords,
     .values = kRules,
     .needs = "analyze=on output",
     .becomes = Becomes::kResults,
     .standing = Standing::kMissing,
     .because = "profd records, exports and counts; it does not analyse"},
};

}  // namespace

std::string ChipNames(Chips chips) {
  std::string names;
  for (const ChipName& chip : std::span(kChips).first(6)) {
    if ((chips & chip.chip) != 0) names += (names.empty() ? "" : " ") + std::string(chip.name);
  }
  return names;
}

Chips ChipOf(std::string_view name) {
  if (name.starts_with("Ascend")) name.remove_prefix(6);
  const ChipName* best = nullptr;
  for (const ChipName& chip : kChips) {
    if (name.starts_with(chip.name) && (best == nullptr || chip.name.size() > best->name.size()))
      best = &chip;
  }
  return best == nullptr ? 0 : best->chip;
}

std::span<const Option> Table() { return kOptions; }

const Option* Find(std::string_view name) {
  const auto* found = std::find_if(std::begin(kOptions), std::end(kOptions), [name](const Option& option) {
    return option.name == name || (!option.old_name.empty() && option.old_name == name);
  });
  return found == std::end(kOptions) ? nullptr : found;
}

const Option* FindByPrefix(std::string_view beginning, std::string* several) {
  if (const Option* exact = Find(beginning)) return exact;
  std::vector<const Option*> found;
  for (const Option& option : kOptions) {
    if (option.name.starts_with(beginning)) found.push_back(&option);
  }
  if (found.size() == 1) return found.front();
  for (const Option* option : found)
    *several += (several->empty() ? "--" : " --") + std::string(option->name);
  return nullptr;
}

const Values& ValuesOn(const Option& option, Chips chip) {
  for (const Values& values : option.values) {
    if ((values.chips & chip) != 0) return values;
  }
  return option.values.back();
}

bool IsOn(std::string_view value) { return !value.empty() && value != "off"; }

bool IsForStart(const Option& option) {
  if (option.becomes == Becomes::kSession) return option.name != option.what;
  return option.becomes != Becomes::kProgram && option.becomes != Becomes::kResults;
}

}  // namespace profd::options
