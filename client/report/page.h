// Files that the build put into the program: client/report/page/, and uPlot of page/uplot/.
#pragma once

#include <string_view>

namespace profd::report::page {

extern const std::string_view kStyle, kScript;
extern const std::string_view kChartStyle, kChartScript;

}  // namespace profd::report::page
