// When devices computed, communicated, did both, or neither.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "format/events/spans.h"
#include "format/texts.h"

namespace profd::client {

struct Period {
  uint64_t begin_ns = 0, end_ns = 0;
  bool operator==(const Period&) const = default;
};
// In order, those that touch each other as one.
std::vector<Period> Merged(std::vector<Period> periods);
// What of `periods` none of `without` covers; both merged.
std::vector<Period> Without(const std::vector<Period>& periods, const std::vector<Period>& without);

// Passes spans on, watches tasks and collectives, and gives out the periods as spans of kOverlap: those of
// long ago now and then, the others at the end. Tasks come nearly in order. **Thread:** one.
class Overlap : public format::SpanSink {
 public:
  Overlap(format::SpanSink& to, format::Texts& texts, size_t window = 1 << 17)
      : to_(to), texts_(texts), window_(window) {}
  void Process(const format::SpanProcess& process) override { to_.Process(process); }
  void Thread(const format::SpanThread& thread) override { to_.Thread(thread); }
  void Spans(const format::SpanBatch& batch) override;
  void Finish();

  // Tasks so long behind the others that their periods had been given out already.
  uint64_t late() const { return late_; }

 private:
  struct Device {
    std::vector<Period> computing, communicating;  // not given out yet, as they came
    uint64_t first_ns = UINT64_MAX, last_ns = 0;   // of all tasks
    uint64_t done_ns = 0;                          // up to here everything is given out
    uint64_t busy_until_ns = 0;
    bool begun = false;
  };
  void Give(int number, Device& device, bool all);

  format::SpanSink& to_;
  format::Texts& texts_;
  const size_t window_;
  std::map<int, Device> devices_;
  uint64_t late_ = 0;
};

}  // namespace profd::client
