// Whether a JSON text that a user may have written is worth parsing.
#pragma once

#include <cstddef>
#include <string_view>

namespace profd::format {

// At most so many values, in objects and lists at most so deep. Says nothing of a text that is no JSON.
bool IsBounded(std::string_view json, size_t most_values, size_t most_depth);

}  // namespace profd::format
