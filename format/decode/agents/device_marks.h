// Marks and ranges on a stream: the program makes them, and the device says when it came to them. The two
// halves come apart, in any order; of a range they share the vendor's number, of a mark another record tells
// it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "format/texts.h"

namespace profd::format {

// Of one process. What waits for its other half for too long is forgotten. **Thread:** one.
class DeviceMarks {
 public:
  enum Flag : uint8_t { kMark = 1, kBegin = 2, kEnd = 4 };
  struct What {
    TextId name = 0, domain = 0;
  };
  // On the device. `connection`: what Mark() or EndRange() has answered.
  struct Done {
    What what;
    uint64_t id = 0, begin_ns = 0, end_ns = 0, connection = 0;
    int32_t device = -1;
    uint32_t stream = 0;
    bool is_mark = false;
  };

  // `first`: connections are numbered from there.
  explicit DeviceMarks(uint64_t first) : next_connection_(first) {}

  // What the program made; the answer is the number of its connection. Wall time.
  uint64_t Mark(int64_t tid, uint64_t ns, What what);
  uint64_t EndRange(uint64_t id, What what);
  // The vendor's number of a mark that was made there and then.
  void Made(uint64_t id, int64_t tid, uint64_t ns, TextId name);
  void Ran(uint64_t id, Flag flag, uint64_t ns, int32_t device, uint32_t stream);
  // Those that are whole since the last call.
  std::vector<Done> Take() { return std::exchange(done_, {}); }

 private:
  struct Waiting : Done {
    bool made = false, begun = false, ended = false;
  };
  struct MadeMark {
    uint64_t ns = 0, connection = 0;
    What what;
  };
  struct Named {  // by the vendor
    uint64_t ns = 0, id = 0;
  };
  // Of one thread and one name, both in the thread's order.
  struct Pairs {
    std::deque<MadeMark> marks;
    std::deque<Named> named;
  };
  using Key = std::pair<int64_t, TextId>;
  Pairs& PairsOf(const Key& key);
  void Match(const Key& key);
  Waiting& At(uint64_t id);
  void Finish(uint64_t id, const Waiting& waiting);

  uint64_t next_connection_;
  std::map<uint64_t, Waiting> waiting_;  // by the vendor's number
  std::map<Key, Pairs> pairs_;
  size_t unpaired_ = 0;
  std::vector<Done> done_;
};

}  // namespace profd::format
