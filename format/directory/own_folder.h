// The folder of a PROF directory that holds what the vendor's layout has no place for: manifest, pin, what
// processes recorded themselves, CPU profiles. The vendor's parser looks into every folder but those whose
// names it skips, and stops at one that it doesn't know (docs/formats.md), so ours has a name that it skips.
#pragma once

#include <string>
#include <string_view>

namespace profd::format {

inline constexpr char kOwnFolder[] = ".profiler";
// Its name in directories of an older profd: read, and written where it is, but never made.
inline constexpr char kFormerOwnFolder[] = "profd";
inline constexpr char kManifestFile[] = "manifest.json";
// Of the manifest, below a new PROF directory.
std::string ManifestPath();

inline bool IsOwnFolder(std::string_view name) { return name == kOwnFolder || name == kFormerOwnFolder; }
// The name of the folder in the PROF directory that is open as `dir`; kOwnFolder when it has none.
std::string OwnFolderIn(int dir);

}  // namespace profd::format
