#include "daemon/host/events/python_probe.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "daemon/host/process/heirlooms.h"

namespace profd::host {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

namespace {

constexpr size_t kSlots = 4;
constexpr uint32_t kRingBytes =
    256 << 10;  // 125 samples: of 300 threads at 99 Hz for as long as nobody looks
constexpr uint32_t kThreads = 2048, kPlaces = 4;  // a thread is at one of so many places behind its number's
constexpr size_t kTableBytes = kThreads * sizeof(PythonThread);

static_assert(sizeof(PythonThread) == 56 && sizeof(PythonFrames) == 32 + 32 * PythonFrames::kMost);

// The instructions of a program, with jumps to places that are still to come.
class Program {
 public:
  enum class Place : uint8_t { kLeave, kFound, kHand };

  void Put(bpf_insn instruction) { instructions_.push_back(instruction); }
  void Jump(uint8_t test, uint8_t a, int32_t number, Place to) {
    jumps_.emplace_back(instructions_.size(), to);
    Put(bpf::Op(BPF_JMP | BPF_K | test, a, 0, 0, number));
  }
  void Here(Place place) {
    for (const auto& [at, to] : jumps_) {
      if (to == place) instructions_[at].off = static_cast<int16_t>(instructions_.size() - at - 1);
    }
  }
  // What a map has under the number in `index`; the program's stack keeps it meanwhile.
  void Find(int map, uint8_t index) {
    Put(bpf::StoreHalf(BPF_REG_10, kIndex, index));
    Put(bpf::Map(BPF_REG_1, map));
    Put(bpf::MapEnd());
    Put(bpf::Copy(BPF_REG_2, BPF_REG_10));
    Put(bpf::Add(BPF_REG_2, kIndex));
    Put(bpf::Call(BPF_FUNC_map_lookup_elem));
    Jump(BPF_JEQ, BPF_REG_0, 0, Place::kLeave);
  }
  // `bytes` of the process, so far behind `from` as the thread's word says, to where `to` is.
  void Read(uint8_t to, int32_t further, int32_t bytes, uint8_t from, size_t word, Place or_else) {
    Put(bpf::LoadHalf(BPF_REG_3, kThread, static_cast<int16_t>(word)));
    Put(bpf::AddRegister(BPF_REG_3, from));
    Put(bpf::Copy(BPF_REG_1, to));
    Put(bpf::Add(BPF_REG_1, further));
    Put(bpf::Set(BPF_REG_2, bytes));
    Put(bpf::Call(BPF_FUNC_probe_read_user));
    Jump(BPF_JNE, BPF_REG_0, 0, or_else);
  }
  std::span<const bpf_insn> instructions() const { return instructions_; }

  static constexpr int16_t kIndex = -4, kWord = -16, kCurrent = -24;  // on the program's stack
  static constexpr uint8_t kThread = BPF_REG_7, kFrame = BPF_REG_6, kRecord = BPF_REG_9;

