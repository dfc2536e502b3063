// The file `aged` as a user may have left it: any bytes give entries or none, and an entry is read as it is
// written.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "format/mend/aged_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace profd::mend;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const AgedEntry& entry : ParseAgedLog(text)) {
    const auto written = WriteAgedEntry(entry);
    if (!written) continue;  // a name that profd would not have given
    const auto again = ParseAgedEntry(*written);
    PROFD_CHECK(again && again->path == entry.path && again->part == entry.part);
    PROFD_CHECK(again->aged.records == entry.aged.records && again->aged.to_ns == entry.aged.to_ns);
  }
  // The checksum keeps mutations away from what is behind it.
  AgedEntry entry;
  entry.path = std::string(text.substr(0, 64));
  entry.aged.slices = size;
  if (const auto written = WriteAgedEntry(entry)) {
    const auto again = ParseAgedEntry(*written);
    PROFD_CHECK(!again || again->aged.slices == size);
  }
  return 0;
}
