// A finished table of comma-separated values as JSON: a list of objects, a key for each column.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace profd::client {

// Writes `json` and removes `csv`. Cells that are numbers become numbers; moments, which have a tab behind
// them, stay texts, for readers that keep numbers as doubles; empty cells become null. `bytes` gets the size.
base::Status TurnIntoJson(const std::string& csv, const std::string& json, uint64_t* bytes);

}  // namespace profd::client
