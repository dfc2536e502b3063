// Names of sessions and leases: eight hexadecimal digits, for people to type.
#pragma once

#include <sys/random.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "base/clock.h"

namespace profd::session {

inline std::string NewId() {
  uint32_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random) random = static_cast<uint32_t>(base::RawNs());
  char text[9];
  std::snprintf(text, sizeof text, "%08x", random);
  return text;
}

}  // namespace profd::session
