// Entries of the file `aged` of profd's own folder, which tells how much of a stream has aged before its
// slice goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/directory/manifest.h"

namespace profd::mend {

// Of one stream; two streams may share a file, `part` counts them.
struct AgedEntry {
  std::string path;  // folder/file
  uint32_t part = 0;
  format::ManifestAged aged;
};

inline constexpr char kAgedLog[] = "aged";
inline constexpr size_t kAgedEntryBytes = 256;

// One line of text, blanks, a checksum: kAgedEntryBytes. None: it does not fit, or is no entry.
std::optional<std::string> WriteAgedEntry(const AgedEntry& entry);
std::optional<AgedEntry> ParseAgedEntry(std::string_view text);
// Entries that are none are left out.
std::vector<AgedEntry> ParseAgedLog(std::string_view text);

}  // namespace profd::mend
