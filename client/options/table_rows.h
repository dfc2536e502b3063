// The rows of the table, by what they are about, and what several of them take.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "client/options/table.h"

namespace profd::options {

std::span<const Option> RowsOfPrograms();
std::span<const Option> RowsOfTheNode();
std::span<const Option> RowsOfResults();

inline constexpr uint64_t kMaxSeconds = 4294967295;

inline constexpr Values kOffByDefault[] = {{.words = "on off", .preset = "off"}};
inline constexpr Values kOnByDefault[] = {{.words = "on off", .preset = "on"}};
inline constexpr Values kPlain[] = {{}};
inline constexpr Values kSeconds[] = {{.min = 1, .max = kMaxSeconds}};
inline constexpr Values kNumber[] = {{.min = 0, .max = kMaxSeconds}};

}  // namespace profd::options
