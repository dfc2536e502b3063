// What differs between the builds of libmspti.so.
#pragma once

namespace profd::sim::mspti {

// Before 2026-02: kinds 0…9, no code 6, and no devices unless it is preloaded.
extern const bool kOldLibrary;

}  // namespace profd::sim::mspti
