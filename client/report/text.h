// Words and numbers of the page. Names come from the job: nothing reaches the page but through Escaped() or
// JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace profd::report {

// For HTML text and attributes in double quotes: "<" and its like as entities, control characters and broken
// UTF-8 as '?', cut after 300 bytes with a "…".
std::string Escaped(std::string_view untrusted);
// For a block of JSON inside HTML: "<" as an escape, so that no block ends early.
std::string InBlock(std::string json);

// Milliseconds with one digit behind the point and three that count: "4.8", "0.32", "248".
std::string Ms(double ms);
// Milliseconds in the unit that reads best: "4.8 ms", "320 µs", "1.20 s".
std::string Length(double ms);
std::string Percent(double percent);
std::string Count(size_t n, std::string_view one, std::string_view many);
// A number as an attribute of SVG takes it.
std::string Coordinate(double value);
// "0-7, 9" of ascending numbers, as many as 12 runs.
std::string Runs(const std::vector<int64_t>& numbers);

}  // namespace profd::report
