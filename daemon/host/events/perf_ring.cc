#include "daemon/host/events/perf_ring.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>

#include "daemon/base/rights.h"

namespace profd::host {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

namespace {

size_t PageBytes() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

Status Refusal(const std::string& what) {
  const int error = errno;
  if (error == EACCES || error == EPERM) {
    return {Code::kPermissionDenied,
            what +
                ": the kernel refuses; profd needs CAP_PERFMON, or CAP_SYS_ADMIN before Linux 5.8 and where "
                "kernel.perf_event_paranoid is above 2, see docs/operations.md"};
  }
  if (error == ESRCH) return {Code::kNotFound, what + ": the thread has gone"};
  if (error == ENOENT) return {Code::kUnimplemented, what + ": this machine has no such event"};
  if (error == ENOSYS) return {Code::kUnimplemented, what + ": this kernel has no perf events"};
  if (error == EMFILE) return {Code::kResourceExhausted, what + ": no descriptor is left, raise LimitNOFILE"};
  return Status::FromErrno(what, error);
}

}  // namespace

Result<UniqueFd> OpenPerfEvent(const perf_event_attr& attr, pid_t pid, int cpu) {
  const auto open = [&] {
    const base::PerfRights rights;
    // The C library has no call for it.
    return static_cast<int>(::syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC));
  };
  const int fd = open();
  if (fd < 0) return Refusal("open a perf event");
  return UniqueFd(fd);
}

Result<PerfRing> PerfRing::Open(const perf_event_attr& attr, pid_t pid, int cpu, size_t bytes) {
  PROFD_ASSIGN_OR_RETURN(UniqueFd fd, OpenPerfEvent(attr, pid, cpu));
  void* map = ::mmap(nullptr, PageBytes() + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (map == MAP_FAILED) {
    if (errno == EPERM) {
      return Status(Code::kResourceExhausted,
                    "map the ring of a perf event: the kernel's limit of locked memory is reached; end other "
                    "profiles, or raise kernel.perf_event_mlock_kb or LimitMEMLOCK");
    }
    return Status::FromErrno("map the ring of a perf event");
  }
  return PerfRing(std::move(fd), static_cast<std::byte*>(map), bytes);
}

PerfRing::~PerfRing() {
  if (map_ != nullptr) ::munmap(map_, PageBytes() + bytes_);
}

void EnablePerfEvent(int fd) { ::ioctl(fd, PERF_EVENT_IOC_ENABLE, 0); }
void DisablePerfEvent(int fd) { ::ioctl(fd, PERF_EVENT_IOC_DISABLE, 0); }

void PerfRing::Enable() { EnablePerfEvent(fd_.get()); }
void PerfRing::Disable() { DisablePerfEvent(fd_.get()); }

Status PerfRing::Join(int fd) {
  if (::ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, fd_.get()) != 0)
    return Status::FromErrno("lead a perf event into a ring");
  return Status::Ok();
}

void PerfRing::Drain(const std::function<void(PerfRecord)>& take) {
  auto* page = reinterpret_cast<perf_event_mmap_page*>(map_);
  const std::byte* ring = map_ + PageBytes();
  const uint64_t head = std::atomic_ref(page->data_head).load(std::memory_order_acquire);
  uint64_t tail = page->data_tail;
  while (head - tail >= sizeof(perf_event_header)) {
    const size_t at = tail & (bytes_ - 1);
    perf_event_header header;  // 8 bytes on an 8-byte edge: never split
    std::memcpy(&header, ring + at, sizeof header);
    if (header.size < sizeof header || header.size > head - tail) break;
    if (at + header.size <= bytes_) {
      take({ring + at, header.size});
    } else {
      split_.assign(ring + at, ring + bytes_);
      split_.insert(split_.end(), ring, ring + (header.size - (bytes_ - at)));
      take(split_);
    }
    tail += header.size;
  }
  std::atomic_ref(page->data_tail).store(head, std::memory_order_release);
}

std::vector<int> OnlineCpus() {
  std::vector<int> cpus;
  const UniqueFd fd(::open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC));
  char text[4096];
  const ssize_t got = fd ? ::read(fd.get(), text, sizeof text) : -1;
  // "0-3,8,10-11"
  const char* at = text;
  const char* end = text + (got > 0 ? got : 0);
  while (at < end) {
    int first = 0;
    auto parsed = std::from_chars(at, end, first);
    if (parsed.ec != std::errc()) break;
    int last = first;
    if (parsed.ptr < end && *parsed.ptr == '-') parsed = std::from_chars(parsed.ptr + 1, end, last);
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    at = parsed.ptr + 1;
  }
  // In a container without /sys. libc looks elsewhere then, and knows of one at least.
  if (cpus.empty()) {
    for (int cpu = 0; cpu < ::get_nprocs(); ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace profd::host
