// Which of the things that profd remembers for its users it forgets next, so that nobody's make another's go.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace profd::session {

struct Share {
  uid_t uid = 0;
  size_t bytes = 0;
};
struct ShareLimits {
  size_t of_user, of_all;  // how many
  size_t bytes_of_all = SIZE_MAX;
};
// Index of the next; none: all of them are within the limits. The oldest of a user who has too many goes; of
// all together, the oldest of the user who has most.
std::optional<size_t> NextToForget(const std::vector<Share>& oldest_first, const ShareLimits& limits);

}  // namespace profd::session
