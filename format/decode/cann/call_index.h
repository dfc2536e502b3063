// The calls of a window by thread and begin: which one was the innermost around a moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace profd::format {

// **Thread:** one.
class CallIndex {
 public:
  void Clear() { entries_.clear(); }
  bool empty() const { return entries_.empty(); }
  // Those of a thread by begin, an outer call before the inner ones that begin with it. `call`: its number
  // for whoever asks.
  void Add(uint32_t thread, uint64_t begin, uint64_t end, uint32_t call) {
    entries_.push_back({begin, end, 0, thread, call});
  }
  // All calls are there.
  void Finish();
  // The call that began last of those that a moment of a thread lies in; -1 if there is none.
  int64_t Around(uint32_t thread, uint64_t stamp) { return empty() ? -1 : Find(thread, stamp); }

 private:
  int64_t Find(uint32_t thread, uint64_t stamp);

  struct Entry {
    uint64_t begin, end;
    uint64_t reach;  // the latest end of its thread's calls up to this one
    uint32_t thread, call;
  };
  std::vector<Entry> entries_;
  size_t last_ = 0;  // where the moment asked for last was: the next one is near
};

}  // namespace profd::format
