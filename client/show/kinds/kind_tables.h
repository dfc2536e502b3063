// The tables of docs/kinds.md.
#pragma once

#include <string>

namespace profd::client {

std::string KindTables();

}  // namespace profd::client
