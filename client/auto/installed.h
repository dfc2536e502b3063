// Writes the files of a way, remembers them, and takes them away without a trace: `root`/etc/profd/auto.list
// has each file and folder that was made, with the checksum of what was written. A file that somebody has
// changed since is his, and stays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/auto/ways.h"

namespace profd::client {

enum class AutoState : uint8_t { kThere, kChanged, kMissing };

struct AutoInstalled {
  std::string way;
  std::string path;  // without root
  AutoState state = AutoState::kThere;
};

// Files that are remembered; [] where nothing is on.
base::Result<std::vector<AutoInstalled>> AutoInstalledFiles(const std::string& root);

// All of `files`, or none and why not. One that is there and is not remembered is somebody else's: nothing is
// written.
base::Status InstallAuto(const std::string& root, const std::string& way, const std::vector<AutoFile>& files);

// The way's files and the folders that were made for them, as far as nothing else is in them. Returns what
// was found: what has been changed stays, and is remembered no longer.
base::Result<std::vector<AutoInstalled>> RemoveAuto(const std::string& root, const std::string& way);

}  // namespace profd::client
