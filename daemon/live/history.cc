#include "daemon/live/history.h"

#include <algorithm>
#include <utility>

namespace profd::live {

namespace {

size_t BytesOf(const Snapshot& snapshot) {
  size_t bytes =
      sizeof(Snapshot) + snapshot.samples.size() * sizeof(Sample) + snapshot.lacks.size() * sizeof(Lack);
  for (const Sample& sample : snapshot.samples) {
    for (const Label& label : sample.labels) bytes += sizeof(Label) + label.value.capacity();
  }
  return bytes;
}

size_t BytesOf(const History::Set& set) {
  return sizeof(History::Set) + set.readings.size() * sizeof(History::Reading);
}

// Whether both have the same values of the same owners, in the same order, and lack the same.
bool IsAlike(const Snapshot& a, const Snapshot& b) {
  return a.period_ns == b.period_ns &&
         std::ranges::equal(a.samples, b.samples,
                            [](const Sample& one, const Sample& other) {
                              return one.IsSame(other) && one.needs == other.needs &&
                                     one.target.owner == other.target.owner &&
                                     one.target.device == other.target.device;
                            }) &&
         a.lacks == b.lacks;
}

}  // namespace

void History::Add(const Snapshot& snapshot) {
  if (most_ns_ == 0 || most_bytes_ == 0) return;
  auto set = std::make_shared<Set>();
  set->number = snapshot.number;
  set->wall_ns = snapshot.wall_ns;
  set->readings.reserve(snapshot.samples.size());
  for (const Sample& sample : snapshot.samples) set->readings.push_back({sample.value, sample.wall_ns});
  if (!sets_.empty() && IsAlike(*sets_.back()->names, snapshot)) {
    set->names = sets_.back()->names;
  } else {
    set->names = std::make_shared<const Snapshot>(snapshot);
    bytes_ += BytesOf(snapshot);
  }
  bytes_ += BytesOf(*set);
  sets_.push_back(std::move(set));
  while (!sets_.empty() && (bytes_ > most_bytes_ || snapshot.wall_ns - sets_.front()->wall_ns > most_ns_)) {
    DropOldest();
  }
}

void History::DropOldest() {
  const std::shared_ptr<const Set> oldest = std::move(sets_.front());
  sets_.pop_front();
  bytes_ -= BytesOf(*oldest);
  if (sets_.empty() || sets_.front()->names != oldest->names) bytes_ -= BytesOf(*oldest->names);
}

std::vector<History::Later> History::Since(uint64_t wall_ns) const {
  std::vector<Later> later;
  for (const auto& set : sets_) {
    if (set->wall_ns >= wall_ns) later.emplace_back(set);
  }
  return later;
}

void History::Clear() {
  sets_.clear();
  bytes_ = 0;
}

SnapshotPtr History::Whole(const Set& set) {
  auto whole = std::make_shared<Snapshot>(*set.names);
  whole->number = set.number;
  whole->wall_ns = set.wall_ns;
  for (size_t i = 0; i < set.readings.size(); ++i) {
    whole->samples[i].value = set.readings[i].value;
    whole->samples[i].wall_ns = set.readings[i].wall_ns;
  }
  return whole;
}

}  // namespace profd::live
