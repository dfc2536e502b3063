// What is said of agents that others tell by.
#pragma once

#include <string_view>

namespace profd::abi {

// Why kinds of CANN's have not begun.
inline constexpr std::string_view kCannIsNotLoaded = "CANN is not loaded yet";
// In front of why, once they never will.
inline constexpr std::string_view kNeverBegan = "never began: ";

}  // namespace profd::abi
