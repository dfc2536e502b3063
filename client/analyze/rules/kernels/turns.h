// Ranks of which now this one and now that one is late.
#pragma once

#include <cstdint>
#include <vector>

#include "client/analyze/rules/rules.h"

namespace profd::analyze {

// Ranks that are late in turn, another one in each step, have one cause: where many do it is one finding, in
// place of those in `all`.
void JoinTurns(const Context& context, std::vector<Late>& all, std::vector<Finding>& findings);

// Whether what the ranks compute differs so much in each step, and every time otherwise, that who is late is
// chance; that is a finding. `same`: kernels of one type and shape differ, too, not only their shapes.
bool FindUneven(const Context& context, const std::vector<uint32_t>& peers, bool same,
                std::vector<Finding>& findings);
// The same ranks against each other over all steps: who has more on average than chance gives. `values`: as
// of ExcessOf(), `middle`: the usual mean of them.
Excess ExcessOfAll(const Context& context, const std::vector<double>& values, double noise, double middle);

}  // namespace profd::analyze
