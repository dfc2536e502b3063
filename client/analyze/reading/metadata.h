// What a framework says of a job, as its ranks have it.
#pragma once

#include "client/analyze/reading/rank_builder.h"
#include "client/export/read/metadata.h"

namespace profd::analyze {

// To all ranks of a source. What is no JSON object and should be is noted.
void TakeMetadata(const client::Metadata& metadata, RankBuilder& builder);

}  // namespace profd::analyze
