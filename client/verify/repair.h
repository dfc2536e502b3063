// profctl repair: what profd does at its start with what a kill left open in its spool, for directories of
// --output, which it does not look for.
#pragma once

#include <string>

#include "base/status.h"
#include "format/mend/mend.h"

namespace profd::client {

// With the caller's rights, of a directory of the caller's own. `sealed` false: it was sealed before, and
// nothing has been changed. `remarks`: what in it could not be mended. kAborted: a profd that lives writes
// it, or somebody reads it.
base::Result<mend::Mended> Repair(const std::string& directory);

// What became of a directory of profd's that is not sealed, for people.
std::string WhyUnsealed(const std::string& directory);

}  // namespace profd::client
