#include "format/decode/tasks/kernel_join.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace profd::format {

namespace {

constexpr int64_t kNear = 20'000;  // ns: what one distance of the clocks may vary
constexpr uint64_t kTicksNs =
    64;  // how exact a length is: some ticks of the device's counter, which has 48 MHz and more
constexpr size_t kMostOfTask = 256;  // kernels that a task is compared with
constexpr size_t kMostOffsets = 2;
constexpr size_t kSampled = 64;  // tasks that are enough to learn from
constexpr size_t kFew = 4;       // tasks: a single one that fits is enough

uint64_t Shifted(uint64_t ns, int64_t by) {
  if (by < 0) return ns - std::min(ns, static_cast<uint64_t>(-by));
  return ns + static_cast<uint64_t>(by);
}

int64_t Apart(uint64_t kernel_ns, uint64_t task_ns) { return static_cast<int64_t>(kernel_ns - task_ns); }

// Distances that differ by no more than kNear.
struct Group {
  size_t count = 0;
  int64_t middle = 0;
};
// Of `apart`, which is in order: those behind each of them.
std::vector<Group> GroupsOf(const std::vector<int64_t>& apart) {
  std::vector<Group> groups;
  for (size_t first = 0, end = 0; first < apart.size(); ++first) {
    while (end < apart.size() && apart[end] - apart[first] <= kNear) ++end;
    groups.push_back({end - first, apart[first + (end - first) / 2]});
  }
  return groups;
}

}  // namespace

bool KernelJoin::SameLength(const Task& task, const ReportedKernel& kernel) {
  const uint64_t theirs = kernel.span.end_ns - kernel.span.begin_ns, ours = task.end_ns - task.begin_ns;
  const uint64_t less = std::min(theirs, ours), more = std::max(theirs, ours);
  return more - less <= kTicksNs + more / 4096;
}

KernelJoin::Kernels::iterator KernelJoin::FirstFrom(Kernels& kernels, uint64_t begin_ns) {
  return std::lower_bound(
      kernels.begin(), kernels.end(), begin_ns,
      [](const ReportedKernel& kernel, uint64_t ns) { return kernel.span.begin_ns < ns; });
}

void KernelJoin::Add(const ReportedKernel& kernel) {
  Kernels& kernels = streams_[kernel.span.stream];
  auto at = kernels.end();
  while (at != kernels.begin() && std::prev(at)->span.begin_ns > kernel.span.begin_ns) --at;
  kernels.insert(at, kernel);
  newest_ns_ = std::max(newest_ns_, kernel.span.begin_ns);
  ++waiting_;
}

// Of the distances that are as frequent as any the shortest is the right one: where kernels of one length
// follow each other at one distance, every task has a neighbour that fits as well.
void KernelJoin::Learn(std::span<const Task> tasks) {
  std::vector<int64_t> apart;
  const size_t every = std::max<size_t>(1, tasks.size() / kSampled);
  for (size_t i = 0; i < tasks.size(); i += every) {
    const Task& task = tasks[i];
    const auto stream = streams_.find(task.stream);
    if (stream == streams_.end()) continue;
    // The nearest first, on both sides.
    Kernels& kernels = stream->second;
    auto after = FirstFrom(kernels, task.begin_ns), before = after;
    for (size_t compared = 0; compared < kMostOfTask; ++compared) {
      const bool has_before = before != kernels.begin(), has_after = after != kernels.end();
      const uint64_t back = has_before ? task.begin_ns - std::prev(before)->span.begin_ns : UINT64_MAX;
      const uint64_t ahead = has_after ? after->span.begin_ns - task.begin_ns : UINT64_MAX;
      if (std::min(back, ahead) > kMostApartNs) break;
      const ReportedKernel& kernel = back < ahead ? *--before : *after++;
      if (SameLength(task, kernel)) apart.push_back(Apart(kernel.span.begin_ns, task.begin_ns));
    }
  }
  std::ranges::sort(apart);
  std::vector<int64_t> learnt;
  std::vector<Group> groups = GroupsOf(apart);
  while (learnt.size() < kMostOffsets && !groups.empty()) {
    const size_t most = std::ranges::max(groups, {}, &Group::count).count;
    if ((most < 2 && tasks.size() > kFew) || (!learnt.empty() && most * every * 8 < tasks.size())) break;
    const Group* best = nullptr;
    for (const Group& group : groups) {
      if (group.count * 10 < most * 9) continue;
      if (best == nullptr || std::abs(group.middle) < std::abs(best->middle)) best = &group;
    }
    const int64_t middle = best->middle;
    learnt.push_back(middle);
    std::erase_if(groups,
                  [middle](const Group& group) { return std::abs(group.middle - middle) < 3 * kNear; });
  }
  if (!learnt.empty()) apart_ns_ = std::move(learnt);
}

bool KernelJoin::Find(const Task& task, ReportedKernel& kernel) {
  const auto stream = streams_.find(task.stream);
  if (stream == streams_.end()) return false;
  Kernels& kernels = stream->second;
  for (const int64_t apart : apart_ns_) {
    const uint64_t expected = Shifted(task.begin_ns, apart);
    auto best = kernels.end();
    int64_t best_off = kNear + 1;
    for (auto at = FirstFrom(kernels, Shifted(expected, -kNear));
         at != kernels.end() && Apart(at->span.begin_ns, expected) <= kNear; ++at) {
      const int64_t off = std::abs(Apart(at->span.begin_ns, expected));
      if (off >= best_off || !SameLength(task, *at)) continue;
      best_off = off;
      best = at;
    }
    if (best == kernels.end()) continue;
    kernel = *best;
    kernels.erase(best);
    --waiting_;
    return true;
  }
  return false;
}

void KernelJoin::Drop(uint64_t now_ns, size_t most, const Give& give) {
  const uint64_t old_ns = now_ns - std::min(now_ns, kKeptNs);
  for (auto& [stream, kernels] : streams_) {
    while (!kernels.empty() && kernels.front().span.begin_ns < old_ns) {
      give(kernels.front());
      kernels.pop_front();
      --waiting_;
    }
  }
  while (waiting_ > most) {
    Kernels* oldest = nullptr;
    for (auto& [stream, kernels] : streams_) {
      if (!kernels.empty() &&
          (oldest == nullptr || kernels.front().span.begin_ns < oldest->front().span.begin_ns))
        oldest = &kernels;
    }
    give(oldest->front());
    oldest->pop_front();
    --waiting_;
  }
}

}  // namespace profd::format
