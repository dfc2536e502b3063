// What a store answers: any bytes in. Names of a list lead nowhere but below the folder, and an error is one
// line. The same bytes as a list of what was merged: what is accepted is the same once more.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/status.h"
#include "client/lake/manifest.h"
#include "client/lake/s3/bucket.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace profd;
  const std::string given(reinterpret_cast<const char*>(data), size);
  PROFD_CHECK(lake::s3::ErrorIn(given).find('\n') == std::string::npos);
  for (const std::string prefix : {"", "lake/"}) {
    const auto listing = lake::s3::ListingOf("<ListBucketResult>" + given, prefix);
    PROFD_CHECK(listing.ok());
    for (const lake::s3::Object& object : listing->objects) {
      const auto path = (std::filesystem::path("/lake") / object.name).lexically_normal();
      PROFD_CHECK(path == std::filesystem::path("/lake/" + object.name));
    }
  }
  if (const auto manifest = lake::ManifestOf(given); manifest.ok()) {
    const auto again = lake::ManifestOf(lake::TextOf(*manifest));
    PROFD_CHECK(again.ok() && again->inputs.size() == manifest->inputs.size() &&
                again->rows == manifest->rows);
  }
  return 0;
}
