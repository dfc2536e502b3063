// What a process has mapped where an ELF file should be. The first byte says how much of the others is asked
// for, the rest is the image.
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/status.h"
#include "daemon/host/stacks/elf_image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace profd::host;
  if (size == 0) return 0;
  static ProcessMemory memory(::getpid());
  // What lies behind it is always the same.
  std::vector<uint8_t> place(size + 8192);
  std::copy(data + 1, data + size, place.begin());
  const auto at = reinterpret_cast<uint64_t>(place.data());
  const auto image = ElfImage::Read(memory, at);
  if (!image) return 0;
  for (uint64_t asked : {uint64_t{0}, uint64_t{data[0]} << 4, uint64_t{0x1000}, UINT64_MAX}) {
    if (const auto address = image->AddressOf(asked)) (void)image->OffsetOf(*address);
    if (const auto offset = image->OffsetOf(asked)) (void)image->AddressOf(*offset);  // may wrap around
  }
  const auto all = image->FindAll(memory, at, "function");
  const auto one = image->Find(memory, at, "function");
  PROFD_CHECK(all.size() <= 8 && one.has_value() == !all.empty());
  return 0;
}
