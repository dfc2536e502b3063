// What msprof takes in general, of a job and its tasks.
#include "client/options/table_rows.h"

namespace profd::options {

namespace {

constexpr Values kCoreHz[] = {{.min = 1, .max = 100, .preset = "100"}};
constexpr Values kCoreMode[] = {{.words = "task-based sample-based", .preset = "task-based"}};
constexpr Values kCycles[] = {{.min = 300, .max = 30000, .preset = "1000"}};

// Which groups of core counters the chips have.
constexpr std::string_view kOn310And310P =
    "PipeUtilization ArithmeticUtilization Memory MemoryL0 MemoryUB ResourceConflictRatio Custom:";
constexpr std::string_view kOn910And950 =
    "PipeUtilization ArithmeticUtilization Memory MemoryL0 MemoryUB ResourceConflictRatio L2Cache Custom:";
constexpr std::string_view kOn910B =
    "PipeUtilization ArithmeticUtilization Memory MemoryL0 MemoryUB ResourceConflictRatio L2Cache "
    "MemoryAccess Custom:";
constexpr std::string_view kOn310B =
    "PipelineExecuteUtilization PipeUtilization ArithmeticUtilization Memory MemoryL0 MemoryUB "
    "ResourceConflictRatio L2Cache Custom:";
constexpr Values kCoreMetrics[] = {
    {.chips = k910B, .words = kOn910B, .preset = "PipeUtilization"},
    {.chips = k910 | k950, .words = kOn910And950, .preset = "PipeUtilization"},
    {.chips = k310 | k310P, .words = kOn310And310P, .preset = "PipeUtilization"},
    {.chips = k310B, .words = kOn310B, .preset = "PipelineExecuteUtilization"}};

constexpr Values kStorage[] = {{.min = 200, .max = kMaxSeconds}};
constexpr Values kOnWithProgram[] = {{.words = "on off", .preset = "on", .alone = "off"}};
constexpr Values kResultType[] = {{.words = "text db", .preset = "text"}};
constexpr Values kTaskTime[] = {{.chips = k910B | k950, .words = "on off l0 l1 l2 l3", .preset = "on"},
                                {.words = "on off l0 l1 l2", .preset = "on"}};
constexpr Values kSchedule[] = {{.words = "off l0 l1", .preset = "off"}};
constexpr Values kBlock[] = {{.chips = k950, .words = "off all on", .preset = "off"},
                             {.words = "off all", .preset = "off"}};
constexpr Values kSchedulerMetrics[] = {{.words = "PipeUtilization Custom:"}};

constexpr std::string_view kInOwnReports =
    "only the vendor's collector inside the process is told this, and it hands it to nobody else";
constexpr std::string_view kCallsByReports =
    "recorded by the agent in the process as CANN reports it, in the vendor's files: with ascendcl the calls "
    "of AscendCL and of operators, with runtime-api those of the runtime. Where MSPTI receives the reports "
    "(libmspti.so in LD_PRELOAD) they are MSPTI's, with its fields";
constexpr std::string_view kPartsByMspti =
    "parts of collectives: MSPTI, which is in the process, receives what CANN reports and drops them; whole "
    "collectives are. Leave libmspti.so out of LD_PRELOAD";
constexpr LeftOut kLeftOutOfMemory[] = {
    {"on", true,
     "memory of operators: MSPTI, which is in the process, receives what CANN reports and drops it; "
     "allocations and copies are. Leave libmspti.so out of LD_PRELOAD"}};
constexpr LeftOut kLeftOutOfCollectives[] = {{"on", true, kPartsByMspti}};
constexpr LeftOut kLeftOutOfTasks[] = {
    {"on l1 l2 l3", true, kPartsByMspti, true, "hccl=on"},
    {"l2 l3", true,
     "attributes of operators: MSPTI, which is in the process, receives what CANN reports and drops them; "
     "the rest is. Leave libmspti.so out of LD_PRELOAD"},
    {"l3", false, "what PyPTO reports of its operators, whose records are not known; l2 is"}};
constexpr std::string_view kOnlyForCars =
    "a chip for cars has it; --ai-core counts the vector cores of a 910B, 310B and 950, too, and the drivers "
    "of "
    "a 910 and 310P have no channel for theirs";
constexpr std::string_view kOwnMetrics = "which events make L2Cache on a 910 is not known";

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
     .becomes = Becomes::kModePart,
     .what = "agent-api",
     .before = "on:acl+node",
     .standing = Standing::kDifferent,
     .because = kCallsByReports},
    {.name = "runtime-api",
     .rows = "F-025",
     .about = "Runtime calls",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .needs = kProcess,
     .becomes = Becomes::kModePart,
     .what = "agent-api",
     .before = "on:runtime",
     .standing = Standing::kDifferent,
     .because = kCallsByReports},
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
     .about = "collective communication, which --task-time=on, l1 and l2 record, too",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .needs = kProcess,
     .becomes = Becomes::kKinds,
     .what = "agent-comm",
     .left_out = kLeftOutOfCollectives},
    {.name = "task-time",
     .rows = "F-028",
     .about =
         "tasks: when they ran (l0); their operators and collectives, too (on, l1); attributes, too (l2)",
     .shape = Shape::kWord,
     .values = kTaskTime,
     .old_name = "task-trace",
     .needs = kProcess,
     .becomes = Becomes::kWordKinds,
     .what = "task agent-kernel on:agent-comm l1:agent-comm l2:agent-comm l3:agent-comm "
             "on:ccu-task on:ccu l1:ccu-task l1:ccu l2:ccu-task l2:ccu",
     .standing = Standing::kDifferent,
     .because =
         "what the devices' task schedulers log, and what CANN reports of it to the agent in the process, in "
         "the vendor's files: operators and parts of collectives with on, l1, l2 and l3, attributes of "
         "operators "
         "with l2 and l3, the collective units of a 950 with on, l1 and l2. Of what PyPTO reports (l3) "
         "nothing is kept. Where MSPTI receives the reports (libmspti.so in LD_PRELOAD) the log gives way to "
         "MSPTI's kernels and collectives, without parts and "
         "attributes; shapes come with ascendcl then",
     .left_out = kLeftOutOfTasks},
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
     .because = "recorded by the agent in the process as CANN's graph engine reports it, in the vendor's "
                "files. Where MSPTI receives the reports (libmspti.so in LD_PRELOAD) it is allocations and "
                "copies of the process, not by operator",
     .left_out = kLeftOutOfMemory},
    {.name = "aicore-shape",
     .rows = "F-031",
     .about = "shapes of operators",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .needs = "task-time=l0",
     .standing = Standing::kImpossible,
     .because = "at l0 the agent records no operators; their shapes come with --task-time=on, l1, l2 and "
                "l3"},
    {.name = "task-tsfw",
     .rows = "F-032",
     .about = "firmware of the task scheduler",
     .shape = Shape::kSwitch,
     .values = kOffByDefault,
     .needs = kProcess,
     .becomes = Becomes::kModePart,
     .what = "task",
     .before = "on:firmware",
     .standing = Standing::kDifferent,
     .because =
         "in the vendor's file, for its parser; profctl export passes it over. Not where MSPTI records "
         "kernels: the log gives way to it"},
    {.name = "task-block",
     .rows = "F-033",
     .about = "blocks of tasks",
     .shape = Shape::kWord,
     .values = kBlock,
     .chips = k910B | k310B | k950,
     .needs = kProcess,
     .becomes = Becomes::kModePart,
     .what = "task",
     .before = "all:blocks on:few-blocks",
     .standing = Standing::kDifferent,
     .because =
         "in the vendor's file, for its parser; profctl export passes them over. Not where MSPTI records "
         "kernels: the log gives way to it"},
    {.name = "optype",
     .rows = "F-034",
     .about = "types of operators for task-block",
     .values = kPlain,
     .chips = k950,
     .needs = "task-block=all",
     .standing = Standing::kMissing,
     .because =
         "how the driver is told of types is not known; without it blocks of all operators are recorded"},
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
     .values = kOnWithProgram,
     .becomes = Becomes::kKinds,
     .what = "aicore aivector"},
    {.name = "aic-mode",
     .rows = "F-037",
     .about = "counters per task or by time",
     .shape = Shape::kWord,
     .values = kCoreMode,
     .needs = "ai-core=on",
     .becomes = Becomes::kTwins,
     .what = "aicore:aicore-task aivector:aivector-task",
     .before = "low-power",
     .standing = Standing::kDifferent,
     .because = "where it is not given: task-based with a program, else sample-based. Whoever asks for "
                "task-based gets it without a program, too, as soon as one uses the device"},
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
     .chips = kNoChip,
     .standing = Standing::kImpossible,
     .because = kOnlyForCars},
    {.name = "aiv-mode",
     .rows = "F-041",
     .about = "counters per task or by time",
     .shape = Shape::kWord,
     .values = kCoreMode,
     .chips = kNoChip,
     .needs = "ai-vector-core=on",
     .standing = Standing::kImpossible,
     .because = kOnlyForCars},
    {.name = "aiv-freq",
     .rows = "F-041",
     .about = "samples of the vector cores a second",
     .shape = Shape::kNumber,
     .values = kCoreHz,
     .chips = kNoChip,
     .needs = "ai-vector-core=on",
     .standing = Standing::kImpossible,
     .because = kOnlyForCars},
    {.name = "aiv-metrics",
     .rows = "F-041",
     .about = "which counters of the vector cores",
     .shape = Shape::kWord,
     .values = kCoreMetrics,
     .chips = kNoChip,
     .needs = "ai-vector-core=on",
     .standing = Standing::kImpossible,
     .because = kOnlyForCars},
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
     .chips = k910B | k950,
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
     .chips = kNoChip,
     .standing = Standing::kImpossible,
     .because = "a chip for cars has it, none that profd knows"},
    {.name = "sys-mem-serviceflow",
     .rows = "F-047",
     .about = "which memory streams of the chip",
     .values = kPlain,
     .chips = k910B | k950,
     .needs = "sys-hardware-mem=on",
     .becomes = Becomes::kMode,
     .what = "qos",
     .before = "streams:",
     .standing = Standing::kDifferent,
     .because = "holds without a program, too; at most eight, each with a name that the driver knows"},
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
     .becomes = Becomes::kSession,
     .what = "agent-domains"},
    {.name = "mstx-domain-exclude",
     .rows = "F-049",
     .about = "not these domains of marks",
     .values = kPlain,
     .needs = "msproftx=on",
     .excludes = "mstx-domain-include",
     .becomes = Becomes::kSession,
     .what = "agent-domains-exclude"},
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
};

}  // namespace

std::span<const Option> RowsOfPrograms() { return kOptions; }

}  // namespace profd::options
