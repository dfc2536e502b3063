// Forward operators and the backward ones that go with them.
#pragma once

#include <cstdint>
#include <vector>

#include "client/export/framework/input/calls.h"

namespace profd::client::framework {

struct ForwardPair {
  int64_t sequence = 0;
  Ref forward = kNoRef, backward = kNoRef;
};
// Which one of several with the same number counts. The vendor's database takes the last one of the file.
enum class Latest : uint8_t { kByBegin, kInFile };

// As their sequence numbers are first seen.
std::vector<ForwardPair> PairForwards(const Calls& calls, Latest latest);

}  // namespace profd::client::framework
