// Block files: whatever is in one, the reader goes through it once, and every block it finds is whole.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/status.h"
#include "format/events/agent_blocks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace profd::format;
  BlockReader reader({reinterpret_cast<const std::byte*>(data), size});
  Block block;
  uint64_t of_blocks = 0;
  while (reader.Next(block)) {
    of_blocks += block.header.header_bytes + block.payload.size();
    PROFD_CHECK(block.payload.size() == block.header.bytes);
    PROFD_CHECK(reader.offset() <= size);
    // Sealed again it is the same.
    std::vector<std::byte> copy(block.payload.data() - block.header.header_bytes,
                                block.payload.data() + block.payload.size());
    SealBlock(copy.data());
    PROFD_CHECK(std::memcmp(copy.data(), block.payload.data() - block.header.header_bytes, copy.size()) == 0);
    for (size_t i = 0; i < kAgentKinds; ++i) AgentKindName(static_cast<AgentKind>(block.header.type + i));
  }
  PROFD_CHECK(of_blocks + reader.skipped_bytes() == size);
  return 0;
}
