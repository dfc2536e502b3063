// Framing: the first byte is the chip, the first line the file kind, the rest a stream of it. Nothing may
// read beyond a record, and a plausible line holds nothing but numbers.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "format/decode/framing.h"

namespace profd::format {

namespace {

void Records(const StreamFormat& format, std::string_view stream) {
  if (format.plausible == nullptr) return;
  const auto* bytes = reinterpret_cast<const std::byte*>(stream.data());
  for (size_t at = 0; at + format.record_bytes <= stream.size(); at += format.record_bytes) {
    const std::vector<std::byte> exact(bytes + at, bytes + at + format.record_bytes);
    const uint32_t plausible = format.plausible(exact.data(), 1, format.record_bytes);
    PROFD_CHECK(
        plausible ==
        format.plausible(bytes + at, 1, format.record_bytes));  // alignment and neighbours do not matter
  }
}

void Lines(const StreamFormat& format, std::string_view stream) {
  while (!stream.empty()) {
    const std::string_view line = stream.substr(0, stream.find('\n'));
    stream.remove_prefix(std::min(line.size() + 1, stream.size()));
    if (!PlausibleLine(format, line) || format.max_columns == 0) continue;
    PROFD_CHECK(line.find_first_not_of("0123456789.:% ") == std::string_view::npos);
    PROFD_CHECK(!IsHeaderLine(line));
  }
}

}  // namespace

}  // namespace profd::format

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace profd::format;
  if (size == 0) return 0;
  std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  const std::string_view file = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(file.size() + 1, text.size()));
  const StreamFormat* format = FindStreamFormat(file, Chip{data[0]});
  if (format == nullptr) return 0;
  if (format->framing == Framing::kFixed) Records(*format, text);
  if (format->framing == Framing::kLines) Lines(*format, text);
  return 0;
}
