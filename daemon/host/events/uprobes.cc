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

#include "daemon/host/events/bpf.h"
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

// The program's stack ends with the hit that it makes; relative to the stack's end.
constexpr int16_t InHit(size_t at) {
  return static_cast<int16_t>(static_cast<int>(at) - static_cast<int>(sizeof(UprobeHit)));
}

// Writes a UprobeHit and, where that finds no room, counts it.
Result<UniqueFd> LoadHit(bool of_returns, int ring, int lost) {
  using namespace bpf;
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
      Map(BPF_REG_1, ring),
      MapEnd(),
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
      Exit(),
  };
  return bpf::LoadProgram(BPF_PROG_TYPE_KPROBE, program);
}

}  // namespace

struct Uprobes::Slot {
  UniqueFd ring, lost, enter, exit;
};

namespace {

BpfSlots& TheSlots() {
  static BpfSlots slots;
  return slots;
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
    PROFD_RETURN_IF_ERROR(TheSlots().Prepare("breakpoints"));
    for (size_t number = 0; number < kSlots; ++number) {
      Slot& slot = Slots()[number];
      const auto file = [number](const char* part, const std::function<Result<UniqueFd>()>& make) {
        return Heirlooms::File("breakpoints-" + std::to_string(number) + "-" + part, make);
      };
      PROFD_ASSIGN_OR_RETURN(slot.ring, file("ring", [] { return BpfRing::Make(kRingBytes); }));
      PROFD_ASSIGN_OR_RETURN(
          slot.lost, file("lost", [] { return bpf::MakeMap(BPF_MAP_TYPE_ARRAY, 4, 16, 1, BPF_F_MMAPABLE); }));
      PROFD_ASSIGN_OR_RETURN(slot.enter,
                             file("enter", [&] { return LoadHit(false, slot.ring.get(), slot.lost.get()); }));
      PROFD_ASSIGN_OR_RETURN(slot.exit,
                             file("exit", [&] { return LoadHit(true, slot.ring.get(), slot.lost.get()); }));
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
  return CheckFirstPidNamespace();
}

Result<Uprobes> Uprobes::Claim() {
  PROFD_RETURN_IF_ERROR(Check());
  for (size_t number = 0; number < kSlots; ++number) {
    Slot& slot = Slots()[number];
    if (!TheSlots().Lock(number)) continue;
    const auto claim = [&slot]() -> Result<Uprobes> {
      PROFD_ASSIGN_OR_RETURN(BpfRing ring, BpfRing::Map(slot.ring.get(), kRingBytes));
      void* lost = ::mmap(nullptr, PageBytes(), PROT_READ, MAP_SHARED, slot.lost.get(), 0);
      if (lost == MAP_FAILED) return Status::FromErrno("map what breakpoints have lost");
      return Uprobes(&slot, std::move(ring), static_cast<std::byte*>(lost));
    };
    auto uprobes = claim();
    if (!uprobes.ok()) {
      TheSlots().Unlock(number);
      return uprobes;
    }
    UserTracepoint::BeAlone();
    UserTracepoint::RemoveLeftBehind();
    uprobes->Drain([](const UprobeHit&) {});  // of who had it before
    return uprobes;
  }
  return Status(Code::kResourceExhausted,
                std::to_string(kSlots) +
                    " sessions record pthread calls or have just ended: stop one, or wait some seconds");
}

Uprobes::~Uprobes() {
  if (slot_ == nullptr) return;
  ::munmap(lost_, PageBytes());
  TheSlots().Unlock(static_cast<size_t>(slot_ - Slots()));
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
  ring_.Drain([&take](std::span<const std::byte> record) {
    UprobeHit hit;
    if (record.size() != sizeof hit) return;
    std::memcpy(&hit, record.data(), sizeof hit);
    take(hit);
  });
}

Uprobes::Lost Uprobes::lost() const {
  Lost lost;
  std::memcpy(&lost.begins, lost_, sizeof lost.begins);
  std::memcpy(&lost.returns, lost_ + kLostReturnsAt, sizeof lost.returns);
  return lost;
}

}  // namespace profd::host
