// Text on its way to a person: numbers with units, foreign text made harmless for a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"

namespace profd::client {

using base::Excerpt;
using base::IsPlainText;
using base::OneLine;
// Columns on a terminal: characters, not bytes.
size_t Width(std::string_view text);

std::string FormatBytes(double bytes);  // "1.2 MB"
std::string FormatHz(double hz);        // "50 Hz", "-" for 0
// A value with its UCUM unit: "1.2 GB/s", "45.0 %" of "1" in a ratio, "12".
std::string FormatValue(double value, std::string_view unit, bool is_ratio);
std::string FormatDuration(uint64_t ns);       // "850 ms", "3.2 s", "5 m 03 s", "1 h 02 m"
std::string FormatWallTime(uint64_t wall_ns);  // local time, "-" for 0

}  // namespace profd::client
