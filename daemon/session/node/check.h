// One link of the chain that `profctl doctor` walks. The client prepends its own (socket, door, versions).
#pragma once

#include <cstdint>
#include <string>

namespace profd::session {

struct Check {
  std::string name;
  enum class Outcome : uint8_t { kOk, kWarn, kBroken } outcome = Outcome::kOk;
  std::string detail;
  std::string remedy;  // what to do, empty when ok
};

}  // namespace profd::session
