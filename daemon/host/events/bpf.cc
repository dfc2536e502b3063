#include "daemon/host/events/bpf.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <memory>

#include "daemon/host/process/heirlooms.h"

namespace profd::host {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

namespace {

constexpr ino_t kFirstPidNamespace = 0xEFFFFFFC;

size_t PageBytes() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

// The C library has no call for it.
Result<UniqueFd> Bpf(bpf_cmd command, bpf_attr& attr, const char* what) {
  const auto fd = static_cast<int>(::syscall(SYS_bpf, command, &attr, sizeof attr));
  if (fd < 0) return Status::FromErrno(what);
  return UniqueFd(fd);
}

std::byte* MapPages(size_t bytes, int rights, int fd, size_t at) {
  void* mapped = ::mmap(nullptr, bytes, rights, MAP_SHARED, fd, static_cast<off_t>(at));
  return mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
}

bool LockByte(int fd, size_t at, short how) {
  struct flock lock {};
  lock.l_type = how;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(at);
  lock.l_len = 1;
  return ::fcntl(fd, F_SETLK, &lock) == 0;
}

}  // namespace

Result<UniqueFd> bpf::MakeMap(bpf_map_type type, uint32_t key, uint32_t value, uint32_t entries,
                              uint32_t flags) {
  bpf_attr attr{};
  attr.map_type = type;
  attr.key_size = key;
  attr.value_size = value;
  attr.max_entries = entries;
  attr.map_flags = flags;
  return Bpf(BPF_MAP_CREATE, attr, "make a map for a program of the kernel's");
}

Result<UniqueFd> bpf::LoadProgram(bpf_prog_type type, std::span<const bpf_insn> program,
                                  const char* license) {
  bpf_attr attr{};
  attr.prog_type = type;
  attr.insns = reinterpret_cast<uintptr_t>(program.data());
  attr.insn_cnt = static_cast<uint32_t>(program.size());
  attr.license = reinterpret_cast<uintptr_t>(license);
  return Bpf(BPF_PROG_LOAD, attr, "load a program into the kernel");
}

Result<UniqueFd> BpfRing::Make(uint32_t bytes) { return bpf::MakeMap(BPF_MAP_TYPE_RINGBUF, 0, 0, bytes, 0); }

Result<BpfRing> BpfRing::Map(int fd, size_t bytes) {
  const size_t page = PageBytes();
  std::byte* consumer = MapPages(page, PROT_READ | PROT_WRITE, fd, 0);
  std::byte* producer = MapPages(page + 2 * bytes, PROT_READ, fd, page);
  BpfRing ring(bytes, consumer, producer);
  if (consumer == nullptr || producer == nullptr)
    return Status::FromErrno("map the ring of a program of the kernel's");
  return ring;
}

BpfRing::~BpfRing() {
  if (consumer_ != nullptr) ::munmap(consumer_, PageBytes());
  if (producer_ != nullptr) ::munmap(producer_, PageBytes() + 2 * bytes_);
}

void BpfRing::Drain(const std::function<void(std::span<const std::byte>)>& take) {
  auto* consumer = reinterpret_cast<unsigned long*>(consumer_);
  auto* producer = reinterpret_cast<unsigned long*>(producer_);
  const std::byte* ring = producer_ + PageBytes();
  const unsigned long end = std::atomic_ref(*producer).load(std::memory_order_acquire);
  unsigned long at = *consumer;
  while (at < end) {
    const std::byte* record = ring + (at & (bytes_ - 1));
    auto* header = reinterpret_cast<uint32_t*>(const_cast<std::byte*>(record));
    const uint32_t length = std::atomic_ref(*header).load(std::memory_order_acquire);
    if ((length & BPF_RINGBUF_BUSY_BIT) != 0) break;  // it is being written
    const uint32_t bytes = length & ~BPF_RINGBUF_DISCARD_BIT;
    if ((length & BPF_RINGBUF_DISCARD_BIT) == 0) take({record + BPF_RINGBUF_HDR_SZ, bytes});
    at += (bytes + BPF_RINGBUF_HDR_SZ + 7) & ~uint64_t{7};
  }
  std::atomic_ref(*consumer).store(at, std::memory_order_release);
}

Status BpfSlots::Prepare(const std::string& name) {
  PROFD_ASSIGN_OR_RETURN(taken_, Heirlooms::File(name, [&name]() -> Result<UniqueFd> {
                           UniqueFd made(::memfd_create(("profd-" + name).c_str(), MFD_CLOEXEC));
                           if (!made) return Status::FromErrno("make a list of who has " + name);
                           return made;
                         }));
  return Status::Ok();
}

// The kernel unlocks it when that process has gone.
bool BpfSlots::Lock(size_t slot) const { return LockByte(taken_.get(), slot, F_WRLCK); }
void BpfSlots::Unlock(size_t slot) const { LockByte(taken_.get(), slot, F_UNLCK); }

Status CheckFirstPidNamespace() {
  struct stat ours {};
  if (::stat("/proc/self/ns/pid", &ours) != 0 || ours.st_ino != kFirstPidNamespace)
    return {Code::kFailedPrecondition, "profd has to run in the pid namespace of the node (hostPID)"};
  return Status::Ok();
}

}  // namespace profd::host
