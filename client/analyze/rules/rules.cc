#include "client/analyze/rules/rules.h"

#include <algorithm>
#include <cmath>
#include <utility>

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
    {"rank.work",
     "a rank has general.effect_percent more kernels, or larger ones, than two or more others that it should "
     "be like",
     "kernels with shapes", kReplay, "balance what the ranks are given: tokens, experts or layers",
     FindExtraWork},
    {"rank.copy", "a rank copies for general.min_cost_percent of a step longer than ranks like it",
     "copies of the device", kReplay, "copy less, or beside the computing", FindCopies},
    {"device.wait",
     "devices wait before kernels that have been launched, and for nothing that is recorded; of one rank, "
     "the cause of "
     "rank.late",
     "kernels and the calls that launch them", kReplay, "look at events between its streams", FindPauses},
    {"rank.own-history",
     "since a step the same kernels take rank.own_history_percent longer than before, on all ranks or on one "
     "that is like "
     "no other",
     "kernels by name, eight steps", kReplay, "look at what happened then", FindSlowing},
    {"rank.unexplained",
     "a device does nothing for rank.unexplained_percent of a step more than those of ranks like it, and no "
     "finding says why",
     "two ranks of the same work", "its time less the usual", "compare it with another one in a timeline",
     nullptr},
    {"host.launch", "between launches the host of a rank takes a tenth more than those of ranks like it",
     "calls that launch", kReplay, "see what else runs on the CPUs of its process", FindSlowHosts},
    {"rank.absent", "collectives wait for ranks that were not recorded, rank.absent_percent of a step",
     "the ranks of groups", "none", "record those ranks, too", FindAbsentRanks},
    {"comm.slow-group",
     "transfers of a group take comm.slow_ratio times those of groups like it (type, size, number of ranks "
     "and of nodes, role), "
     "or single "
     "ones comm.outlier_ratio times the group's own",
     "collectives of all ranks of a group", kReplay, "look at the links, ports and cables between its ranks",
     FindSlowGroups},
    {"comm.slow-link",
     "data between two ranks go at comm.link_ratio of the rate, or less, that links like it have (transport, "
     "size, role "
     "of the group); comm.min_ops of them, or a second",
     "tasks of collectives, with their transport and size; or messages",
     "as if the data of its groups took as much less",
     "look at the port, the cable and the switch between them", FindSlowLinks},
    {"comm.retry", "a transfer takes comm.retry_ms more than usual", "collectives of all ranks of a group",
     kReplay, "look at lost packets between its ranks", FindSlowTransfers},
    {"comm.small",
     "collectives follow each other that are so small that their latency, fitted over sizes, is most of "
     "their time",
     "collectives of three sizes", "as if those that follow each other went together", "larger buckets",
     FindSmall},
    {"comm.exposed",
     "collectives of a group follow each other for comm.exposed_percent of a step while nothing is computed, "
     "though it was "
     "before",
     "collectives and kernels", "as if all but the last had gone beside the computing",
     "send what is ready earlier", FindExposed},
    {"comm.prefetch",
     "kernels wait comm.exposed_percent of a step for allGathers of parameters, and nothing is computed "
     "beside "
     "these, though the kernels before would have hidden them; not of groups that split tensors",
     "collectives and kernels", "as if each had gone beside the kernels before it", "fetch ahead",
     FindLateGathers},
    {"comm.contention",
     "data have comm.contention_ratio of their rate while matrix products, copies or other data run beside "
     "them; "
     "comm.min_samples of each",
     "collectives of all ranks of a group", kReplay, "let one go behind the other", FindContention},
    {"comm.align",
     "data whose size is not a multiple of 512 bytes have comm.align_ratio of the rate of those that are, of "
     "about "
     "the same size and in the same group; comm.min_samples of each",
     "collectives of all ranks of a group, with sizes", kReplay, "pad buffers to 512 bytes", FindUnaligned},
    {"comm.order",
     "at the end ranks wait for each other, in different groups or each for a message of the next",
     "collectives", "none", "call collectives in the same order on all ranks", nullptr},
    {"comm.hang",
     "at the end some ranks have begun a collective, or a message, and others never do; also of ranks that "
     "are "
     "not recorded",
     "collectives", "none", "look at the last thing that the missing rank did", FindHangs},
    {"host.stall",
     "the host launches nothing for host.gap_ms or more, longer than usual at that place, and the device is "
     "idle",
     "kernels; better: calls that launch", kReplay, "see its cause", FindStalls},
    {"host.gc", "garbage collection covers host.cause_share of a stall",
     "GC_RECORD of the framework's profiler, ranges of programs that import profd (--collect agent-range), "
     "or "
     "samples and waits of the thread (--collect host-cpu-profile)",
     kReplay, "collect garbage at chosen moments", nullptr},
    {"host.dataloader", "a range of a data loader covers host.cause_share of a stall",
     "ranges of the program or of its framework", kReplay,
     "more workers, prefetching, pinned memory, faster storage", nullptr},
    {"step.checkpoint", "a range that saves a checkpoint covers host.cause_share of a stall",
     "ranges of the program or of its framework", kReplay,
     "save in the background, less often, or to faster storage", nullptr},
    {"graph.head",
     "ranges of what is done before a compiled graph runs (npu_fx_compiler_inference, "
     "TorchNpuGraphBase::Run, "
     "ExecuteGraph) cover host.cause_share of a stall",
     "ranges of the framework", kReplay, "fewer inputs, all of them contiguous tensors; fixed shapes",
     nullptr},
    {"host.compile", "a call that compiles an operator is the stall", "calls of CANN", kReplay,
     "keep shapes the same from step to step", nullptr},
    {"host.alloc", "a call that allocates or frees device memory is the stall", "calls of CANN", kReplay,
     "let the framework's allocator keep its memory", nullptr},
    {"host.wait",
     "waits of the launching thread cover host.cause_share of a stall: a lock, a sleep, the network",
     "waits of threads (--collect host-off-cpu)", kReplay, "look at who holds up that function", nullptr},
    {"host.io", "the same, for a disk", "waits of threads (--collect host-off-cpu)", kReplay,
     "read and write in another thread, in advance, or from faster storage", nullptr},
    {"host.fault", "the same, for memory that has to be read from a disk",
     "waits of threads (--collect host-off-cpu)", kReplay, "more memory, or mlock()", nullptr},
    {"host.runqueue",
     "the same, if the thread could have run, but others ran in its place, and no limit of its cgroup "
     "explains it",
     "waits of threads (--collect host-off-cpu)", kReplay, "pin it, isolate CPUs, start fewer threads",
     nullptr},
    {"host.busy", "the launching thread is on its CPU for host.cause_share of a stall",
     "samples of threads (--collect host-cpu-profile)", kReplay, "make that function shorter", nullptr},
    {"host.throttled",
     "stalls that have no other reason, host.cause_share of their time, are in time with throttling of the "
     "program's cgroup; host.contrast times as much as at other times, unless the thread is known to have "
     "waited for a CPU",
     "counters of cgroups (--collect host-cgroup=50Hz)", kReplay, "raise cpu.max, or start fewer threads",
     nullptr},
    {"host.launch-bound",
     "host.launch_bound_share of the kernels find the queue empty, and launches at no cost would help",
     "calls that launch", kReplay, "launch less: compile the graph, fuse small operators", FindLaunchBound},
    {"host.sync",
     "calls wait for the device within steps, the last one of a step not counted; behind host.sync_share of "
     "the launches: each of them",
     "calls of CANN", kReplay, "remove what reads a result of the device within a step", FindSyncs},
    {"env.setting", "a variable of the environment causes what another rule has found",
     "ENV_VARIABLES of the framework's profiler", "that finding's", "set it as the finding says", nullptr},
    {"kernel.jitter",
     "kernels take kernel.jitter_ratio times as long as others of their type and shape on that rank, "
     "kernel.jitter_percent of kernel.jitter_min or more; of one rank, the cause of rank.compute",
     "kernels by name", kReplay, "see what else uses the memory of the device", FindJitter},
    {"kernel.aicpu", "operators run on the AI CPU, kernel.aicpu_percent of a step",
     "kernels with their task type", kReplay, "a data type that the AI cores have, or another operator",
     FindAiCpu},
    {"kernel.bound",
     "in kernels of kernel.bound_us and more, kernel.bound_percent of the computing, even the busiest pipe "
     "of the core "
     "is so far from what it can do that kernel.bound_room of their time is lost",
     "counters of tasks: PipeUtilization",
     "as if that pipe reached what it does in kernels that are written well",
     "look at its tiling, at dimensions that are no multiples of 128 or 256", FindUnboundKernels},
    {"kernel.blocks",
     "kernels of kernel.blocks_us and more, kernel.blocks_percent of the computing, run in so many blocks "
     "that their "
     "cores need kernel.blocks_ratio times as long as if none were idle",
     "kernels with their blocks, and the cores of the device",
     "as if the blocks could be spread over all cores", "another tiling, a larger batch", FindIdleCores},
    {"kernel.fusible",
     "2 to 16 kernels that each take less than kernel.fusible_us follow each other on a stream, the same "
     "ones "
     "kernel.fusible_count times, and kernel.fusible_percent of their time lies between them",
     "kernels by name; better: calls that launch", "as if each row of them were launched once",
     "a fused operator, a compiled graph", FindFusible},
    {"kernel.transpose",
     "kernels that only convert data (TransData, Transpose, Cast) take kernel.conversion_percent of the "
     "computing",
     "kernels by name", "as if they took no time", "one format, order and type for neighbours",
     FindConversions},
    {"clock.low",
     "the clock is clock.low_percent below the rated one while the device computes; of one rank, the cause "
     "of rank.compute",
     "the clock (--collect low-power) and the rated clock", "as if every kernel followed the clock",
     "cooling, power limit", FindLowClocks},
    {"device.shared",
     "kernels take general.effect_percent longer while another program computes on their device; of one "
     "rank, "
     "the cause of rank.compute",
     "kernels of both programs (--all-agents, or --pid of both)", kReplay, kDoNotShare, FindShared},
    {"device.errors",
     "in a step the driver says that a rank's device does not work, or does not answer when it is asked",
     "profd's recordings", "none", "check the device", FindDeviceErrors},
    {"moe.imbalance",
     "grouped matrix products of the busiest rank of a step take moe.max_over_mean times the mean of its "
     "peers, and it "
     "is not always the same rank",
     "kernels by name", kReplay, "limit an expert's tokens, or weigh the loss of balance more",
     FindUnevenExperts},
    {"pipe.stage", "a stage of a pipeline computes pipe.stage_ratio times as long as the others",
     "sends and receives of all its ranks", kReplay, "give it fewer layers", FindHeavyStages},
    {"pipe.bubble",
     "the first stage waits for the others, without what messages take, for pipe.bubble_ratio times what "
     "its batches and stages need; as information: there are fewer than pipe.batches_per_stage",
     "sends and receives of all its ranks", "what it waits beyond that", "look at the schedule", FindBubbles},
    {"mem.leak", "memory of an owner grows all the time by memory.leak_mb, over memory.min_steps",
     "memory of devices by owner", "none", "look at what that owner holds", FindLeaks},
    {"mem.fragment",
     "an allocator of the framework holds memory.fragment_percent more than is in use, and "
     "memory.fragment_mb, "
     "when most of it is in use; if it frees memory and asks for it again in steps, the cause of "
     "host.alloc",
     "MEMORY_RECORD of the framework's profiler (profile_memory)", "none; of host.alloc: replay",
     "expandable segments, fewer sizes", FindFragments},
    {"goodput", "goodput.outside_percent of the time lies between steps", "steps", "that time",
     "look at what the program does between steps", FindLostTime},
    {"step.jitter",
     "the slowest twentieth of 20 steps and more is step.jitter_percent above the median, and no finding "
     "explains it; with its period where slow steps come again with step.period_correlation; of fewer steps, "
     "some take step.few times what the quick ones do",
     "steps", "their time less the median's", "look at what happens in those steps", nullptr},
    {"step.outlier",
     "a step takes step.outlier times the median, or, of fewer than 20, step.few times what the quick ones "
     "do, "
     "and no finding explains it",
     "steps", "its time less the median's", "look at that step in a timeline", nullptr},
    {"data.loss",
     "records of tasks, or of a program's calls, were lost in steps that are analysed; findings of these "
     "steps "
     "are less sure",
     "profd's recordings", "none", "record less at a time", FindLosses},
};

}  // namespace

