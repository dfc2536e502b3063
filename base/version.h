// Versions that go over the wire and into manifests.
#pragma once

#include <cstdint>

namespace profd::base {

inline constexpr char kVersion[] = "0.1.0";
// Raised when an older peer would misread; features are negotiated by name.
inline constexpr uint32_t kProtocolVersion = 1;

}  // namespace profd::base
