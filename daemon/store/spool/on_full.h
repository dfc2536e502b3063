// What becomes of a session whose data cannot be stored.
#pragma once

#include <cstdint>

namespace profd::store {

enum class OnFull : uint8_t {
  kAge,  // where room is short its oldest slices go for new data; else, or when that does not help, as kPause
  kPause,  // new records are lost, counted, until they can be stored again
  kStop,   // the session ends
};

}  // namespace profd::store
