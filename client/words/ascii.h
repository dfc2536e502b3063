// Letters and digits of ASCII, whatever the locale.
#pragma once

#include <string>
#include <string_view>

namespace profd::client {

// Other bytes stay as they are.
std::string Lower(std::string_view text);
// Two digits for each byte, in lower case.
std::string Hex(std::string_view bytes);

}  // namespace profd::client
