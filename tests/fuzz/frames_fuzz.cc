// The heads of HTTP/2 frames are the same however the bytes are cut, and a frame that may not pass stays.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "daemon/auth/door/frame_scan.h"

namespace {

using profd::auth::Frame;
using profd::auth::FrameScan;
using Seen = std::vector<std::tuple<uint32_t, uint8_t, uint8_t, uint32_t>>;

}  // namespace

// First byte: how long the pieces are, and which frames have to wait once.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  Seen whole;
  FrameScan all(FrameScan::kClientPreface);
  PROFD_CHECK(all.Pass(bytes, [&](const Frame& frame) {
    whole.emplace_back(frame.length, frame.type, frame.flags, frame.stream);
    PROFD_CHECK(frame.length < 1U << 24 && frame.stream < 1U << 31);
    return true;
  }) == bytes.size());

  Seen cut;
  FrameScan pieces(FrameScan::kClientPreface);
  const size_t piece = 1 + (data[0] & 0x1F);
  const size_t every = 1 + (data[0] >> 5);
  size_t asked = 0;
  for (size_t at = 0; at < bytes.size();) {
    bool waits = false;
    const std::string_view part = bytes.substr(at, piece);
    const size_t passed = pieces.Pass(part, [&](const Frame& frame) {
      waits = ++asked % every == 0 && every > 1;
      if (!waits) cut.emplace_back(frame.length, frame.type, frame.flags, frame.stream);
      return !waits;
    });
    PROFD_CHECK(passed <= part.size() && (passed == part.size() || waits));
    at += passed;
  }
  PROFD_CHECK(cut == whole);
  return 0;
}
