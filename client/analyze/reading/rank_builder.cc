#include "client/analyze/reading/rank_builder.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "client/analyze/model/order.h"
#include "client/analyze/model/range_names.h"
#include "client/analyze/model/statistics.h"
#include "client/analyze/reading/damage/strays.h"

namespace profd::analyze {
namespace {

constexpr size_t kFewSteps = 2;        // of a program: with fewer there is nothing to compare
constexpr size_t kLongestText = 4096;  // of names; what lies behind tells nobody anything

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

std::string_view CollectiveType(std::string_view name) {
  if (name.starts_with("hcom_")) name.remove_prefix(5);
  return name.substr(0, name.find('_'));
}

bool IsOfVectors(std::string_view task_type) {
  return Contains(task_type, "VECTOR") || Contains(task_type, "AIV");
}

CallKind KindOfCall(std::string_view name) {
  // Names of CANN's runtime: acl/acl_rt.h, acl/acl_op_compiler.h of Ascend's public headers.
  if (Contains(name, "ynchronize")) return CallKind::kSynchronise;
  if (Contains(name, "ompile")) return CallKind::kCompile;
  if (Contains(name, "Malloc") || Contains(name, "Free") || Contains(name, "MapMem"))
    return CallKind::kMemory;
  return CallKind::kOther;
}

RankBuilder::RankBuilder(std::string source, bool keeps_all)
    : source_(std::move(source)), keeps_all_(keeps_all) {}

TextId RankBuilder::Text(std::string_view text) { return texts_->Intern(text.substr(0, kLongestText)); }

uint32_t RankBuilder::Class(const KernelClass& key) {
  const auto [at, is_new] = class_numbers_.try_emplace(key, static_cast<uint32_t>(classes_.size()));
  if (is_new) {
    classes_.push_back(key);
    classes_.back().blocks = 0;
    seen_once_.push_back(key);
  } else if (key.blocks > classes_[at->second].blocks) {
    // What one kernel alone says may be torn.
    KernelClass& once = seen_once_[at->second];
    if (key.blocks == once.blocks) {
      classes_[at->second].TakeBlocks(key);
    } else {
      once = key;
    }
  }
  return at->second;
}

void RankBuilder::AddPipe(uint32_t kind, PipeOfCore pipe, double busy) {
  if (pipes_.size() <= kind) pipes_.resize(classes_.size());
  pipes_[kind].Add(pipe, busy);
}

Rank& RankBuilder::At(int device) {
  if (last_ == nullptr || last_number_ != device) {
    if (devices_.size() >= kMostDevices && !devices_.contains(device)) {
      ++left_out_;
      last_ = nullptr;
      spare_ = {};
      return spare_.rank;
    }
    last_ = &devices_[device];
    last_number_ = device;
    last_->rank.device = device;
    last_->rank.source = source_;
  }
  return last_->rank;
}

void RankBuilder::AddTask(int device, const Task& task, int64_t stream, int64_t connection,
                          uint64_t process) {
  Rank& rank = At(device);
  if (last_ == nullptr) return;
  rank.tasks.push_back(task);
  last_->streams.push_back(stream);
  last_->connections.push_back(connection);
  last_->processes.push_back(process);
}

void RankBuilder::AddCollective(int device, const Collective& collective, int64_t connection) {
  Rank& rank = At(device);
  if (last_ == nullptr) return;
  rank.collectives.push_back(collective);
  last_->collective_connections.push_back(connection);
}

void RankBuilder::AddCall(const Call& call, uint64_t thread, int64_t connection) {
  calls_.push_back({call, thread, connection});
}

void RankBuilder::AddRange(const Range& range) {
  if (range.end - range.begin >= kShortestRange || range.kind == RangeKind::kGarbage) {
    ranges_.push_back(range);
    return;
  }
  if (!keeps_all_) return;
  const auto [known, is_new] = of_tables_.try_emplace(range.name, false);
  if (is_new) known->second = IsOfTables(texts_->Get(range.name));
  (known->second || range.kind == RangeKind::kUser ? ranges_ : short_ranges_).push_back(range);
}

void RankBuilder::AddStep(const Step& step, int device, uint64_t thread) {
  if (step.end > step.begin) steps_.push_back({step, device, thread});
}

void RankBuilder::DropSmallDevices() {
  const auto rows = [](const Device& device) {
    return device.rank.tasks.size() + device.rank.collectives.size();
  };
  size_t most = 0;
  for (const auto& [number, device] : devices_) most = std::max(most, rows(device));
  std::erase_if(devices_, [&](const auto& entry) {
    const size_t own = rows(entry.second);
    if (own > 0 && !AreFew(own, most)) return false;
    strays_ += own;
    return true;
  });
  last_ = nullptr;
}

// Rows far away from all others.
void RankBuilder::DropFar() {
  Crowd crowd;
  for (const auto& [number, device] : devices_) {
    for (const Task& task : device.rank.tasks) crowd.Add(task.begin);
    for (const Collective& collective : device.rank.collectives) crowd.Add(collective.begin);
  }
  for (const NamedCall& named : calls_) crowd.Add(named.call.begin);
  for (const NamedStep& named : steps_) crowd.Add(named.step.begin);
  crowd.Settle();
  // Who waits for another rank that never comes may do so for long.
  constexpr Ns kLongestWait = Ns{1} << 42;
  const auto is_far = [&crowd](Ns begin, Ns end) { return !crowd.Has(begin) || !crowd.Has(end); };
  for (auto& [number, device] : devices_) {
    std::vector<Task>& tasks = device.rank.tasks;
    size_t kept = 0;
    for (size_t i = 0; i < tasks.size(); ++i) {
      if (is_far(tasks[i].begin, tasks[i].end)) {
        AddOther(device.connections[i]);
        continue;
      }
      tasks[kept] = tasks[i];
      device.streams[kept] = device.streams[i];
      device.connections[kept] = device.connections[i];
      device.processes[kept++] = device.processes[i];
    }
    strays_ += tasks.size() - kept;
    tasks.resize(kept);
    device.streams.resize(kept);
    device.connections.resize(kept);
    device.processes.resize(kept);
    std::vector<Collective>& collectives = device.rank.collectives;
    kept = 0;
    for (size_t i = 0; i < collectives.size(); ++i) {
      if (!crowd.Has(collectives[i].begin) || collectives[i].end - collectives[i].begin > kLongestWait)
        continue;
      collectives[kept] = collectives[i];
      device.collective_connections[kept++] = device.collective_connections[i];
    }
    strays_ += collectives.size() - kept;
    collectives.resize(kept);
    device.collective_connections.resize(kept);
  }
  strays_ +=
      std::erase_if(calls_, [&](const NamedCall& named) { return is_far(named.call.begin, named.call.end); });
  strays_ +=
      std::erase_if(steps_, [&](const NamedStep& named) { return is_far(named.step.begin, named.step.end); });
}

// A rank is of one program: of several on a device the one that computes most.
void RankBuilder::SetOthersApart(Device& device) {
  std::map<uint64_t, Ns> computing;
  for (size_t i = 0; i < device.processes.size(); ++i) {
    const Task& task = device.rank.tasks[i];
    if (device.processes[i] != 0) computing[device.processes[i]] += task.end - task.begin;
  }
  if (computing.empty()) return;
  Rank& rank = device.rank;
  rank.process =
      std::ranges::max_element(computing, {}, [](const auto& entry) { return entry.second; })->first;
  if (computing.size() == 1) return;
  size_t kept = 0;
  for (size_t i = 0; i < rank.tasks.size(); ++i) {
    const uint64_t process = device.processes[i];
    if (process != 0 && process != rank.process) {
      rank.others.push_back({rank.tasks[i].begin, rank.tasks[i].end, process});
      AddOther(device.connections[i]);
      continue;
    }
    rank.tasks[kept] = rank.tasks[i];
    device.streams[kept] = device.streams[i];
    device.connections[kept++] = device.connections[i];
  }
  rank.tasks.resize(kept);
  device.streams.resize(kept);
  device.connections.resize(kept);
  std::ranges::sort(rank.others, {},
                    [](const OtherTask& task) { return std::tuple(task.begin, task.end, task.process); });
}

// The calls that launched a device's tasks, and those of the threads that made them.
void RankBuilder::JoinCalls(Device& device) {
  Rank& rank = device.rank;
  // Tasks mostly come in the order of their calls.
  size_t next = 0;
  const auto by_connection = [this, &next](int64_t connection) {
    if (next >= calls_.size() || calls_[next].connection != connection ||
        (next > 0 && calls_[next - 1].connection == connection)) {
      const auto at = std::ranges::lower_bound(calls_, connection, {}, &NamedCall::connection);
      if (at == calls_.end() || at->connection != connection) return kNone;
      next = static_cast<size_t>(at - calls_.begin());
    }
    return static_cast<uint32_t>(next++);
  };
  std::vector<uint32_t> place(calls_.size(), kNone);  // in rank.calls
  std::set<uint64_t> threads;
  uint64_t last_thread = UINT64_MAX;
  const auto launch_of = [&](int64_t connection) {
    if (connection < 0) return kNone;
    const uint32_t at = by_connection(connection);
    if (at == kNone) return kNone;
    if (place[at] == kNone) {
      place[at] = 0;
      has_task_[at] = true;
      if (calls_[at].thread != last_thread) threads.insert(last_thread = calls_[at].thread);
    }
    return at;
  };
  for (size_t i = 0; i < rank.tasks.size(); ++i) rank.tasks[i].launch = launch_of(device.connections[i]);
  std::vector<uint32_t> order;
  std::set<uint64_t> processes;
  for (const uint64_t thread : threads) processes.insert(thread >> 32);
  for (uint32_t i = 0; i < calls_.size(); ++i) {
    const CallKind kind = calls_[i].call.kind;
    const bool is_launch = place[i] != kNone;
    const bool can_delay =
        kind != CallKind::kOther && kind != CallKind::kLaunch && threads.contains(calls_[i].thread);
    if (is_launch || can_delay) order.push_back(i);
  }
  SortNearlySorted(order, [this](uint32_t a, uint32_t b) {
    const Call &one = calls_[a].call, &other = calls_[b].call;
    return std::tie(one.begin, one.end, a) < std::tie(other.begin, other.end, b);
  });
  rank.calls.reserve(order.size());
  std::map<uint64_t, uint16_t> thread_numbers;
  const auto number_of = [&](uint64_t thread) {
    const auto [known, is_new] = thread_numbers.try_emplace(
        thread, static_cast<uint16_t>(std::min(rank.threads.size(), kMostThreads - 1)));
    if (is_new && rank.threads.size() < kMostThreads) rank.threads.push_back(thread);
    return known->second;
  };
  for (const uint32_t i : order) {
    const bool is_same = !rank.calls.empty() && calls_[i].thread == last_thread;
    calls_[i].call.thread = is_same ? rank.calls.back().thread : number_of(last_thread = calls_[i].thread);
    if (place[i] != kNone) {
      place[i] = static_cast<uint32_t>(rank.calls.size());
      calls_[i].call.kind = CallKind::kLaunch;
    }
    rank.calls.push_back(calls_[i].call);
  }
  for (Task& task : rank.tasks) {
    if (task.launch != kNone) task.launch = place[task.launch];
  }
  if (rank.process == 0 && processes.size() == 1) rank.process = *processes.begin();
  const auto is_of_another = [&processes](const Range& range) {
    const uint64_t process = range.thread >> 32;
    return process != 0 && !processes.empty() && !processes.contains(process);
  };
  if (devices_.size() == 1) {
    rank.ranges = std::move(ranges_);
    std::erase_if(rank.ranges, is_of_another);
  } else {
    std::ranges::remove_copy_if(ranges_, std::back_inserter(rank.ranges), is_of_another);
  }
  SortNearlySorted(rank.ranges, [](const Range& a, const Range& b) {
    return std::tie(a.begin, b.end, a.name, a.thread, a.kind) <
           std::tie(b.begin, a.end, b.name, b.thread, b.kind);
  });
}

// Of the calls of a rank's threads that are of a sort that launches, the part of which there is no task. What
// is behind the last one with a task may still wait for its turn.
double RankBuilder::UnansweredOf(const Rank& rank) const {
  Ns last = INT64_MIN;
  for (const Call& call : rank.calls) {
    if (call.kind == CallKind::kLaunch) last = std::max(last, call.begin);
  }
  struct Of {
    size_t with = 0, without = 0;
  };
  std::map<TextId, Of> sorts;
  for (size_t i = 0; i < calls_.size();) {
    const int64_t connection = calls_[i].connection;
    size_t end = i;
    bool has_task = std::ranges::binary_search(others_, connection);
    for (; end < calls_.size() && calls_[end].connection == connection; ++end)
      has_task = has_task || has_task_[end];
    const NamedCall& first = calls_[i];
    i = end;
    if (connection < 0 || first.call.begin > last ||
        std::ranges::find(rank.threads, first.thread) == rank.threads.end())
      continue;
    Of& of = sorts[first.call.name];
    ++(has_task ? of.with : of.without);
  }
  constexpr size_t kMost = 4;  // times as many without: it is no sort that launches
  size_t all = 0, without = 0;
  for (const auto& [name, of] : sorts) {
    if (of.without > kMost * of.with) continue;
    all += of.with + of.without;
    without += of.without;
  }
  return all == 0 ? 0 : static_cast<double>(without) / static_cast<double>(all);
}

// A program's calls that launch nothing are those of the first of its devices; each device has what launches
// on it.
void RankBuilder::KeepCalls(Device& device) {
  std::set<uint64_t> own;
  for (const NamedCall& named : calls_) {
    if (named.call.kind == CallKind::kLaunch) continue;
    const uint64_t process = named.thread >> 32;
    if (process != 0 && device.rank.process != 0 && process != device.rank.process) continue;
    if (kept_.contains(process)) continue;
    own.insert(process);
    device.rank.all_calls.push_back({named.call.name, named.call.end - named.call.begin});
  }
  kept_.merge(own);
}

// Of its program, which says what its steps are; of several threads that do, the one with the most. Else
// those that the device tells of: iterations of a model.
void RankBuilder::ChooseSteps(Device& device, int number) {
  std::map<std::pair<bool, uint64_t>, std::vector<Step>> choices;
  for (const NamedStep& step : steps_) {
    const uint64_t process = step.thread >> 32;
    const bool is_own = step.device == number;
    if (!is_own &&
        (step.device >= 0 || (process != 0 && device.rank.process != 0 && process != device.rank.process)))
      continue;
    choices[{!is_own, step.thread}].push_back(step.step);
  }
  std::vector<Step>*best = nullptr, *of_device = nullptr;
  for (auto& [key, steps] : choices) {
    const bool is_of_program = key.first;
    std::vector<Step>*& to = is_of_program ? best : of_device;
    if (to == nullptr || steps.size() > to->size()) to = &steps;
  }
  if (of_device != nullptr && (best == nullptr || best->size() < kFewSteps)) {
    best = of_device;
    unfinished_.clear();
  }
  if (best == nullptr) return;
  std::ranges::sort(*best, {},
                    [](const Step& step) { return std::tuple(step.begin, step.end, step.number); });
  size_t overlapping = 0;
  for (size_t i = 1; i < best->size(); ++i) overlapping += (*best)[i].begin < (*best)[i - 1].end ? 1 : 0;
  // One of many that reaches into the next is torn: it ends where that begins.
  const bool is_torn = overlapping > 0 && 4 * overlapping <= best->size();
  std::vector<Step>& steps = device.rank.steps;
  for (const Step& step : *best) {
    if (is_torn && !steps.empty() && step.begin < steps.back().end) {
      steps.back().end = step.begin;
      ++strays_;
    }
    if (steps.empty() || step.begin >= steps.back().end) steps.push_back(step);
  }
}

// Tasks of one stream, and collectives of one group, run one behind the other; sorted by begin.
void RankBuilder::DropCovering(Device& device) {
  Rank& rank = device.rank;
  std::vector<std::vector<LaneRow>> lanes(rank.lanes);
  for (uint32_t i = 0; i < rank.tasks.size(); ++i) {
    const Task& task = rank.tasks[i];
    const uint32_t sort = task.work == Work::kCollective ? rank.collectives[task.kind].type : task.kind;
    lanes[task.lane].push_back({i, sort, task.begin, task.end});
  }
  constexpr double kMuch = 4;
  std::vector<bool> drop(rank.tasks.size());
  bool any = false;
  const auto set = [&](uint32_t i) {
    drop[i] = any = true;
    ++strays_;
  };
  for (const std::vector<LaneRow>& lane : lanes) {
    for (const uint32_t i : Covering(lane, kMuch)) set(i);
    // What the last one covers is not there.
    constexpr double kVeryMuch = 100;
    if (const LaneRow* last = lane.empty() ? nullptr : &lane.back();
        last != nullptr && rank.tasks[last->index].work != Work::kCollective) {
      std::vector<Ns> same;
      for (const LaneRow& row : lane) {
        if (row.sort == last->sort) same.push_back(row.end - row.begin);
      }
      if (same.size() > 4 && static_cast<double>(last->end - last->begin) > kVeryMuch * Median(same))
        set(last->index);
    }
  }
  if (!any) return;
  size_t kept = 0;
  for (size_t i = 0; i < rank.tasks.size(); ++i) {
    if (!drop[i]) rank.tasks[kept++] = rank.tasks[i];
  }
  rank.tasks.resize(kept);
}

// Sorts tasks and collectives, and says of each which step it is of: by the begin of its call, else its own.
void RankBuilder::PlaceTasks(Device& device) {
  Rank& rank = device.rank;
  std::map<int64_t, uint16_t> lanes;
  const auto lane_of = [&lanes](int64_t stream) {
    return lanes.try_emplace(stream, static_cast<uint16_t>(std::min(lanes.size(), kMostLanes - 1)))
        .first->second;
  };
  const auto is_as_before = [&device](size_t i) {
    return i > 0 && device.streams[i] == device.streams[i - 1];
  };
  for (size_t i = 0; i < rank.tasks.size(); ++i) {
    // Groups of collectives are streams of their own: numbers of streams have 32 bits.
    rank.tasks[i].lane = is_as_before(i) ? rank.tasks[i - 1].lane : lane_of(device.streams[i]);
  }
  rank.lanes = static_cast<uint32_t>(std::min(lanes.size(), kMostLanes));
  std::vector<int64_t>().swap(device.streams);
  std::vector<int64_t>().swap(device.connections);
  SortNearlySorted(rank.tasks, [](const Task& a, const Task& b) {
    return std::tie(a.begin, a.end, a.lane, a.kind) < std::tie(b.begin, b.end, b.lane, b.kind);
  });
  DropCovering(device);
  auto behind =
      rank.steps.begin();  // the first step that begins behind the task before, mostly behind this one, too
  for (uint32_t i = 0; i < rank.tasks.size(); ++i) {
    Task& task = rank.tasks[i];
    const Ns at = task.launch != kNone ? rank.calls[task.launch].begin : task.begin;
    if ((behind != rank.steps.begin() && std::prev(behind)->begin > at) ||
        (behind != rank.steps.end() && behind->begin <= at))
      behind = std::ranges::upper_bound(rank.steps, at, {}, &Step::begin);
    if (behind != rank.steps.begin() && at < std::prev(behind)->end)
      task.step = static_cast<uint32_t>(behind - rank.steps.begin() - 1);
    if (task.work != Work::kCollective) continue;
    Collective& collective = rank.collectives[task.kind];
    collective.task = i;
    collective.step = task.step;
  }
  // In the order of their tasks.
  std::vector<Collective> sorted;
  sorted.reserve(rank.collectives.size());
  for (Task& task : rank.tasks) {
    if (task.work != Work::kCollective) continue;
    const auto from = task.kind;
    task.kind = static_cast<uint32_t>(sorted.size());
    sorted.push_back(rank.collectives[from]);
  }
  rank.collectives = std::move(sorted);
}

// Calls of a framework that are short are of interest within heads of graphs alone.
void RankBuilder::TakeShortRanges() {
  const auto is_head = [this](const Range& range) {
    return GraphHeadOf(texts_->Get(range.name)).has_value();
  };
  if (!short_ranges_.empty() && std::ranges::any_of(ranges_, is_head))
    ranges_.insert(ranges_.end(), short_ranges_.begin(), short_ranges_.end());
  std::vector<Range>().swap(short_ranges_);
}

Part RankBuilder::Finish() {
  TakeShortRanges();
  DropFar();
  SortNearlySorted(calls_, [](const NamedCall& a, const NamedCall& b) {
    return std::tie(a.connection, a.call.begin, a.call.end, a.thread, a.call.name) <
           std::tie(b.connection, b.call.begin, b.call.end, b.thread, b.call.name);
  });
  has_task_.assign(calls_.size(), false);
  Part part;
  if (left_out_ > 0) {
    Note(std::to_string(left_out_) + " rows are of more than " + std::to_string(kMostDevices) +
             " devices, and are left out",
         true);
  }
  constexpr int64_t kGroupStreams = int64_t{1} << 40;
  for (auto& [number, device] : devices_) {
    Rank& rank = device.rank;
    SetOthersApart(device);
    std::vector<uint64_t>().swap(device.processes);
    for (uint32_t i = 0; i < rank.collectives.size(); ++i) {
      const Collective& collective = rank.collectives[i];
      Task task;
      task.begin = collective.begin;
      task.end = collective.end;
      task.name = collective.name;
      task.kind = i;
      task.work = Work::kCollective;
      rank.tasks.push_back(task);
      device.streams.push_back(kGroupStreams + collective.group);
      device.connections.push_back(device.collective_connections[i]);
    }
    JoinCalls(device);
    ChooseSteps(device, number);
    PlaceTasks(device);
    if (!rank.tasks.empty()) rank.level = std::max(rank.level, Level::kTasks);
    const auto is_named = [](const Task& task) {
      return task.work == Work::kCollective || (task.kind != kNone && task.name != 0);
    };
    if (std::ranges::any_of(rank.tasks, is_named)) rank.level = std::max(rank.level, Level::kNamed);
    const auto launched =
        std::ranges::count_if(rank.tasks, [](const Task& task) { return task.launch != kNone; });
    rank.gaps.calls =
        rank.tasks.empty() ? 0 : 1 - static_cast<double>(launched) / static_cast<double>(rank.tasks.size());
    if (launched > 0 && static_cast<size_t>(launched) * 2 > rank.tasks.size()) {
      rank.level = Level::kLaunches;
      if (!rank.ranges.empty()) rank.level = Level::kFramework;
    }
    rank.gaps.crossed = CrossedOf(rank, kMostLanes - 1);
    if (rank.gaps.crossed > Gaps::kMost) rank.gaps.piled = PiledOf(rank, kMostLanes - 1);
    rank.gaps.apart = AreApart(rank);
    // They stay, and many of them: without room to grow.
    rank.tasks.shrink_to_fit();
    rank.ranges.shrink_to_fit();
  }
  std::ranges::sort(others_);
  for (auto& [number, device] : devices_) {
    if (device.rank.level >= Level::kLaunches) device.rank.gaps.launched = UnansweredOf(device.rank);
  }
  for (size_t i = 0; i < classes_.size(); ++i) {
    if (classes_[i].blocks == 0) classes_[i].TakeBlocks(seen_once_[i]);
  }
  if (strays_ > 0) {
    Note(std::to_string(strays_) + " rows have times that make no sense beside the others, and are left out",
         true);
    for (auto& [number, device] : devices_) device.rank.gaps.torn = true;
  }
  for (auto& [number, device] : devices_) {
    if (keeps_all_) KeepCalls(device);
    device.rank.all_calls.shrink_to_fit();
    part.ranks.push_back(std::move(device.rank));
  }
  part.texts = std::move(texts_);
  part.classes = std::move(classes_);
  part.pipes = std::move(pipes_);
  part.notes = std::move(notes_);
  part.unfinished = std::move(unfinished_);
  return part;
}

}  // namespace profd::analyze
