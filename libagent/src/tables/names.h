// The process's names: interned once, known to every region it ever attaches.
#pragma once

#include <cstdint>
#include <string_view>

#include "libagent/abi/lane.h"

namespace profd::agent {

// What `text` up to its end or the limit looks like as a name; empty for nullptr.
std::string_view NameText(const char* text);

// Reference of the entry (abi::NameEntry), made when it is new. 0: empty text, no room, or called by a signal
// handler in the middle of itself. **Thread:** any.
uint32_t Define(abi::NameType type, uint16_t domain, uint32_t number, std::string_view text);

inline uint32_t Intern(const char* text) { return Define(abi::kNameText, 0, 0, NameText(text)); }

// Text behind a reference that Define gave, for the life of the process.
const char* TextOf(uint32_t reference);

// Says what the calling thread is called.
void NameThread(const char* text);

// From now on every name is in this region's table too; nullptr: in none. **Thread:** any.
void ShareNames(abi::RegionHeader* region, char* table, uint32_t table_bytes);

// In a forked child, where the thread that was defining a name is gone.
void ResetNamesAfterFork();

}  // namespace profd::agent
