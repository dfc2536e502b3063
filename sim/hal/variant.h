// What differs between the builds of the library.
#pragma once

#include <cstdint>

namespace profd::sim {

// Answered by halGetAPIVersion unless the configuration says otherwise.
extern const uint32_t kLibraryApiVersion;

}  // namespace profd::sim
