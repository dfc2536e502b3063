// What `analyze` and `report` have in common: words of a command line → what is to be analysed.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/analyze/analysis.h"

namespace profd::client {

// `verb`: for what errors begin with. Lists are separated by commas; "" = the default.
base::Result<analyze::Request> AnalyzeRequest(const std::string& verb,
                                              const std::vector<std::string>& directories,
                                              const std::string& rules, const std::string& settings,
                                              const std::string& jobs);

}  // namespace profd::client
