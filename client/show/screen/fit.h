// Text made to fit a screen.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "client/show/screen/table.h"

namespace profd::client {

// Exactly `rows` lines of `look.columns`, the last of them `keys`, without a line end: it would scroll.
// `rows` 0: the text as it is.
std::string FitScreen(const std::string& text, size_t rows, const Look& look, std::string_view keys);

}  // namespace profd::client