std::span<const Rule> Rules() { return kRules; }

void Shorten(const Replay& replay, Lengths& lengths, uint32_t rank,
             const std::vector<std::pair<uint32_t, Ns>>& less) {
  Lengths::OfRank& of = replay.Touch(lengths, rank);
  for (const auto& [task, ns] : less) of.task[task] -= std::min(ns, of.task[task]);
}

void SetLess(const Context& context, std::vector<bool> is_hit,
             std::function<double(uint32_t kind, const Rank& rank)> left, Finding& finding) {
  const Job& job = context.job;
  const auto hits = [is_hit = std::move(is_hit)](const Task& task) {
    return task.work == Work::kCompute && task.kind != kNone && is_hit[task.kind];
  };
  std::vector<uint32_t> ranks;
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    if (std::ranges::any_of(job.ranks[r].tasks, hits)) ranks.push_back(r);
  }
  finding.where = WhereOf(job, ranks);
  finding.without = [hits, left = std::move(left), ranks = std::move(ranks)](const Replay& replay,
                                                                             Lengths& lengths) {
    for (const uint32_t r : ranks) {
      Lengths::OfRank& of = replay.Touch(lengths, r);
      const Rank& rank = replay.job().ranks[r];
      for (size_t i = 0; i < rank.tasks.size(); ++i) {
        const Task& task = rank.tasks[i];
        if (hits(task)) of.task[i] = std::llround(static_cast<double>(of.task[i]) * left(task.kind, rank));
      }
    }
  };
}

}  // namespace profd::analyze
