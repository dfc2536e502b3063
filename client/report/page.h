// Files that the build put into the program: client/report/page/, and uPlot where the build found it.
#pragma once

#include <string_view>

namespace profd::report::page {

extern const std::string_view kStyle, kScript;
extern const std::string_view kChartStyle, kChartScript;  // "" = not in this build

}  // namespace profd::report::page
