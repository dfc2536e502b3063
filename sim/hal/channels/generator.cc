#include "sim/hal/channels/generator.h"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>

namespace profd::sim {
namespace {

constexpr uint64_t kTickNs = 5'000'000;  // at most one wake-up per this
constexpr int kDeviceSlots = 10;         // of a periodic channel on the device
constexpr double kBacklogRings = 1.25;

}  // namespace

void Generator::Add(uint32_t device, uint32_t id, Channel& channel, std::unique_ptr<Producer> producer,
                    Channel::Write how) {
  bool accident_prone = false;
  for (const Accident accident :
       {Accident::kDeviceLost, Accident::kRingOverwrite, Accident::kRingDrop, Accident::kLoseSlots}) {
    accident_prone |= faults_.Planned(accident, device, id);
  }
  {
    const std::lock_guard lock(added_mutex_);
    added_.push_back({.device = device,
                      .id = id,
                      .channel = &channel,
                      .producer = std::move(producer),
                      .how = how,
                      .accident_prone = accident_prone});
    if (!running_) {
      running_ = true;
      std::thread(&Generator::Run, this).detach();
    }
  }
  changed_.notify_one();
}

void Generator::TakeAdded() {
  const std::lock_guard lock(added_mutex_);
  std::move(added_.begin(), added_.end(), std::back_inserter(entries_));
  added_.clear();
}

void Generator::Remove(const Channel& channel) {
  const std::lock_guard lock(mutex_);
  TakeAdded();
  const auto entry =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.channel == &channel; });
  if (entry == entries_.end()) return;
  Produce(*entry, RawNs());
  if (entry->producer && !entry->lost) {
    sample_.Clear();
    entry->producer->Finish(sample_);
    if (sample_.records() > 0) entry->channel->Deliver(sample_, entry->how);
  }
  entries_.erase(entry);
  truth_.Flush();
}

void Generator::CatchUp(const Channel& channel) {
  const std::lock_guard lock(mutex_);
  TakeAdded();
  for (Entry& entry : entries_) {
    if (entry.channel == &channel) Produce(entry, RawNs());
  }
}

void Generator::Run() {
  ::prctl(PR_SET_NAME, "sim-gen");
  for (;;) {
    std::optional<std::chrono::nanoseconds> sleep;
    {
      const std::lock_guard lock(mutex_);
      TakeAdded();
      const uint64_t now_ns = RawNs();
      for (Entry& entry : entries_) Produce(entry, now_ns);
      truth_.Flush();
      if (!entries_.empty()) sleep = std::chrono::nanoseconds(NextWakeUp(now_ns) - now_ns);
    }
    std::unique_lock lock(added_mutex_);
    const auto more = [this] { return !added_.empty(); };
    if (sleep) {
      changed_.wait_for(lock, *sleep, more);
    } else {
      changed_.wait(lock, more);
    }
  }
}

// The next thing due, put off to the edge of a tick so that channels share their wake-ups.
uint64_t Generator::NextWakeUp(uint64_t now_ns) const {
  constexpr uint64_t kLongestSleepNs = 1'000'000'000;
  uint64_t due_ns = now_ns + kLongestSleepNs;
  for (const Entry& entry : entries_) {
    due_ns = std::min(due_ns, entry.producer ? entry.producer->due_ns() : now_ns + kTickNs);
  }
  due_ns = std::max(due_ns, now_ns + 1);
  return (due_ns + kTickNs - 1) / kTickNs * kTickNs;
}

void Generator::Produce(Entry& entry, uint64_t now_ns) {
  if (entry.accident_prone) HaveAccidents(entry);
  if (entry.lost) return;
  bool delivered = false;
  if (entry.producer) {
    while (entry.producer->due_ns() <= now_ns) {
      sample_.Clear();
      entry.producer->Emit(sample_);
      if (sample_.bytes().empty()) continue;
      Deliver(entry);
      delivered = true;
    }
  } else {
    delivered = !entry.channel->queued.load(std::memory_order_relaxed) && entry.channel->HasFloodData();
  }
  if (delivered) ready_(entry.device, entry.id, *entry.channel);
}

void Generator::HaveAccidents(Entry& entry) {
  if (!entry.lost && faults_.Happens(Accident::kDeviceLost, entry.device, entry.id)) {
    entry.lost = true;
    entry.channel->Orphan();
  }
  if (faults_.HappensOnce(Accident::kLoseSlots, entry.device, entry.id)) entry.slots_to_lose = kDeviceSlots;
  if (faults_.HappensOnce(Accident::kRingOverwrite, entry.device, entry.id))
    entry.backlog = Channel::Write::kUnguarded;
  if (faults_.HappensOnce(Accident::kRingDrop, entry.device, entry.id))
    entry.backlog = Channel::Write::kGuarded;
}

void Generator::Deliver(Entry& entry) {
  const bool lose = entry.slots_to_lose > 0;
  if (lose) --entry.slots_to_lose;
  const bool arrived = entry.channel->Deliver(sample_, lose ? Channel::Write::kLose : entry.how);
  if (truth_.on()) truth_.Write(entry.device, entry.id, sample_, !arrived);
  if (!entry.backlog) return;
  entry.channel->DeliverBacklog(sample_, *entry.backlog, kBacklogRings);
  entry.backlog.reset();
}

}  // namespace profd::sim
