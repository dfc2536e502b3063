#include "client/export/framework/join/allocations.h"

#include <algorithm>
#include <utility>

namespace profd::client::framework {
namespace {

using Use = format::framework::MemoryUse;

}  // namespace

int DeviceNumber(const Folder& folder, const Use& use) {
  return folder.devices.size() == 1 ? folder.devices.front() : use.device;
}

std::vector<Held> Allocations(const Calls& calls) {
  std::map<std::pair<uint64_t, int64_t>, Held> open;  // by process and address
  std::vector<Held> all;
  size_t addresses = 0;
  for (const MemoryChange& change : calls.memory) {
    if (!change.use.is_inner) continue;
    const auto [at, is_new] = open.try_emplace({change.use.pid, change.use.address});
    Held& held = at->second;
    if (is_new) held.address = addresses++;
    if (change.use.kind == Use::Kind::kMalloc) {
      if (held.taken != nullptr) all.push_back(held);
      held = {&change, nullptr, nullptr, held.address};
      continue;
    }
    if (held.taken == nullptr) continue;
    const MemoryChange*& end = change.use.kind == Use::Kind::kFree ? held.freed : held.released;
    if (end == nullptr) {
      end = &change;
    } else {
      all.push_back(std::exchange(held, {nullptr, nullptr, nullptr, held.address}));
    }
  }
  for (const auto& [key, held] : open) {
    if (held.taken != nullptr) all.push_back(held);
  }
  std::ranges::stable_sort(all, {}, [](const Held& held) { return std::pair(held.taken->ns, held.address); });
  return all;
}

Namer::Namer(const Calls& calls, const Tree& tree) : calls_(calls), tree_(tree) {
  for (const Ref op : tree.order) {
    const std::string_view name = calls.NameOf(calls.ops[op]);
    if (name != "empty_tensor" && name != "malloc_workspace")
      ops_[calls.PlaceOf(calls.ops[op].thread).tid].push_back(op);
  }
  for (const Queued& queued : calls.enqueues) enqueues_.insert_or_assign(queued.correlation, &queued);
  for (const Queued& queued : calls.dequeues) dequeues_[queued.thread].push_back(&queued);
  for (auto& [thread, list] : dequeues_) std::ranges::stable_sort(list, {}, &Queued::begin);
}

std::string_view Namer::NameOf(const MemoryChange& change) const {
  if (const Queued* dequeue = DequeueAt(change)) {
    const auto enqueue = enqueues_.find(dequeue->correlation);
    return enqueue == enqueues_.end() ? std::string_view() : OfEnqueue(*enqueue->second);
  }
  const int64_t ns = change.ns;
  return Outwards(LastBefore(ns, calls_.PlaceOf(change.thread).tid),
                  [this, ns](Ref op) { return calls_.ops[op].end >= ns; });
}

const Queued* Namer::DequeueAt(const MemoryChange& change) const {
  const auto list = dequeues_.find(change.thread);
  if (list == dequeues_.end()) return nullptr;
  const auto behind = std::ranges::upper_bound(list->second, change.ns, {}, &Queued::begin);
  if (behind == list->second.begin() || (*std::prev(behind))->end <= change.ns) return nullptr;
  return *std::prev(behind);
}

std::string_view Namer::OfEnqueue(const Queued& enqueue) const {
  return Outwards(LastBefore(enqueue.end, calls_.PlaceOf(enqueue.thread).tid), [this](Ref op) {
    const std::string_view name = calls_.NameOf(calls_.ops[op]);
    return name.starts_with("aten") || name.starts_with("npu");
  });
}

Ref Namer::LastBefore(int64_t ns, uint64_t tid) const {
  const auto list = ops_.find(tid);
  if (list == ops_.end()) return kNoRef;
  const auto behind =
      std::ranges::upper_bound(list->second, ns, {}, [this](Ref op) { return calls_.ops[op].begin; });
  return behind == list->second.begin() ? kNoRef : *std::prev(behind);
}

template <typename Is>
std::string_view Namer::Outwards(Ref op, Is is_it) const {
  for (size_t level = 0; op != kNoRef && level < kMostLevels; op = tree_.parents[op], ++level) {
    if (is_it(op)) return calls_.NameOf(calls_.ops[op]);
  }
  return {};
}

}  // namespace profd::client::framework
