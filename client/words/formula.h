// What spreadsheets calculate with.
#pragma once

#include <string_view>

namespace profd::client {

// Spreadsheets take a text for a formula that begins like one; names come from whoever was recorded. In
// tables that a spreadsheet may open such a text gets a ' in front. A number is none.
inline bool IsFormula(std::string_view text) {
  constexpr std::string_view kFirst = "=+-@\t\r", kOfNumbers = "0123456789.eE+-";
  return text.size() > 1 && kFirst.find(text.front()) != kFirst.npos &&
         (text.front() == '=' || text.find_first_not_of(kOfNumbers, 1) != text.npos);
}

}  // namespace profd::client
