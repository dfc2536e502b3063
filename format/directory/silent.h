// In the reason of agent-kernel in the manifest: calls went on for seconds, and no kernel came.
#pragma once

#include <string_view>

namespace profd::format {

inline constexpr std::string_view kFellSilent = "may have fallen silent";

}  // namespace profd::format
