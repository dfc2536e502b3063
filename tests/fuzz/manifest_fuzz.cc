// manifest.json: any bytes in; what is accepted must come out the same when written and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "format/directory/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace profd::format;
  const auto manifest = ParseManifest({reinterpret_cast<const char*>(data), size});
  if (!manifest.ok()) {
    PROFD_CHECK(!manifest.status().message().empty());
    return 0;
  }
  const std::string written = WriteManifest(*manifest);
  const auto again = ParseManifest(written);
  PROFD_CHECK(again.ok());
  PROFD_CHECK(WriteManifest(*again) == written);
  return 0;
}
