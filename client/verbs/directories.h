// The directories that DIR of a command line means.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/node/context.h"

namespace profd::client {

// The PROF directories at and below what was given as DIR. Where that is a session instead, the error says
// which is its directory.
base::Result<std::vector<std::string>> FindDirectories(const Context& context, const std::string& given,
                                                       bool only_right_in_it = false);

// One of those, and the part of it that was meant.
struct Found {
  std::string directory;
  std::optional<int> side;  // PROF_…/device_<N> was given, or PROF_…/host (-1); else all of it
};
base::Result<std::vector<Found>> FindSides(const Context& context, const std::string& given,
                                           bool only_right_in_it = false);

}  // namespace profd::client
