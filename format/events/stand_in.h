// The launch that stands in for those nobody tells profd of. The vendor's parser makes no task of a 910B's
// log unless the host knows of one launch at least (docs/formats.md, "Task logs without the host's side").
// This one is of a task that no log can have: it joins with none and is shown nowhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "format/directory/manifest.h"

namespace profd::format {

struct StandInFile {
  std::string slice;  // below host/data
  std::string content;
};
// A launch for each of the devices, at `stamp` (T4), and the names that it refers to.
std::vector<StandInFile> StandInLaunches(const std::vector<uint32_t>& devices, uint64_t stamp);
// Whether the stream of host/data, in a directory of profd's, has nothing but that: then its manifest does
// not name it, nor was a session to take what CANN's modules report whose profd was killed before it knew.
bool IsStandIn(std::string_view stream, const Manifest& manifest);
bool IsStandIn(std::string_view stream, bool is_in_manifest);

}  // namespace profd::format
