// Who gets in where room is short: a few accounts that take all they get keep nobody else out.
#pragma once

#include <cstddef>

namespace profd::auth {

struct Room {
  static constexpr size_t kFew = 16;  // connections

  size_t most = 1024;
  size_t most_of_one = 64;

  // Beside so many of all, for one more of somebody who has so many. Beyond `most` there is a reserve for
  // those who have few, and another one for root. Who has more than a few gets no more than is left.
  bool For(size_t in_total, size_t of_one, bool is_root) const {
    const size_t with_reserve = most + most / 4;
    if (of_one >= most_of_one) return false;
    if (is_root) return in_total < with_reserve + most / 8;
    if (of_one < kFew) return in_total < with_reserve;
    return in_total < most && of_one < with_reserve - in_total;
  }
};

}  // namespace profd::auth
