// CRC-32C (Castagnoli), by the processor's own instruction where it has one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace profd::base {

// `crc` is that of the bytes before, 0 at the start.
uint32_t Crc32c(const void* data, size_t bytes, uint32_t crc = 0);
// The same by tables: what a processor without the instruction does.
uint32_t Crc32cByTable(const void* data, size_t bytes, uint32_t crc = 0);

}  // namespace profd::base
