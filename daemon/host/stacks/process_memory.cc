#include "daemon/host/stacks/process_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string>
#include <utility>

#include "base/clock.h"
#include "daemon/host/files/local_files.h"
#include "daemon/host/process/code_map.h"

namespace profd::host {

namespace {

constexpr uint64_t kPresent = uint64_t{1} << 63;  // of an entry of /proc/PID/pagemap
// So long what was found mapped where is taken to be there: a page that is not there yet is asked for once.
constexpr uint64_t kRangesLastNs = 20'000'000;

const uint64_t kPageBytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));

}  // namespace

ProcessMemory::ProcessMemory(pid_t pid)
    : pid_(pid),
      process_(::open(("/proc/" + std::to_string(pid)).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
  was_gone_ = !process_ && (errno == ENOENT || errno == ESRCH);
}

bool ProcessMemory::IsGone() const {
  return was_gone_ || (process_ && ::faccessat(process_.get(), "status", F_OK, 0) != 0);
}

void ProcessMemory::Open() {
  if (std::exchange(opened_, true) || !process_) return;
  memory_ = base::UniqueFd(::openat(process_.get(), "mem", O_RDONLY | O_CLOEXEC));
  pages_ = base::UniqueFd(::openat(process_.get(), "pagemap", O_RDONLY | O_CLOEXEC));
}

size_t ProcessMemory::Read(uint64_t at, std::span<std::byte> to) {
  Open();
  constexpr auto kLast = static_cast<uint64_t>(std::numeric_limits<off_t>::max());
  if (!memory_ || at > kLast || to.size() > kLast - at) return 0;
  size_t may = 0;
  while (may < to.size()) {
    const uint64_t page = (at + may) / kPageBytes * kPageBytes;
    if (!MayRead(page)) break;
    may = std::min<uint64_t>(to.size(), page + kPageBytes - at);
  }
  if (may == 0) return 0;
  const ssize_t got = ::pread(memory_.get(), to.data(), may, static_cast<off_t>(at));
  return got > 0 ? static_cast<size_t>(got) : 0;
}

bool ProcessMemory::MayRead(uint64_t page) { return IsResident(page) || ComesByItself(page); }

bool ProcessMemory::IsResident(uint64_t page) const {
  uint64_t entry = 0;
  const auto place = static_cast<off_t>(page / kPageBytes * sizeof entry);
  return pages_ && ::pread(pages_.get(), &entry, sizeof entry, place) == sizeof entry &&
         (entry & kPresent) != 0;
}

bool ProcessMemory::ComesByItself(uint64_t page) {
  if (base::MonotonicNs() - ranges_read_ns_ > kRangesLastNs) ReadRanges();
  const auto behind = std::ranges::upper_bound(ranges_, page, {}, &Range::begin);
  return behind != ranges_.begin() && page < behind[-1].end;
}

void ProcessMemory::ReadRanges() {
  ranges_.clear();
  ReadMappings(pid_, [this](const CodeMapping& mapping, const Module& module) {
    if (module.inode != 0 && !IsLocal(module.major, module.minor)) return;
    if (!ranges_.empty() && ranges_.back().end == mapping.begin) {
      ranges_.back().end = mapping.end;
    } else {
      ranges_.push_back({mapping.begin, mapping.end});
    }
  });
  ranges_read_ns_ = base::MonotonicNs();
}

}  // namespace profd::host
