// Small files that profd keeps for itself in the spool, below <spool>/.profd (0700, profd's own).
#pragma once

#include <map>
#include <string>

#include "base/status.h"

namespace profd::store {

// They block: not on ctl. `name` is a file name.
base::Status WriteNote(const std::string& spool, const std::string& name, const std::string& content);
void RemoveNote(const std::string& spool, const std::string& name);
// By name; what cannot be read, or is larger than 1 MiB, is left out.
std::map<std::string, std::string> ReadNotes(const std::string& spool);

}  // namespace profd::store
