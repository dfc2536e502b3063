// Where nothing was ever written to a file: somebody may leave others a terabyte that takes no room.
#pragma once

#include <cstdint>

namespace profd::client {

// **Thread:** one. Looks at one file from its front to its end, in few system calls.
class Holes {
 public:
  struct Ahead {
    uint64_t bytes = 0;
    bool is_hole = false;
  };
  // What the file, of `size` bytes, goes on with at `at`: something that was written, or a hole that is worth
  // a skip, of whole `unit`s. Afterwards the next read of `file` begins at `at`.
  Ahead Look(int file, uint64_t at, uint64_t size, uint32_t unit);

 private:
  uint64_t written_to_ = 0;  // there is no hole before it
};

}  // namespace profd::client
