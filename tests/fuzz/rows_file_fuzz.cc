// Files of rows of the always-on summary: any bytes in, with a last line that fits them; what is accepted
// names a node, an instance and a sequence that may stand in a name, and the same bytes without their end are
// refused.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/crc32c.h"
#include "base/status.h"
#include "client/lake/ship/rows_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace profd;
  const std::string_view given(reinterpret_cast<const char*>(data), size);
  std::string text(given.substr(0, given.rfind('\n') + 1));
  char last[128];
  std::snprintf(last, sizeof last, "# rows=1 first_ns=1700000000000000000 last_ns=0 crc32c=%08x\n",
                base::Crc32c(text.data(), text.size()));
  text += last;
  for (const std::string name : {"steps_1a2b3c4d_0.rows", "loss_1a2b3c4d_7.rows"}) {
    const auto file = lake::ParseRowsFile("/rows/" + name, text);
    if (!file.ok()) {
      PROFD_CHECK(!file.status().message().empty());
      continue;
    }
    PROFD_CHECK(lake::IsNode(file->node));
    PROFD_CHECK(file->instance == "1a2b3c4d");
    PROFD_CHECK(file->name == name && text.find(file->body) != std::string::npos);
    PROFD_CHECK(
        !lake::ParseRowsFile("/rows/" + name, text.substr(0, text.size() - sizeof "crc32c=00000000")).ok());
  }
  return 0;
}
