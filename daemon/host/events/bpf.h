// Programs that the kernel runs for profd, and the rings that they write into. Loading them takes rights that
// profd gives up at its start; what has been loaded is used without.
#pragma once

#include <linux/bpf.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"
#include "base/unique_fd.h"

namespace profd::host {

// By hand: a program is some dozens of instructions, and libbpf would take a compiler for BPF to build it,
// and bring libelf and zlib into profd, which runs as root.
namespace bpf {

constexpr bpf_insn Op(uint8_t code, uint8_t to, uint8_t from, int16_t at, int32_t number) {
  return {.code = code, .dst_reg = to, .src_reg = from, .off = at, .imm = number};
}
constexpr bpf_insn Call(bpf_func_id helper) { return Op(BPF_JMP | BPF_CALL, 0, 0, 0, helper); }
constexpr bpf_insn Load(uint8_t to, uint8_t base, int16_t at) {
  return Op(BPF_LDX | BPF_MEM | BPF_DW, to, base, at, 0);
}
constexpr bpf_insn LoadHalf(uint8_t to, uint8_t base, int16_t at) {
  return Op(BPF_LDX | BPF_MEM | BPF_W, to, base, at, 0);
}
constexpr bpf_insn Store(uint8_t base, int16_t at, uint8_t from) {
  return Op(BPF_STX | BPF_MEM | BPF_DW, base, from, at, 0);
}
constexpr bpf_insn StoreHalf(uint8_t base, int16_t at, uint8_t from) {
  return Op(BPF_STX | BPF_MEM | BPF_W, base, from, at, 0);
}
constexpr bpf_insn Copy(uint8_t to, uint8_t from) { return Op(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
constexpr bpf_insn Set(uint8_t to, int32_t number) {
  return Op(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, number);
}
constexpr bpf_insn Add(uint8_t to, int32_t number) {
  return Op(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, number);
}
constexpr bpf_insn AddRegister(uint8_t to, uint8_t from) {
  return Op(BPF_ALU64 | BPF_ADD | BPF_X, to, from, 0, 0);
}
constexpr bpf_insn Exit() { return Op(BPF_JMP | BPF_EXIT, 0, 0, 0, 0); }
// A map takes two instructions: this, and MapEnd.
constexpr bpf_insn Map(uint8_t to, int fd) {
  return Op(BPF_LD | BPF_IMM | BPF_DW, to, BPF_PSEUDO_MAP_FD, 0, fd);
}
constexpr bpf_insn MapEnd() { return Op(0, 0, 0, 0, 0); }

base::Result<base::UniqueFd> MakeMap(bpf_map_type type, uint32_t key, uint32_t value, uint32_t entries,
                                     uint32_t flags);
base::Result<base::UniqueFd> LoadProgram(bpf_prog_type type, std::span<const bpf_insn> program,
                                         const char* license = "Apache-2.0");

}  // namespace bpf

// A ring of the kernel's, with room for `bytes`.
// **Thread:** one.
class BpfRing {
 public:
  static base::Result<base::UniqueFd> Make(uint32_t bytes);
  static base::Result<BpfRing> Map(int fd, size_t bytes);
  BpfRing(BpfRing&& other) noexcept
      : bytes_(other.bytes_),
        consumer_(std::exchange(other.consumer_, nullptr)),
        producer_(std::exchange(other.producer_, nullptr)) {}
  BpfRing& operator=(BpfRing&&) = delete;
  BpfRing(const BpfRing&) = delete;
  BpfRing& operator=(const BpfRing&) = delete;
  ~BpfRing();

  // What has come since; good during the call only.
  void Drain(const std::function<void(std::span<const std::byte>)>& take);

 private:
  BpfRing(size_t bytes, std::byte* consumer, std::byte* producer)
      : bytes_(bytes), consumer_(consumer), producer_(producer) {}

  size_t bytes_;
  std::byte *consumer_, *producer_;  // producer: the ring twice behind its page
};

// What few can have at a time: a process has one until it lets go of it, or has gone.
class BpfSlots {
 public:
  // Before other threads.
  base::Status Prepare(const std::string& name);
  bool Lock(size_t slot) const;
  void Unlock(size_t slot) const;

 private:
  base::UniqueFd taken_;  // its n-th byte is locked by the process that has the n-th slot
};

// Programs see the kernel's own numbers of processes.
base::Status CheckFirstPidNamespace();

}  // namespace profd::host
