// What an analysis knows of a job, by rank and in columns: fixed memory per row, texts by number. Times are
// ns since the epoch on the clock of the rank's node, until clocks.h has brought the nodes together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "client/analyze/model/pipes.h"
#include "format/texts.h"

namespace profd::analyze {

using Ns = int64_t;
using format::TextId;
inline constexpr uint32_t kNone = 0xFFFFFFFF;

enum class Work : uint8_t { kCompute, kAiCpu, kCopy, kCollective };

// What a device did from one moment to another. 40 bytes.
struct Task {
  Ns begin = 0, end = 0;
  uint32_t kind = kNone;    // of kCollective: index in Rank::collectives; else in Job::classes
  uint32_t launch = kNone;  // index in Rank::calls: the call that launched it
  uint32_t step = kNone;    // index in Rank::steps
  TextId name = 0;
  uint16_t lane = 0;  // what is on one lane happens in order: a stream, or a group of collectives
  Work work = Work::kCompute;
};
// Kernels that can be compared with each other: of one type and of one shape.
struct KernelClass {
  TextId type = 0, shapes = 0;
  Work work = Work::kCompute;
  // What one of them asks for, the most of those that there are; nothing that they are compared by.
  uint32_t blocks = 0;     // 0 = not known
  bool on_vector = false;  // of vector cores
  void TakeBlocks(const KernelClass& same) {
    if (same.blocks > blocks) blocks = same.blocks, on_vector = same.on_vector;
  }
  auto operator<=>(const KernelClass& other) const {
    return std::tie(type, shapes, work) <=> std::tie(other.type, other.shapes, other.work);
  }
  bool operator==(const KernelClass& other) const {
    return std::tie(type, shapes, work) == std::tie(other.type, other.shapes, other.work);
  }
};
struct Collective {
  Ns begin = 0, end = 0;
  TextId name = 0, group = 0, type = 0;  // type: "allReduce"
  uint32_t task = kNone;                 // index in Rank::tasks
  uint64_t bytes = 0;                    // count × size of an element; 0 = not known
  uint32_t step = kNone;
  uint32_t match = kNone;  // index in Matches::all: what the same collective is on the other ranks
};
enum class CallKind : uint8_t { kLaunch, kSynchronise, kCompile, kMemory, kOther };
// A call of the host. 24 bytes.
struct Call {
  Ns begin = 0, end = 0;
  TextId name = 0;
  uint16_t thread = 0;  // index in Rank::threads
  CallKind kind = CallKind::kOther;
};
// Of every call, where somebody asks for all of them.
struct CallLength {
  TextId name = 0;
  Ns ns = 0;
};
enum class RangeKind : uint8_t { kFramework, kUser, kGarbage };
// What a program said that it did: calls of a framework, ranges, garbage collections. Short ones are left
// out.
struct Range {
  Ns begin = 0, end = 0;
  uint64_t thread = 0;
  TextId name = 0;
  RangeKind kind = RangeKind::kFramework;
};
struct Step {
  int64_t number = 0;
  Ns begin = 0, end = 0;  // as the program has it
};
struct Frequency {
  Ns at = 0;
  double mhz = 0;
};
// Where a thread of the host was, the innermost function first, and what that says.
enum class HostPlace : uint8_t {
  kOther,
  kGarbage,
  kLoader,
  kFault,
  kDisk,
  kLock,
  kSleep,
  kNetwork,
  kStopped
};
struct HostStack {
  TextId function = 0;  // the program's own, not what it calls to wait
  HostPlace place = HostPlace::kOther;
  std::vector<TextId> frames;
  bool is_own = true;  // false: the function is a library's, as none of the program is known
  TextId within = 0;   // a package's function that the program's own has called, and is in; 0: in none
  TextId own() const { return is_own ? function : 0; }
  auto operator<=>(const HostStack&) const = default;
};
// A wait of a thread; of one that was on a CPU what a sample stands for.
struct HostSpan {
  Ns begin = 0, end = 0;
  uint64_t thread = 0;
  uint32_t stack = 0;  // index in Job::stacks
};
// What was counted of a cgroup in an interval; NaN = not known.
struct CgroupLook {
  Ns from = 0, to = 0;
  TextId cgroup = 0;
  double cpus = 0, limit = 0, throttled = 0;  // in CPUs: used, allowed, kept from it
};
// Bytes of the device that somebody holds.
struct MemoryLook {
  Ns at = 0;
  TextId owner = 0;
  double bytes = 0;
};
// What a device did for another program than the rank's.
struct OtherTask {
  Ns begin = 0, end = 0;
  uint64_t process = 0;
};
// Of an allocator of the framework, when most of it was in use: bytes that are in use, and that it holds.
struct Allocator {
  TextId owner = 0;
  Ns at = 0;
  double used = 0, held = 0;
};
// Records that were made, and could not be stored.
struct Lost {
  Ns from = 0, to = 0;
  TextId file = 0, why = 0;
  uint64_t records = 0;
};
// What the driver said, or did not say, of a rank's device.
struct Trouble {
  Ns from = 0, to = 0;
  TextId what = 0;
};
// What went from one rank to another, as the tasks of collectives say; numbers within the group.
struct Link {
  TextId group = 0, transport = 0;
  int64_t from = 0, to = 0;
  auto operator<=>(const Link&) const = default;
};
struct Carried {
  uint64_t bytes = 0;
  int64_t count = 0;
  Ns ns = 0;
};
// What part of a rank's rows is not there, or says nothing, though other rows tell that it was recorded.
// Above kMost of them the rank is compared with no other, and no finding is of it alone: damage/gaps.h.
struct Gaps {
  static constexpr double kMost = 0.02;
  double kernels = 0, collectives = 0, calls = 0, steps = 0;
  double launched = 0;  // launches of which there is no task
  double crossed = 0;   // kernels that begin before those in front of them on their stream have ended
  double piled =
      0;  // of them those for which that cannot be meant: upon many, or upon one that is far too long
  bool torn = false;   // some rows cannot be read or make no sense: so others may be wrong, too
  bool apart = false;  // its tasks are at other times than the calls that launched them
  bool are_times_wrong() const { return apart || std::max(crossed, piled) > kMost; }
  // Of one that has lost collectives, or whose times make no sense, the others would seem to wait.
  bool hide_waits() const { return torn || are_times_wrong() || std::max(collectives, steps) > kMost; }
  bool any() const { return hide_waits() || std::max({kernels, calls, launched}) > kMost; }
};
// How much is told of tasks: without names, with names, with the calls that launch them, with framework.
enum class Level : uint8_t { kNothing, kTasks, kNamed, kLaunches, kFramework };

struct Rank {
  int64_t number = -1;
  std::string node, source;  // source: where it was read
  int device = -1;
  uint64_t process = 0;  // pid of the program on it, 0 = not known
  Level level = Level::kNothing;
  std::vector<Task> tasks;        // by begin
  std::vector<OtherTask> others;  // by begin
  std::vector<Collective> collectives;
  std::vector<Call> calls;        // by begin
  std::vector<uint64_t> threads;  // that make them: pid << 32 | tid
  std::vector<CallLength> all_calls;
  std::vector<Range> ranges;       // by begin
  std::vector<Step> steps;         // by begin; none overlaps another
  std::vector<uint32_t> job_step;  // of each of them: index in Job::steps, kNone = not of all ranks
  std::vector<Frequency> frequencies;
  double rated_mhz = 0;             // 0 = not known
  int cores = 0, vector_cores = 0;  // AI cores and those for vectors alone; 0 = not known
  // Of its program, as the kernel tells: by begin, and which of them was recorded at all.
  std::vector<HostSpan> waits, running;
  std::vector<CgroupLook> cgroups;
  bool has_waits = false, has_running = false;
  std::vector<MemoryLook> memory;  // by time
  std::vector<Allocator> allocators;
  std::vector<Lost> lost;  // by begin
  std::vector<Trouble> troubles;
  Gaps gaps;
  uint32_t lanes = 0;

