// The directories that DIR of a command line means: that one, those below it, or those of a session.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/node/context.h"

namespace profd::client {

// What was given, and in the place of a session's id or name its directories. An error: one is neither.
base::Result<std::vector<std::string>> WithSessions(const Context& context,
                                                    const std::vector<std::string>& given);

// The PROF directories at and below what was given as DIR, or of the session that was given.
base::Result<std::vector<std::string>> FindDirectories(const Context& context, const std::string& given,
                                                       bool only_right_in_it = false);

// One of those, and the part of it that was meant.
struct Found {
  std::string directory;
  std::optional<int> side;    // PROF_…/device_<N> was given, or PROF_…/host (-1); else all of it
  bool of_session = false;    // its session was given
  bool is_framework = false;  // an *_ascend_pt folder (export)
};
base::Result<std::vector<Found>> FindSides(const Context& context, const std::string& given,
                                           bool only_right_in_it = false);

}  // namespace profd::client
