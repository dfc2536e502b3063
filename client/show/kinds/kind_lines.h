// Kinds of a session as lines of a table: units for which the same is true are one.
#pragma once

#include <string>
#include <vector>

#include "profd/v1/session.pb.h"

namespace profd::client {

struct KindLine {
  v1::KindState sum;  // of all its units
  std::vector<std::string> units;
};

// Failed ones first, then those that lost something, then those that are not there yet. `folds`: else each
// kind is a line of its own.
std::vector<KindLine> KindLines(const std::vector<const v1::KindState*>& kinds, bool folds);

}  // namespace profd::client
