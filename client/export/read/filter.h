// What of a capture is wanted, and the sieve that lets only that through.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/export/read/capture.h"
#include "format/events/spans.h"
#include "format/series.h"

namespace profd::client {

struct Wanted {
  uint64_t from_ns = 0, to_ns = UINT64_MAX;  // wall clock, both included
  std::optional<std::set<int64_t>> devices;  // the host is always wanted
  std::optional<std::set<std::string, std::less<>>> kinds;
  std::set<std::string, std::less<>> other_programs;  // not wanted, by their files of lanes

  bool Device(int device) const { return device < 0 || !devices || devices->contains(device); }
  bool Kind(std::string_view kind) const { return !kinds || kinds->contains(kind); }
  bool Program(std::string_view lanes_file) const { return !other_programs.contains(lanes_file); }
};

// Passes on what lies within the time wanted, and within the time of the collection: a stamp far outside of
// that is damage. **Thread:** one.
class Sieve : public format::RowSink, public format::SpanSink {
 public:
  Sieve(const Capture& capture, const Wanted& wanted, format::RowSink& rows, format::SpanSink& spans);

  void Label(const format::Series& series, int device, size_t key, int64_t value,
             std::string_view text) override {
    rows_.Label(series, device, key, value, text);
  }
  void Rows(const format::RowBatch& batch) override;
  void Process(const format::SpanProcess& process) override { spans_.Process(process); }
  void Thread(const format::SpanThread& thread) override { spans_.Thread(thread); }
  void Spans(const format::SpanBatch& batch) override;

  // Rows and spans since the last call that carried stamps from outside of the collection.
  uint64_t TakeStray() { return std::exchange(stray_, 0); }

 private:
  bool Possible(uint64_t ns) const { return ns - first_possible_ <= last_possible_ - first_possible_; }
  bool InTime(uint64_t begin_ns, uint64_t end_ns) const { return begin_ns <= to_ns_ && end_ns >= from_ns_; }

  format::RowSink& rows_;
  format::SpanSink& spans_;
  const uint64_t from_ns_, to_ns_;
  uint64_t first_possible_ = 0, last_possible_ = UINT64_MAX;
  uint64_t stray_ = 0;
  format::RowBatch kept_rows_;
  format::SpanBatch kept_spans_;
};

}  // namespace profd::client
