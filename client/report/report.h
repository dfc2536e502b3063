// `profctl report`: an analysis as one file of HTML that needs no network, no server and no other file.
#pragma once

#include <cstddef>
#include <string>

#include "client/analyze/analysis.h"

namespace profd::report {

struct Options {
  std::string title;               // "" = from the directories' names
  size_t most_bytes = 20'000'000;  // of the page; single events make way
  std::string compared;            // ComparedPart(): beside an earlier recording; "" = none was named
};

// The same input gives the same bytes. Texts of the job are escaped wherever they stand.
std::string Page(const analyze::Analysis& analysis, const Options& options);

}  // namespace profd::report