  uint64_t ThreadOf(const Call& call) const {
    return call.thread < threads.size() ? threads[call.thread] : 0;
  }
  // Of groups: their ranks, as the framework says.
  struct Group {
    std::string role;
    std::vector<int64_t> ranks;
  };
  std::map<std::string, Group> groups;
  std::map<Link, Carried> links;
  std::map<std::string, std::string> environment;
  std::map<std::string, std::string> metadata;  // what else its framework said of it: JSON by name
};

// Data that are there and cannot be used, or that are missing: never a reason to fail, never a finding of its
// own beyond data.*.
struct Note {
  std::string where, text;
  bool lost = false;  // some data could not be used: exit code 7
  // "DIR: what is to be said"
  std::string Line() const { return (where.empty() ? "" : where + ": ") + text; }
  auto operator<=>(const Note&) const = default;
};

struct Job {
  format::Texts texts{256u << 20};
  std::vector<KernelClass> classes;
  std::vector<PipeUse> pipes;  // by class; shorter where the rest was not counted
  std::vector<HostStack> stacks;
  std::vector<Rank> ranks;       // by number
  std::vector<int64_t> steps;    // numbers of those that all ranks have, ascending
  bool has_steps = true;         // false: they are windows of time
  std::set<int64_t> unfinished;  // numbers of steps that the recording ended in
  bool simulated = false;        // the devices are none: what they did is made up
  std::set<int64_t> unreadable;  // numbers of ranks whose recordings are there, and say nothing
  std::vector<Note> notes;

  std::string_view Text(TextId id) const { return texts.Get(id); }
};

}  // namespace profd::analyze
