// What a job's framework says of the job itself, as the sizes of its parallel groups: profiler_metadata.json.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/export/read/capture.h"
#include "client/export/read/report.h"

namespace profd::client {

inline constexpr char kMetadataFile[] = "profiler_metadata.json", kParallelGroups[] = "parallel_group_info",
                      kEnvironment[] = "ENV_VARIABLES";

// Names and their values: JSON as Python writes it, which is what the vendor's analysers compare.
using Metadata = std::vector<std::pair<std::string, std::string>>;

// Whether values in it lie in each other no deeper than any framework writes them: whoever walks through it
// does so by recursion.
bool IsShallow(std::string_view json);

// Of a folder; none: it has no such file, or none that can be used, which goes to `report`.
Metadata ReadMetadata(int dir, Report& report);
// Of a PROF directory: in it, else beside it, if it is of the directory's owner, the caller or root. What is
// wrong with it is noted: no data of the recording are lost.
Metadata MetadataOf(const Capture& capture, Report& report);

}  // namespace profd::client