 private:
  std::vector<bpf_insn> instructions_;
  std::vector<std::pair<size_t, Place>> jumps_;
};

constexpr int16_t InRecord(size_t at) { return static_cast<int16_t>(at); }

// Writes PythonFrames of a thread that it knows, and lets the kernel make the sample of every thread.
Result<UniqueFd> LoadFrames(int ring, int threads) {
  using namespace bpf;
  using Place = Program::Place;
  constexpr uint8_t kStack = BPF_REG_10, kTid = BPF_REG_8;
  Program program;
  program.Put(Call(BPF_FUNC_get_current_pid_tgid));
  program.Put(Op(BPF_ALU | BPF_MOV | BPF_X, kTid, BPF_REG_0, 0, 0));  // its lower half
  program.Jump(BPF_JEQ, kTid, 0, Place::kLeave);
  for (uint32_t i = 0; i < kPlaces; ++i) {
    program.Put(Copy(BPF_REG_1, kTid));
    program.Put(Add(BPF_REG_1, static_cast<int32_t>(i)));
    program.Put(Op(BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_1, 0, 0, kThreads - 1));
    program.Find(threads, BPF_REG_1);
    program.Put(Copy(Program::kThread, BPF_REG_0));
    program.Put(LoadHalf(BPF_REG_1, Program::kThread, offsetof(PythonThread, tid)));
    program.Put(Op(BPF_JMP | BPF_JNE | BPF_X, BPF_REG_1, kTid, 1, 0));
    program.Jump(BPF_JA, 0, 0, Place::kFound);
  }
  program.Jump(BPF_JA, 0, 0, Place::kLeave);
  program.Here(Place::kFound);
  program.Put(Load(Program::kFrame, Program::kThread, offsetof(PythonThread, state)));
  program.Read(kStack, Program::kWord, 8, Program::kFrame, offsetof(PythonThread, id_at), Place::kLeave);
  program.Put(Load(BPF_REG_1, kStack, Program::kWord));
  program.Put(Load(BPF_REG_2, Program::kThread, offsetof(PythonThread, id)));
  program.Put(Op(BPF_JMP | BPF_JEQ | BPF_X, BPF_REG_1, BPF_REG_2, 1, 0));
  program.Jump(BPF_JA, 0, 0, Place::kLeave);
  program.Read(kStack, Program::kWord, 8, Program::kFrame, offsetof(PythonThread, current), Place::kLeave);
  program.Put(Load(Program::kFrame, kStack, Program::kWord));
  program.Put(Store(kStack, Program::kCurrent, Program::kFrame));
  program.Put(LoadHalf(BPF_REG_1, Program::kThread, offsetof(PythonThread, record)));
  program.Put(Op(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_1, 0, 8, 0));  // over a read, and what it has read
  program.Read(kStack, Program::kWord, 8, Program::kFrame, offsetof(PythonThread, frame), Place::kLeave);
  program.Put(Load(Program::kFrame, kStack, Program::kWord));

  program.Put(Map(BPF_REG_1, ring));
  program.Put(MapEnd());
  program.Put(Set(BPF_REG_2, sizeof(PythonFrames)));
  program.Put(Set(BPF_REG_3, 0));
  program.Put(Call(BPF_FUNC_ringbuf_reserve));
  program.Jump(BPF_JEQ, BPF_REG_0, 0, Place::kLeave);
  program.Put(Copy(Program::kRecord, BPF_REG_0));
  program.Put(StoreHalf(Program::kRecord, offsetof(PythonFrames, tid), kTid));
  program.Put(Call(BPF_FUNC_ktime_get_ns));
  program.Put(Store(Program::kRecord, offsetof(PythonFrames, mono_ns), BPF_REG_0));
  program.Put(Load(BPF_REG_1, kStack, Program::kCurrent));
  program.Put(Store(Program::kRecord, offsetof(PythonFrames, current), BPF_REG_1));
  program.Put(Set(kTid, 0));  // from here on: how many there are
  for (size_t i = 0; i < PythonFrames::kMost; ++i) {
    const auto at = [i](size_t part) {
      return InRecord(offsetof(PythonFrames, frames) + i * sizeof(PythonFrames::Frame) + part);
    };
    program.Jump(BPF_JEQ, Program::kFrame, 0, Place::kHand);
    program.Put(Store(Program::kRecord, at(offsetof(PythonFrames::Frame, at)), Program::kFrame));
    program.Put(Set(BPF_REG_1, 0));
    program.Put(Store(Program::kRecord, at(offsetof(PythonFrames::Frame, mark)), BPF_REG_1));
    const auto read = [&](size_t part, int32_t bytes, size_t word) {
      program.Read(Program::kRecord, at(part), bytes, Program::kFrame, word, Place::kHand);
    };
    read(offsetof(PythonFrames::Frame, code), 8, offsetof(PythonThread, code));
    read(offsetof(PythonFrames::Frame, instruction), 8, offsetof(PythonThread, instruction));
    read(offsetof(PythonFrames::Frame, mark), 1, offsetof(PythonThread, mark));
    program.Read(kStack, Program::kWord, 8, Program::kFrame, offsetof(PythonThread, previous), Place::kHand);
    program.Put(Load(Program::kFrame, kStack, Program::kWord));
    program.Put(Set(kTid, static_cast<int32_t>(i + 1)));
  }
  program.Here(Place::kHand);
  program.Put(StoreHalf(Program::kRecord, offsetof(PythonFrames, count), kTid));
  program.Put(Store(Program::kRecord, offsetof(PythonFrames, rest), Program::kFrame));
  program.Put(Copy(BPF_REG_1, Program::kRecord));
  program.Put(Set(BPF_REG_2, BPF_RB_NO_WAKEUP));
  program.Put(Call(BPF_FUNC_ringbuf_submit));
  program.Here(Place::kLeave);
  program.Put(Set(BPF_REG_0, 1));
  program.Put(Exit());
  // The kernel reads memory of processes only for programs that say this. This program is ours, and everybody
  // may have it under the GPL, too.
  return LoadProgram(BPF_PROG_TYPE_PERF_EVENT, program.instructions(), "Dual BSD/GPL");
}

BpfSlots& TheSlots() {
  static BpfSlots slots;
  return slots;
}

// Why there are no programs.
Status& Prepared() {
  static Status prepared(Code::kUnavailable, "the kernel's program for Python was not loaded");
  return prepared;
}

}  // namespace

struct PythonProbe::Slot {
  UniqueFd ring, threads, program;
};

PythonProbe::Slot* PythonProbe::Slots() {
  static std::array<Slot, kSlots> slots;
  return slots.data();
}

void PythonProbe::Prepare() {
  if (Prepared().ok()) return;
  Prepared() = []() -> Status {
    PROFD_RETURN_IF_ERROR(TheSlots().Prepare("python"));
    for (size_t number = 0; number < kSlots; ++number) {
      Slot& slot = Slots()[number];
      const auto file = [number](const char* part, const std::function<Result<UniqueFd>()>& make) {
        return Heirlooms::File("python-" + std::to_string(number) + "-" + part, make);
      };
      PROFD_ASSIGN_OR_RETURN(slot.ring, file("ring", [] { return BpfRing::Make(kRingBytes); }));
      PROFD_ASSIGN_OR_RETURN(slot.threads, file("threads", [] {
                               return bpf::MakeMap(BPF_MAP_TYPE_ARRAY, 4, sizeof(PythonThread), kThreads,
                                                   BPF_F_MMAPABLE);
                             }));
      PROFD_ASSIGN_OR_RETURN(
          slot.program, file("program", [&] { return LoadFrames(slot.ring.get(), slot.threads.get()); }));
    }
    return Status::Ok();
  }();
}

Result<PythonProbe> PythonProbe::Claim() {
  PROFD_RETURN_IF_ERROR(Prepared());
  PROFD_RETURN_IF_ERROR(CheckFirstPidNamespace());
  for (size_t number = 0; number < kSlots; ++number) {
    if (!TheSlots().Lock(number)) continue;
    const Slot& slot = Slots()[number];
    const auto claim = [&]() -> Result<PythonProbe> {
      PROFD_ASSIGN_OR_RETURN(BpfRing ring, BpfRing::Map(slot.ring.get(), kRingBytes));
      void* threads = ::mmap(nullptr, kTableBytes, PROT_READ | PROT_WRITE, MAP_SHARED, slot.threads.get(), 0);
      if (threads == MAP_FAILED)
        return Status::FromErrno("map what the kernel's program for Python looks at");
      std::memset(threads, 0, kTableBytes);
      return PythonProbe(Slots() + number, std::move(ring), static_cast<PythonThread*>(threads));
    };
    auto probe = claim();
    if (probe.ok()) {
      probe->Drain([](const PythonFrames&) {});  // of who had it before
    } else {
      TheSlots().Unlock(number);
    }
    return probe;
  }
  return Status(Code::kResourceExhausted, std::to_string(kSlots) + " profiles of Python go on already");
}

PythonProbe::~PythonProbe() {
  if (slot_ == nullptr) return;
  std::memset(static_cast<void*>(threads_), 0, kTableBytes);
  ::munmap(threads_, kTableBytes);
  TheSlots().Unlock(static_cast<size_t>(slot_ - Slots()));
}

Status PythonProbe::RunAt(int event) const {
  if (::ioctl(event, PERF_EVENT_IOC_SET_BPF, slot_->program.get()) != 0)
    return Status::FromErrno("have the kernel note Python's frames");
  return Status::Ok();
}

void PythonProbe::Add(const PythonThread& thread) {
  PythonThread* place = nullptr;
  for (uint32_t i = 0; i < kPlaces; ++i) {
    PythonThread& at = threads_[(thread.tid + i) % kThreads];
    if (at.tid == thread.tid) {
      place = &at;
      break;
    }
    if (place == nullptr && at.tid == 0) place = &at;
  }
  // The one that has been there longest, as likely as another.
  if (place == nullptr) place = &threads_[(thread.tid + thread.state / 64 % kPlaces) % kThreads];
  // The program may look at it meanwhile: it finds it whole, or not at all.
  const std::atomic_ref tid(place->tid);
  tid.store(0);
  PythonThread made = thread;
  made.tid = 0;
  *place = made;
  tid.store(thread.tid);
}

void PythonProbe::Drain(const std::function<void(const PythonFrames&)>& take) {
  ring_.Drain([&take](std::span<const std::byte> record) {
    PythonFrames frames;
    if (record.size() != sizeof frames) return;
    std::memcpy(static_cast<void*>(&frames), record.data(), sizeof frames);
    if (frames.count <= PythonFrames::kMost) take(frames);
  });
}

}  // namespace profd::host
