#include "client/files/holes.h"

#include <unistd.h>

#include <algorithm>

namespace profd::client {

namespace {

// Shorter ones are read: they are what a power cut leaves in the middle of records.
constexpr uint64_t kLeastHole = 1u << 20;

}  // namespace

Holes::Ahead Holes::Look(int file, uint64_t at, uint64_t size, uint32_t unit) {
  if (at < written_to_) return {.bytes = written_to_ - at};
  const auto seek = [&](uint64_t from, int whence) {
    const off_t found = ::lseek(file, static_cast<off_t>(from), whence);
    return found < 0 ? size : std::min(static_cast<uint64_t>(found), size);
  };
  const uint64_t data = seek(at, SEEK_DATA);
  const uint64_t hole = (data - at) / unit * unit;
  if (hole < kLeastHole) written_to_ = std::max(seek(data, SEEK_HOLE), at + 1);
  seek(at, SEEK_SET);
  return hole < kLeastHole ? Ahead{.bytes = written_to_ - at} : Ahead{.bytes = hole, .is_hole = true};
}

}  // namespace profd::client
