// README.txt beside timelines and tables: what each of them is.
#pragma once

#include <string>

#include "base/status.h"

namespace profd::client {

// Of the files in `folder` that carry this stamp; where there are none, none is written.
base::Status WriteReadme(const std::string& folder, const std::string& stamp);

}  // namespace profd::client
