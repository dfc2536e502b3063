// Call frames: the first byte says how many of the others are the CIE, the rest is an FDE. What is read of
// them is in order, and inside of the function.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "daemon/host/stacks/call_frames.h"
#include "daemon/host/stacks/unwinder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace profd::host;
  if (size == 0) return 0;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size)).subspan(1);
  const auto cie = bytes.first(std::min<size_t>(data[0], bytes.size()));
  const auto fde = bytes.subspan(cie.size());
  for (const UnwindMachine& machine : {kX86Machine, kArmMachine}) {
    const auto frames = ReadCallFrames(cie, fde, 0x1000, machine);
    if (!frames) continue;
    PROFD_CHECK(frames->begin < frames->end && !frames->rows.empty());
    PROFD_CHECK(frames->rows.front().begin == frames->begin);
    uint64_t before = frames->begin;
    for (const FrameRow& row : frames->rows) {
      PROFD_CHECK(row.begin >= before && row.begin < frames->end);
      before = row.begin;
    }
    PROFD_CHECK(frames->Find(frames->begin) != nullptr && frames->Find(frames->end) == nullptr);
    // On a stack of the same bytes, wherever it leads.
    const StackCopy stack{0x7000, fde};
    NativeStack found;
    Unwind(
        {.frame = 0x7010, .stack = 0x7000, .instruction = frames->begin, .returns = 0}, stack,
        [&](uint64_t address) {
          return CodeAt{true, 0, frames->Find(address)};
        },
        found);
    PROFD_CHECK(!found.frames.empty() && found.frames.size() <= kMaxNativeFrames);
  }
  return 0;
}
