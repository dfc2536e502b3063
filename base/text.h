// Foreign text made harmless.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace profd::base {

// Control characters (line ends, terminal commands) and broken UTF-8 become '?'; cut, between characters,
// after `max_bytes`.
std::string OneLine(std::string_view untrusted, size_t max_bytes = std::string::npos);
// The same for what an error quotes: where more was given, a "…" says so.
std::string Excerpt(std::string_view untrusted, size_t max_bytes = 80);
// UTF-8 without control characters.
bool IsPlainText(std::string_view untrusted);

}  // namespace profd::base
