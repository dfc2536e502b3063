#include "daemon/host/stacks/process_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <limits>
#include <string>
#include <utility>

namespace profd::host {

size_t ProcessMemory::Read(uint64_t at, std::span<std::byte> to) {
  if (!std::exchange(opened_, true) && pid_ > 0) {
    fd_ = base::UniqueFd(::open(("/proc/" + std::to_string(pid_) + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  }
  if (!fd_ || at > static_cast<uint64_t>(std::numeric_limits<off_t>::max())) return 0;
  const ssize_t got = ::pread(fd_.get(), to.data(), to.size(), static_cast<off_t>(at));
  return got > 0 ? static_cast<size_t>(got) : 0;
}

}  // namespace profd::host
