// The files of client/ui/page, as the build has put them into the program.
#pragma once

#include <string_view>

namespace profd::ui::page {

extern const std::string_view kMarkup, kStyle, kScript;

}  // namespace profd::ui::page
