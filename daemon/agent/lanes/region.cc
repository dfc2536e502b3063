#include "daemon/agent/lanes/region.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/memfd.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "daemon/agent/lanes/sequenced.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U  // Linux 6.3
#endif

namespace profd::agent {

using base::Code;
using base::Status;

namespace {

constexpr int kTriesOfLog = 4;  // it is 2 KiB, and looked at by ctl

base::UniqueFd MakeMemfd() {
  constexpr char kName[] = "profd-lanes";
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  base::UniqueFd memfd(::memfd_create(kName, kFlags | MFD_NOEXEC_SEAL));
  if (!memfd && errno == EINVAL) memfd.Reset(::memfd_create(kName, kFlags));  // an older kernel
  return memfd;
}

Status Failed(const char* step, uint64_t bytes) {
  return Status::FromErrno("make " + std::to_string(bytes) + " bytes of lanes for a process (" + step + ")");
}

}  // namespace

base::Result<std::shared_ptr<Region>> Region::Make(const Geometry& geometry) {
  if (!abi::GeometryIsValid(geometry.lanes, geometry.lane_slots, geometry.names_bytes)) {
    return Status(
        Code::kInvalidArgument,
        "make the lanes of a process: " + std::to_string(geometry.lanes) + " lanes of " +
            std::to_string(geometry.lane_slots) + " slots and " + std::to_string(geometry.names_bytes) +
            " bytes of names are out of range (1 to 1024 lanes, 256 to 4194304 slots, a power of two; "
            "64 KiB to 16 MiB of names, a multiple of 64 KiB)");
  }
  const uint64_t bytes = abi::RegionBytes(geometry.lanes, geometry.lane_slots, geometry.names_bytes);
  std::shared_ptr<Region> region(new Region);
  region->geometry_ = geometry;
  region->memfd_ = MakeMemfd();
  if (!region->memfd_) return Failed("memfd_create", bytes);
  const int memfd = region->memfd_.get();
  if (::ftruncate(memfd, static_cast<off_t>(bytes)) != 0) return Failed("ftruncate", bytes);
  const size_t shared = abi::RingsOffset(geometry.lanes);
  void* memory = ::mmap(nullptr, shared, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
  if (memory == MAP_FAILED) return Failed("mmap", bytes);
  region->shared_ = static_cast<std::byte*>(memory);
  ::madvise(memory, shared, MADV_NOHUGEPAGE);  // which would be 2 MiB, on our account

  abi::RegionHeader* header = region->untrusted_header();
  header->magic = abi::kRegionMagic;
  header->version = abi::kRegionVersion;
  header->record_bytes = abi::kRecordBytes;
  header->lane_count = geometry.lanes;
  header->lane_slots = geometry.lane_slots;
  header->names_bytes = geometry.names_bytes;
  // From here on nobody can make it shorter, so what is mapped is there.
  if (::fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return Failed("seal", bytes);

  region->wake_.Reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!region->wake_) return Failed("eventfd", bytes);
  return region;
}

Region::~Region() {
  if (shared_ != nullptr) ::munmap(shared_, abi::RingsOffset(geometry_.lanes));
}

void Region::CopyForeign(uint64_t offset, std::byte* to, size_t bytes) const {
  while (bytes > 0) {
    const ssize_t got = ::pread(memfd_.get(), to, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;  // no memory to swap it in; then it is as good as a hole
    to += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
  std::memset(to, 0, bytes);
}

bool Region::ended_well() const {
  return std::atomic_ref(untrusted_header()->exit_mark).load(std::memory_order_relaxed) == 1;
}

std::optional<StepTotals> Region::steps() const {
  abi::StepTotals said;
  if (!CopySequenced(untrusted_header()->steps, &said) || said.begun == 0) return std::nullopt;
  return StepTotals{said.begun, said.ended, said.step, said.ended_ns, said.last_ns};
}

std::optional<StepLog> Region::step_log() const {
  abi::StepLog said;
  if (!CopySequenced(untrusted_header()->step_log, &said, kTriesOfLog)) return std::nullopt;
  StepLog log{said.ended_before, said.begin_ns, said.step, {}};
  for (uint64_t i = 0; i < abi::kLoggedSteps; ++i) {
    const abi::LoggedStep& step = said.ended[i];
    if (step.ended != 0 && (step.ended - 1) % abi::kLoggedSteps == i) log.ended.push_back(step);
  }
  std::ranges::sort(log.ended, {}, &abi::LoggedStep::ended);
  return log;
}

void Region::ReleaseRings() {
  const auto from = static_cast<off_t>(abi::RingsOffset(geometry_.lanes));
  const auto to = static_cast<off_t>(abi::RingOffset(geometry_.lanes, geometry_.lane_slots, geometry_.lanes));
  // Refused it only costs memory.
  [[maybe_unused]] const int result =
      ::fallocate(memfd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, to - from);
}

}  // namespace profd::agent
