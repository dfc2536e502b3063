// Decoders of records of one size.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "format/decode/decoder.h"
#include "format/records/packed.h"

namespace profd::format {

// Calls `record` for each that is in `whole`.
template <typename Record, typename Visit>
void EachRecord(std::span<const std::byte> whole, Visit visit) {
  for (; whole.size() >= sizeof(Record); whole = whole.subspan(sizeof(Record)))
    visit(Load<Record>(whole.data()));
}

// How long it is since the stamp before. **Thread:** one.
class Elapsed {
 public:
  // ns; nullopt: for the first, and after Forget. 0: the stamp is not behind the one before.
  std::optional<uint64_t> Next(uint64_t ns) {
    const std::optional<uint64_t> before = std::exchange(before_, ns);
    if (!before) return std::nullopt;
    return ns > *before ? ns - *before : 0;
  }
  void Forget() { before_.reset(); }

 private:
  std::optional<uint64_t> before_;
};

// Per second, of what was counted in a period. NaN: nobody knows how long the period was.
inline double PerSecond(double counted, std::optional<uint64_t> ns) {
  return ns && *ns > 0 ? counted * 1e9 / static_cast<double>(*ns) : kNoValue;
}

// A 32-bit stamp made 64-bit again: it wraps. **Thread:** one.
class Unwrapped {
 public:
  uint64_t Next(uint32_t stamp) {
    if (stamp < low_ && low_ - stamp > UINT32_MAX / 2) high_ += uint64_t{1} << 32;
    low_ = stamp;
    return high_ + stamp;
  }

 private:
  uint32_t low_ = 0;
  uint64_t high_ = 0;
};

}  // namespace profd::format
