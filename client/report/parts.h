// The parts of the page that are text: final HTML, complete without any script.
#pragma once

#include <string>

#include "client/report/heat.h"
#include "client/report/view.h"

namespace profd::report {

// What a step takes and could take, and what to do first.
std::string HeadPart(const View& view);
// Each with its cost, what to do, how sure that is, and its evidence folded below.
std::string FindingsPart(const View& view);
// Transfers by group and class; who waits for whom; rates of pairs.
std::string GroupsPart(const View& view, const Blame& blame);
// What was not examined, what is wrong with the data, settings.
std::string DataPart(const View& view, const std::string& kept);

// "<span class="no f1">1</span>".
std::string Badge(size_t finding);
// "16 ranks on 2 nodes · steps 1–19".
std::string JobLine(const View& view);

}  // namespace profd::report
