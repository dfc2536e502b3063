// Values of a screen in words: "-" for what nobody samples.
#pragma once

#include <optional>
#include <string>

#include "client/show/screen/table.h"
#include "client/words/text.h"

namespace profd::client::live_words {

inline constexpr double kBusy = 0.9;

inline std::string Percent(std::optional<double> ratio) {
  return ratio ? FormatValue(*ratio, "1", true) : "-";
}
inline std::string Bytes(std::optional<double> bytes) { return bytes ? FormatBytes(*bytes) : "-"; }
inline std::string BytesPerSecond(std::optional<double> rate) {
  return rate ? FormatValue(*rate, "By/s", false) : "-";
}
inline std::string Count(std::optional<double> value) {
  return value ? FormatValue(*value, "1", false) : "-";
}
inline std::string StepTime(std::optional<double> seconds) {
  return seconds ? FormatDuration(static_cast<uint64_t>(*seconds * 1e9)) : "-";
}
inline Table::Cell Use(std::optional<double> ratio) {
  return {Percent(ratio), ratio && *ratio >= kBusy ? Colour::kWarn : Colour::kNone};
}

}  // namespace profd::client::live_words
