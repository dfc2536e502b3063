// When which model was loaded or run: the calls of the model level of a whole recording, since such a call
// lasts longer than what is looked at together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/flat_map.h"
#include "format/events/spans.h"
#include "format/records/cann.h"

namespace profd::format {

// The begin and end of calls; of some they come one by one. **Thread:** one.
class CallTimes {
 public:
  // False: of this one the other end is not there yet.
  bool Of(const CannApiRecord& record, uint64_t& begin, uint64_t& end);
  // Without another end: those that nothing can come for any more, and those that there is no room for.
  uint64_t unpaired() const { return unpaired_ + begins_.size(); }

 private:
  base::FlatMap<uint64_t> begins_{1 << 16};
  uint64_t unpaired_ = 0;
};

// **Thread:** one.
class ModelCalls {
 public:
  // Of any level.
  void Add(const CannApiRecord& record);
  // All calls are there. Of those that overlap the first one counts, as in the vendor's parser
  // (event_grouper.cpp).
  void Finish();
  // The model of the call around a moment of a thread; kNoId: there is none.
  uint32_t At(uint32_t thread, uint64_t stamp) const { return calls_.empty() ? kNoId : Find(thread, stamp); }
  // Calls that there was no room for.
  uint64_t left_out() const { return left_out_; }

 private:
  uint32_t Find(uint32_t thread, uint64_t stamp) const;

  static constexpr size_t kMostCalls = 1 << 20;

  struct Call {
    uint64_t begin, end;
    uint32_t thread, model;
  };
  CallTimes times_;
  std::vector<Call> calls_;
  uint64_t left_out_ = 0;
};

}  // namespace profd::format
