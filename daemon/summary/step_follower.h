// The steps of one program's training loop, from what its region says of them now and then.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/agent/lanes/region.h"

namespace profd::summary {

struct StepRow {
  uint64_t number = 0;  // of the row, from Numbers; an open row and the one that closes it have the same
  uint64_t step = 0;    // the program's own number: untrusted
  bool open = false;    // it had not ended
  uint64_t wall_ns = 0;
  uint64_t took_ns = 0;
};

// Counts the rows of all programs.
class Numbers {
 public:
  uint64_t Next() { return next_++; }

 private:
  uint64_t next_ = 0;
};

// **Thread:** one.
class StepFollower {
 public:
  // A step that runs for so long has a row before it ends: a loop that hangs shows.
  static constexpr uint64_t kOpenAfterNs = 10'000'000'000;

  struct Look {
    std::vector<StepRow> rows;
    uint64_t lost = 0;  // steps that ended and were overwritten, or never logged
  };
  // What is new in `log`, which is a process's word. `raw_ns`, `wall_ns`: now.
  Look Take(const agent::StepLog& log, uint64_t raw_ns, uint64_t wall_ns, Numbers& numbers);
  // The program has ended: the step that it was in.
  Look End(uint64_t raw_ns, uint64_t wall_ns, Numbers& numbers);

 private:
  struct Running {
    uint64_t begin_ns = 0;  // as the process says; 0: none
    uint64_t step = 0;
    uint64_t since_ns = 0;  // when it was seen first
    bool told = false;      // as an open row, with
    uint64_t number = 0;
  };

  void TakeRunning(const agent::StepLog& log, uint64_t raw_ns);
  StepRow RowOfRunning(uint64_t raw_ns, uint64_t wall_ns, Numbers& numbers);

  bool begun_ = false;
  uint64_t ended_ = 0;  // the last that was seen
  Running running_;
};

}  // namespace profd::summary
