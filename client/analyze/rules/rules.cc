#include "client/analyze/rules/rules.h"

namespace profd::analyze {
namespace {

constexpr char kReplay[] = "steps as recorded, less steps replayed without it; mended alone, and mended last";

constexpr Rule kRules[] = {
    {"rank.late",
     "a rank makes others wait: its kernels, its work or its host take longer than those of ranks like it",
     "kernels by name; two ranks of the same work", kReplay, "see its cause", nullptr},
    {"rank.compute",
     "the same kernels (type and shape) take general.effect_percent longer than on ranks like it",
     "kernels by name", kReplay, "compare clock, memory bandwidth and other users of the device",
     FindSlowCompute},
    {"rank.work", "a rank has general.effect_percent more kernels, or larger ones, than three ranks like it",
     "kernels with shapes", kReplay, "balance what the ranks are given: tokens, experts or layers",
     FindExtraWork},
    {"host.launch", "between launches the host of a rank takes a tenth more than those of ranks like it",
     "calls that launch", kReplay, "see what else runs on the CPUs of its process", FindSlowHosts},
    {"rank.absent", "collectives wait for ranks that were not recorded, rank.absent_percent of a step",
     "the ranks of groups", "none", "record those ranks, too", FindAbsentRanks},
    {"comm.slow-group",
     "transfers of a group take comm.slow_ratio times those of groups like it (type, size, number of ranks), "
     "or single "
     "ones comm.outlier_ratio times the group's own",
     "collectives of all ranks of a group", kReplay, "look at the links, ports and cables between its ranks",
     FindSlowGroups},
    {"comm.retry", "a transfer takes comm.retry_ms more than usual", "collectives of all ranks of a group",
     kReplay, "look at lost packets between its ranks", FindSlowTransfers},
    {"comm.hang", "at the end some ranks have begun a collective and others never do", "collectives", "none",
     "look at the last thing that the missing rank did", FindHangs},
    {"host.stall",
     "the host launches nothing for host.gap_ms or more, longer than usual at that place, and the device is "
     "idle",
     "kernels; better: calls that launch", kReplay, "see its cause", FindStalls},
    {"host.gc", "garbage collection covers host.cause_share of a stall",
     "GC_RECORD of the framework's profiler", kReplay, "collect garbage at chosen moments", nullptr},
    {"host.dataloader", "a range of a data loader covers host.cause_share of a stall",
     "ranges of the program or of its framework", kReplay,
     "more workers, prefetching, pinned memory, faster storage", nullptr},
    {"host.compile", "a call that compiles an operator is the stall", "calls of CANN", kReplay,
     "keep shapes the same from step to step", nullptr},
    {"host.alloc", "a call that has or gives back memory of the device is the stall", "calls of CANN",
     kReplay, "let the framework's allocator keep its memory", nullptr},
    {"host.launch-bound",
     "host.launch_bound_share of the kernels find the queue empty, and launches at no cost would help",
     "calls that launch", kReplay, "launch less: compile the graph, fuse small operators", FindLaunchBound},
    {"kernel.aicpu", "operators run on the AI CPU, kernel.aicpu_percent of a step",
     "kernels with their task type", kReplay, "a data type that the AI cores have, or another operator",
     FindAiCpu},
    {"clock.low",
     "the clock is clock.low_percent below the rated one while the device computes; of one rank, the cause "
     "of rank.compute",
     "the clock (--collect low-power) and the rated clock", "as if every kernel followed the clock",
     "cooling, power limit", FindLowClocks},
    {"step.outlier", "a step takes step.outlier times the median, and no finding explains it", "steps",
     "its time less the median's", "look at that step in a timeline", nullptr},
};

}  // namespace

std::span<const Rule> Rules() { return kRules; }

}  // namespace profd::analyze
