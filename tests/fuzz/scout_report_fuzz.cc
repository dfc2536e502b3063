// What a scout says: it has read foreign memory, so that profd believes nothing of it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "daemon/host/scouts/scout_texts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace profd::host;
  const auto report = ScoutReport::Of({reinterpret_cast<const char*>(data), size});
  if (!report) return 0;
  PROFD_CHECK(report->lines.names.size() + report->lines.samples.size() <= size);
  const auto again = ScoutReport::Of(report->Text());
  PROFD_CHECK(again && again->code == report->code && again->message == report->message);
  PROFD_CHECK(again->lines.samples == report->lines.samples && again->last == report->last);
  return 0;
}
