#include "client/export/report.h"

#include <algorithm>
#include <utility>

namespace profd::client {

void Report::Skip(Skipped skipped) {
  if (!skipped_.empty()) {
    Skipped& last = skipped_.back();
    const bool goes_on = skipped.bytes > 0 && skipped.offset == last.offset + last.bytes &&
                         skipped.stream == last.stream && skipped.why == last.why;
    if (goes_on) {
      last.bytes += skipped.bytes;
      last.records += skipped.records;
      return;
    }
  }
  if (skipped_.size() < kMaxSkipped) {
    skipped_.push_back(std::move(skipped));
  } else {
    ++more_skipped_;
  }
}

void Report::Note(const std::string& what) {
  if (notes_.size() < kMaxSkipped && std::ranges::count(notes_, what) == 0) notes_.push_back(what);
}

void Report::Count(const std::string& stream, const std::string& kind, uint64_t bytes, uint64_t records) {
  StreamCount& count = streams_[stream];
  count.kind = kind;
  count.bytes += bytes;
  count.records += records;
}

void Report::Add(const Report& other) {
  for (const Skipped& skipped : other.skipped_) Skip(skipped);
  more_skipped_ += other.more_skipped_;
  for (const std::string& note : other.notes_) Note(note);
  for (const auto& [stream, count] : other.streams_) Count(stream, count.kind, count.bytes, count.records);
}

uint64_t Report::records() const {
  uint64_t records = 0;
  for (const auto& [stream, count] : streams_) records += count.records;
  return records;
}

}  // namespace profd::client
