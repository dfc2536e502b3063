// The list of verbs.
#pragma once

#include <vector>

#include "client/verbs/verb.h"

namespace profd::client {

const std::vector<Verb>& AllVerbs();

}  // namespace profd::client
