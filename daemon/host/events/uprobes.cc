#include "daemon/host/events/uprobes.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "daemon/host/events/perf_ring.h"
#include "daemon/host/process/heirlooms.h"

namespace profd::host {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

namespace {

constexpr size_t kSlots = 4;
constexpr size_t kRingBytes = 256 << 10;  // 20 ms of 270 k hits a second
constexpr ino_t kFirstPidNamespace = 0xEFFFFFFC;

// What the programs read of the thread's registers, and how much deeper the stack is when a function has been
// entered than when it has returned.
#if defined(__aarch64__)
constexpr int16_t kAt = offsetof(bpf_user_pt_regs_t, pc);
constexpr int16_t kStack = offsetof(bpf_user_pt_regs_t, sp);
constexpr int16_t kResult = offsetof(bpf_user_pt_regs_t, regs);
constexpr int32_t kReturnAddressBytes = 0;
#else
constexpr int16_t kAt = offsetof(bpf_user_pt_regs_t, rip);
constexpr int16_t kStack = offsetof(bpf_user_pt_regs_t, rsp);
constexpr int16_t kResult = offsetof(bpf_user_pt_regs_t, rax);
constexpr int32_t kReturnAddressBytes = 8;
#endif

constexpr int32_t kLostReturnsAt = 8;  // in the map that counts; what has begun is counted in front of it

size_t PageBytes() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

// The C library has no call for it.
Result<UniqueFd> Bpf(bpf_cmd command, bpf_attr& attr, const char* what) {
  const auto fd = static_cast<int>(::syscall(SYS_bpf, command, &attr, sizeof attr));
  if (fd < 0) return Status::FromErrno(what);
  return UniqueFd(fd);
}

Result<UniqueFd> MakeMap(bpf_map_type type, uint32_t key, uint32_t value, uint32_t entries, uint32_t flags) {
  bpf_attr attr{};
  attr.map_type = type;
  attr.key_size = key;
  attr.value_size = value;
  attr.max_entries = entries;
  attr.map_flags = flags;
  return Bpf(BPF_MAP_CREATE, attr, "make a ring for breakpoints");
}

// By hand: it is some twenty instructions, and libbpf would take a compiler for BPF to build them, and bring
// libelf and zlib into profd, which runs as root.
constexpr bpf_insn Op(uint8_t code, uint8_t to, uint8_t from, int16_t at, int32_t number) {
  return {.code = code, .dst_reg = to, .src_reg = from, .off = at, .imm = number};
}
constexpr bpf_insn Call(bpf_func_id helper) { return Op(BPF_JMP | BPF_CALL, 0, 0, 0, helper); }
constexpr bpf_insn Load(uint8_t to, uint8_t base, int16_t at) {
  return Op(BPF_LDX | BPF_MEM | BPF_DW, to, base, at, 0);
}
constexpr bpf_insn Store(uint8_t base, int16_t at, uint8_t from) {
  return Op(BPF_STX | BPF_MEM | BPF_DW, base, from, at, 0);
}
constexpr bpf_insn Copy(uint8_t to, uint8_t from) { return Op(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
constexpr bpf_insn Set(uint8_t to, int32_t number) {
  return Op(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, number);
}
constexpr bpf_insn Add(uint8_t to, int32_t number) {
  return Op(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, number);
}

// The program's stack ends with the hit that it makes; relative to the stack's end.
constexpr int16_t InHit(size_t at) {
  return static_cast<int16_t>(static_cast<int>(at) - static_cast<int>(sizeof(UprobeHit)));
}

// Writes a UprobeHit and, where that finds no room, counts it.
Result<UniqueFd> LoadProgram(bool of_returns, int ring, int lost) {
  constexpr uint8_t kFrame = BPF_REG_10, kRegisters = BPF_REG_6;
  const bpf_insn program[] = {
      Copy(kRegisters, BPF_REG_1),
      Call(BPF_FUNC_get_current_pid_tgid),
      Store(kFrame, InHit(offsetof(UprobeHit, tid)), BPF_REG_0),
      Call(BPF_FUNC_ktime_get_ns),
      Store(kFrame, InHit(offsetof(UprobeHit, mono_ns)), BPF_REG_0),
      of_returns ? Set(BPF_REG_1, 0) : Load(BPF_REG_1, kRegisters, kAt),
      Store(kFrame, InHit(offsetof(UprobeHit, function)), BPF_REG_1),
      Load(BPF_REG_1, kRegisters, kStack),
      Add(BPF_REG_1, of_returns ? -kReturnAddressBytes : 0),
      Store(kFrame, InHit(offsetof(UprobeHit, stack)), BPF_REG_1),
      of_returns ? Load(BPF_REG_1, kRegisters, kResult) : Set(BPF_REG_1, 0),
      Store(kFrame, InHit(offsetof(UprobeHit, result)), BPF_REG_1),
      Op(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, ring),
      Op(0, 0, 0, 0, 0),
      Copy(BPF_REG_2, kFrame),
      Add(BPF_REG_2, InHit(0)),
      Set(BPF_REG_3, sizeof(UprobeHit)),
      Set(BPF_REG_4, BPF_RB_NO_WAKEUP),
      Call(BPF_FUNC_ringbuf_output),
      Op(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 4, 0),
      Op(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_VALUE, 0, lost),
      Op(0, 0, 0, 0, of_returns ? kLostReturnsAt : 0),
      Set(BPF_REG_2, 1),
      Op(BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_1, BPF_REG_2, 0, BPF_ADD),
      Set(BPF_REG_0, 0),
      Op(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
  };
  bpf_attr attr{};
  attr.prog_type = BPF_PROG_TYPE_KPROBE;
  attr.insns = reinterpret_cast<uintptr_t>(program);
  attr.insn_cnt = std::size(program);
  attr.license = reinterpret_cast<uintptr_t>("Apache-2.0");
  return Bpf(BPF_PROG_LOAD, attr, "load the program for breakpoints");
}

}  // namespace

struct Uprobes::Slot {
  UniqueFd ring, lost, enter, exit;
};

namespace {

// Its n-th byte is locked by the process that has the n-th slot: the kernel unlocks it when that has gone.
UniqueFd& Taken() {
  static UniqueFd taken;
  return taken;
}
bool Lock(int slot, short how) {
  struct flock lock {};
  lock.l_type = how;
  lock.l_whence = SEEK_SET;
  lock.l_start = slot;
  lock.l_len = 1;
  return ::fcntl(Taken().get(), F_SETLK, &lock) == 0;
}

// Why there are no programs.
Status& Prepared() {
  static Status prepared(Code::kUnavailable, "the kernel's programs for breakpoints were not loaded");
  return prepared;
}

}  // namespace

Uprobes::Slot* Uprobes::Slots() {
  static std::array<Slot, kSlots> slots;
  return slots.data();
}

void Uprobes::Prepare() {
  UserTracepoint::Hold();
  if (Prepared().ok()) return;
  Prepared() = []() -> Status {
    PROFD_ASSIGN_OR_RETURN(Taken(), Heirlooms::File("breakpoints", []() -> Result<UniqueFd> {
                             UniqueFd made(::memfd_create("profd-breakpoints", MFD_CLOEXEC));
                             if (!made) return Status::FromErrno("make a list of who has breakpoints");
                             return made;
                           }));
    for (size_t number = 0; number < kSlots; ++number) {
      Slot& slot = Slots()[number];
      const auto file = [number](const char* part, const std::function<Result<UniqueFd>()>& make) {
        return Heirlooms::File("breakpoints-" + std::to_string(number) + "-" + part, make);
      };
      PROFD_ASSIGN_OR_RETURN(slot.ring,
                             file("ring", [] { return MakeMap(BPF_MAP_TYPE_RINGBUF, 0, 0, kRingBytes, 0); }));
      PROFD_ASSIGN_OR_RETURN(
          slot.lost, file("lost", [] { return MakeMap(BPF_MAP_TYPE_ARRAY, 4, 16, 1, BPF_F_MMAPABLE); }));
      PROFD_ASSIGN_OR_RETURN(
          slot.enter, file("enter", [&] { return LoadProgram(false, slot.ring.get(), slot.lost.get()); }));
      PROFD_ASSIGN_OR_RETURN(
          slot.exit, file("exit", [&] { return LoadProgram(true, slot.ring.get(), slot.lost.get()); }));
    }
    return Status::Ok();
  }();
}

Status Uprobes::Check() {
  if (!Prepared().ok()) {
    return {Code::kFailedPrecondition,
            Prepared().message() + ": it takes Linux 5.8 or later, and root when profd starts"};
  }
  PROFD_RETURN_IF_ERROR(UserTracepoint::Check());
  struct stat ours {};
  // The programs see the kernel's own numbers of processes.
  if (::stat("/proc/self/ns/pid", &ours) != 0 || ours.st_ino != kFirstPidNamespace)
    return {Code::kFailedPrecondition, "profd has to run in the pid namespace of the node (hostPID)"};
  return Status::Ok();
}

Result<Uprobes> Uprobes::Claim() {
  PROFD_RETURN_IF_ERROR(Check());
  for (int number = 0; number < static_cast<int>(kSlots); ++number) {
    Slot& slot = Slots()[number];
    if (!Lock(number, F_WRLCK)) continue;
    const size_t page = PageBytes();
    const auto map = [](size_t bytes, int rights, int fd, size_t at) {
      void* mapped = ::mmap(nullptr, bytes, rights, MAP_SHARED, fd, static_cast<off_t>(at));
      return mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
    };
    Pages pages;
    pages.consumer = map(page, PROT_READ | PROT_WRITE, slot.ring.get(), 0);
    pages.producer = map(page + 2 * kRingBytes, PROT_READ, slot.ring.get(), page);
    pages.lost = map(page, PROT_READ, slot.lost.get(), 0);
    if (pages.consumer == nullptr || pages.producer == nullptr || pages.lost == nullptr) {
      const Status failed = Status::FromErrno("map the ring of breakpoints");
      Unmap(pages);
      Lock(number, F_UNLCK);
      return failed;
    }
    UserTracepoint::BeAlone();
    UserTracepoint::RemoveLeftBehind();
    Uprobes uprobes(&slot, pages);
    uprobes.Drain([](const UprobeHit&) {});  // of who had it before
    return uprobes;
  }
  return Status(Code::kResourceExhausted,
                std::to_string(kSlots) +
                    " sessions record pthread calls or have just ended: stop one, or wait some seconds");
}

void Uprobes::Unmap(Pages& pages) {
  if (pages.consumer != nullptr) ::munmap(pages.consumer, PageBytes());
  if (pages.producer != nullptr) ::munmap(pages.producer, PageBytes() + 2 * kRingBytes);
  if (pages.lost != nullptr) ::munmap(pages.lost, PageBytes());
  pages = {};
}

Uprobes::~Uprobes() {
  if (slot_ == nullptr) return;
  Unmap(pages_);
  Lock(static_cast<int>(slot_ - Slots()), F_UNLCK);
}

Result<Uprobes::Breakpoints> Uprobes::Open(pid_t pid, const std::string& path,
                                           std::span<const uint64_t> offsets) const {
  const auto open = [&](bool of_returns, const UniqueFd& program) -> Result<Breakpoint> {
    PROFD_ASSIGN_OR_RETURN(UserTracepoint point, UserTracepoint::Make(path, offsets, of_returns));
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_TRACEPOINT;
    attr.sample_period = 1;
    PROFD_ASSIGN_OR_RETURN(attr.config, TracepointNumber(point.name()));
    PROFD_ASSIGN_OR_RETURN(UniqueFd event, OpenPerfEvent(attr, pid, -1));
    if (::ioctl(event.get(), PERF_EVENT_IOC_SET_BPF, program.get()) != 0)
      return Status::FromErrno("lead a breakpoint to its program");
    EnablePerfEvent(event.get());
    return Breakpoint{std::move(point), std::move(event)};
  };
  // Who enters before its return is watched was in the call before; and so it is the other way round at the
  // end, when the members go.
  PROFD_ASSIGN_OR_RETURN(Breakpoint enter, open(false, slot_->enter));
  PROFD_ASSIGN_OR_RETURN(Breakpoint exit, open(true, slot_->exit));
  return Breakpoints{std::move(enter), std::move(exit)};
}

void Uprobes::Drain(const std::function<void(const UprobeHit&)>& take) {
  auto* consumer = reinterpret_cast<unsigned long*>(pages_.consumer);
  auto* producer = reinterpret_cast<unsigned long*>(pages_.producer);
  const std::byte* ring = pages_.producer + PageBytes();
  const unsigned long end = std::atomic_ref(*producer).load(std::memory_order_acquire);
  unsigned long at = *consumer;
  while (at < end) {
    const std::byte* record = ring + (at & (kRingBytes - 1));
    auto* header = reinterpret_cast<uint32_t*>(const_cast<std::byte*>(record));
    const uint32_t length = std::atomic_ref(*header).load(std::memory_order_acquire);
    if ((length & BPF_RINGBUF_BUSY_BIT) != 0) break;  // it is being written
    const uint32_t bytes = length & ~BPF_RINGBUF_DISCARD_BIT;
    if (bytes == sizeof(UprobeHit)) {
      UprobeHit hit;
      std::memcpy(&hit, record + BPF_RINGBUF_HDR_SZ, sizeof hit);
      take(hit);
    }
    at += (bytes + BPF_RINGBUF_HDR_SZ + 7) & ~uint64_t{7};
  }
  std::atomic_ref(*consumer).store(at, std::memory_order_release);
}

Uprobes::Lost Uprobes::lost() const {
  Lost lost;
  std::memcpy(&lost.begins, pages_.lost, sizeof lost.begins);
  std::memcpy(&lost.returns, pages_.lost + kLostReturnsAt, sizeof lost.returns);
  return lost;
}

}  // namespace profd::host
