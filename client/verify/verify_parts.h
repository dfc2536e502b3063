// Parts of verify that need no file: what control files, counts and clocks must say. Each answer is a list of
// what is wrong.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/directory/manifest.h"

namespace profd::client {

// What the files of a stream hold.
struct FoundStream {
  std::optional<uint64_t> bytes = 0;  // without header lines; none: what is one is not known
  std::optional<uint64_t> records;    // none: the bytes do not tell
  uint64_t first_slice = 0, next_slice = 0;
  std::map<uint32_t, uint64_t> lane_records;
};
using FoundStreams = std::map<std::string, FoundStream>;  // by "folder/file"

// `name` as on disk: "info.json.0", "sample.json", "start_info" …
std::vector<std::string> CheckControlFile(std::string_view name, std::string_view text,
                                          std::optional<int> device);
// Of a sealed directory: the manifest's counts are those of the files. `own`: profd's folder in it.
std::vector<std::string> CheckCounts(const format::Manifest& manifest, const std::string& own,
                                     const FoundStreams& found);
// Per device: clocks go forward, and no faster or slower than a clock can.
std::vector<std::string> CheckClocks(const std::vector<format::ManifestClock>& clocks);

}  // namespace profd::client
