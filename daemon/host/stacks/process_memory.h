// What lies in the memory of a process that is looked at. Nothing in it is to be believed.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/unique_fd.h"

namespace profd::host {

// **Thread:** one that may wait: a page can be on a slow disk, or nobody's.
class ProcessMemory {
 public:
  ProcessMemory() = default;
  explicit ProcessMemory(pid_t pid) : pid_(pid) {}

  // How much of it could be read, from the front.
  size_t Read(uint64_t at, std::span<std::byte> to);
  template <typename T>
  std::optional<T> Get(uint64_t at) {
    T value;
    if (Read(at, std::as_writable_bytes(std::span(&value, 1))) != sizeof value) return std::nullopt;
    return value;
  }
  // Until it is read again; a process that executes another program has another memory.
  void Close() {
    fd_ = {};
    opened_ = false;
  }

 private:
  pid_t pid_ = 0;
  bool opened_ = false;  // or tried in vain
  base::UniqueFd fd_;
};

}  // namespace profd::host
