// Rows of any source become the ranks of a job: devices apart, tasks joined with the calls that launched them
// and with the steps that these are in.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "client/analyze/model/columns.h"

namespace profd::analyze {

// What the kernel told of one program: it may have been recorded beside its tasks, by somebody else.
struct HostPart {
  std::string node;
  uint64_t process = 0;
  uint64_t inside = 0;  // its number in its container; 0 = the same, or not known
  std::vector<HostSpan> waits, running;
  std::vector<CgroupLook> cgroups;
  bool has_waits = false, has_running = false;
};

// What one source holds: its ranks with texts and classes of their own, so that sources can be read at the
// same time and joined in order.
struct Part {
  std::unique_ptr<format::Texts> texts;
  std::vector<KernelClass> classes;
  std::vector<PipeUse> pipes;  // as Job::pipes
  std::vector<HostStack> stacks;
  std::vector<Rank> ranks;
  std::vector<HostPart> hosts;
  std::vector<Note> notes;
  std::set<int64_t> unfinished;  // numbers of steps that the recording ended in
  bool simulated = false;        // its devices
};

// Rows come in any order; Finish() sorts and joins. **Thread:** one.
class RankBuilder {
 public:
  // Ranges that take less explain nothing.
  static constexpr Ns kShortestRange = 100'000;
  static constexpr int64_t kNoConnection = -1;
  static constexpr size_t kMostDevices = 64;       // of one source; rows of others are left out
  static constexpr size_t kMostLanes = 256;        // of a device; what is on more counts as of the last one
  static constexpr size_t kMostThreads = 1 << 15;  // the same

  // `keeps_all`: the lengths of all calls, and short ranges that tables are about, too.
  explicit RankBuilder(std::string source, bool keeps_all = false);

  TextId Text(std::string_view text);
  uint32_t Class(TextId type, TextId shapes, Work work) { return Class({type, shapes, work}); }
  uint32_t Class(const KernelClass& key);
  // Of a kernel of that class: which part of its time a pipe was busy.
  void AddPipe(uint32_t kind, PipeOfCore pipe, double busy);
  void Note(std::string text, bool lost) { notes_.push_back({source_, std::move(text), lost}); }

  // The rank of a device, made when it is first named. Of more than there can be: one that is thrown away.
  Rank& At(int device);
  bool Has(int device) const { return devices_.contains(device); }
  bool is_empty() const { return devices_.empty(); }
  // Of what is recorded of one device: others, of which there are a few rows only.
  void DropSmallDevices();
  template <typename Visit>
  void ForEachRank(Visit visit) {
    for (auto& [number, device] : devices_) visit(device.rank);
  }
  const format::Texts& texts() const { return *texts_; }
  // `process`: whose it is, 0 = not known.
  void AddTask(int device, const Task& task, int64_t stream, int64_t connection, uint64_t process = 0);
  // One that is left out: what launched it has launched something.
  void AddOther(int64_t connection) {
    if (connection != kNoConnection) others_.push_back(connection);
  }
  void AddCollective(int device, const Collective& collective, int64_t connection);
  // Only calls that launch, and those that can make a launch late, are kept.
  void AddCall(const Call& call, uint64_t thread, int64_t connection);
  void AddRange(const Range& range);
  // `device` -1: of a program.
  void AddStep(const Step& step, int device, uint64_t thread);
  void AddUnfinished(int64_t step) { unfinished_.insert(step); }

  Part Finish();

 private:
  struct Device {
    Rank rank;
    std::vector<int64_t> streams, connections;  // of each task
    std::vector<uint64_t> processes;            // the same
    std::vector<int64_t> collective_connections;
  };
  struct NamedCall {
    Call call;
    uint64_t thread;
    int64_t connection;
  };
  struct NamedStep {
    Step step;
    int device;
    uint64_t thread;
  };

  void TakeShortRanges();
  void DropFar();
  void SetOthersApart(Device& device);
  void JoinCalls(Device& device);
  void KeepCalls(Device& device);
  void ChooseSteps(Device& device, int number);
  double UnansweredOf(const Rank& rank) const;
  void DropCovering(Device& device);
  void PlaceTasks(Device& device);

  const std::string source_;
  const bool keeps_all_;
  std::unique_ptr<format::Texts> texts_ = std::make_unique<format::Texts>(64u << 20);
  std::vector<KernelClass> classes_;
  std::vector<PipeUse> pipes_;
  std::vector<KernelClass> seen_once_;  // by class: the most blocks, of one kernel so far
  struct HashOfClass {
    size_t operator()(const KernelClass& of) const {
      return std::hash<uint64_t>()((uint64_t{of.type} << 32 | of.shapes) * 4 +
                                   static_cast<uint64_t>(of.work));
    }
  };
  std::unordered_map<KernelClass, uint32_t, HashOfClass> class_numbers_;
  std::map<int, Device> devices_;
  Device spare_;
  uint64_t left_out_ = 0;
  uint64_t strays_ = 0;  // rows with times that make no sense beside the others
  Device* last_ = nullptr;
  int last_number_ = -1;
  std::vector<NamedCall> calls_;
  std::vector<bool> has_task_;   // by call: it has launched what a rank has
  std::vector<int64_t> others_;  // connections of what no rank has
  std::set<uint64_t> kept_;      // processes whose calls a rank has
  std::vector<Range> ranges_, short_ranges_;
  std::unordered_map<TextId, bool> of_tables_;  // whether short ranges of that name are
  std::vector<NamedStep> steps_;
  std::set<int64_t> unfinished_;
  std::vector<analyze::Note> notes_;
};

// "hcom_allReduce__749_12_1" → "allReduce"; else the text without what is numbers.
std::string_view CollectiveType(std::string_view name);
CallKind KindOfCall(std::string_view name);
// Of a kernel, by the type of its task: whether its blocks run on cores for vectors alone.
bool IsOfVectors(std::string_view task_type);

}  // namespace profd::analyze
