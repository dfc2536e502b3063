// What is missing of ranks, by what the others have: a table that is empty, half of a stream that is lost.
#pragma once

#include "client/analyze/model/columns.h"

namespace profd::analyze {

// Makes Rank::gaps, which readers have filled by their own rows, a matter of comparison: what no rank has is
// not missing. Counts collectives by those of the others. A note for each rank with a gap.
void FindGaps(Job& job);
// Of steps alone, of which must be known before ranks share theirs.
void FindStepGaps(Job& job);

}  // namespace profd::analyze
