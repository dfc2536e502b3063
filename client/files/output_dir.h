// --output: opened with the caller's own rights and handed to profd as a descriptor, which therefore never
// resolves a path that a user controls.
#pragma once

#include <string>

#include "base/status.h"
#include "base/unique_fd.h"

namespace profd::client {

struct OutputDir {
  std::string path;  // absolute
  base::UniqueFd fd;
  base::UniqueFd above;  // where it lies
  bool created = false;
};

// Creates the last component (0750) when only that is missing.
base::Result<OutputDir> OpenOutputDir(const std::string& text);

// After a start that failed: removes the directory if OpenOutputDir made it and it is empty.
void DropOutputDir(const OutputDir& dir);

}  // namespace profd::client
