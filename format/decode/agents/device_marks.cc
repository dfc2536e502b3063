#include "format/decode/agents/device_marks.h"

namespace profd::format {

namespace {

constexpr size_t kMostWaiting = 1 << 16;
// The program's record is made right before the vendor's, on two clocks that are compared now and then.
constexpr uint64_t kClocksNs = 1'000'000;
// A thread that waits for a CPU between the two.
constexpr uint64_t kApartNs = 1'000'000'000;

}  // namespace

DeviceMarks::Pairs& DeviceMarks::PairsOf(const Key& key) {
  if (unpaired_ >= kMostWaiting) {
    pairs_.clear();
    unpaired_ = 0;
  }
  ++unpaired_;
  return pairs_[key];
}

uint64_t DeviceMarks::Mark(int64_t tid, uint64_t ns, What what) {
  const Key key = {tid, what.name};
  PairsOf(key).marks.push_back({ns, next_connection_, what});
  Match(key);
  return next_connection_++;
}

uint64_t DeviceMarks::EndRange(uint64_t id, What what) {
  Waiting& range = At(id);
  range.what = what;
  range.made = true;
  range.connection = next_connection_;
  Finish(id, range);
  return next_connection_++;
}

void DeviceMarks::Made(uint64_t id, int64_t tid, uint64_t ns, TextId name) {
  const Key key = {tid, name};
  PairsOf(key).named.push_back({ns, id});
  Match(key);
}

// The next of the one is the next of the other, unless times say that one of them has no other half.
void DeviceMarks::Match(const Key& key) {
  const auto found = pairs_.find(key);
  auto& [marks, named] = found->second;
  while (!marks.empty() && !named.empty()) {
    const MadeMark made = marks.front();
    const Named number = named.front();
    const bool is_of_a_later = marks.size() > 1 && marks[1].ns <= number.ns;
    if (is_of_a_later || made.ns + kApartNs < number.ns) {
      marks.pop_front();
      --unpaired_;
      continue;
    }
    named.pop_front();
    --unpaired_;
    if (number.ns + kClocksNs < made.ns) continue;
    marks.pop_front();
    --unpaired_;
    Waiting& mark = At(number.id);
    mark.what = made.what;
    mark.made = mark.is_mark = true;
    mark.connection = made.connection;
    Finish(number.id, mark);
  }
  if (marks.empty() && named.empty()) pairs_.erase(found);
}

void DeviceMarks::Ran(uint64_t id, Flag flag, uint64_t ns, int32_t device, uint32_t stream) {
  Waiting& waiting = At(id);
  waiting.device = device;
  waiting.stream = stream;
  waiting.is_mark = flag == kMark;
  if (flag != kEnd) waiting.begin_ns = ns, waiting.begun = true;
  if (flag != kBegin) waiting.end_ns = ns, waiting.ended = true;
  Finish(id, waiting);
}

DeviceMarks::Waiting& DeviceMarks::At(uint64_t id) {
  // The vendor counts up: the smallest number waits longest.
  if (waiting_.size() >= kMostWaiting && !waiting_.contains(id)) waiting_.erase(waiting_.begin());
  Waiting& waiting = waiting_[id];
  waiting.id = id;
  return waiting;
}

void DeviceMarks::Finish(uint64_t id, const Waiting& waiting) {
  if (!waiting.made || !waiting.begun || !waiting.ended) return;
  done_.push_back(waiting);
  waiting_.erase(id);
}

}  // namespace profd::format
