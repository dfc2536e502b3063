#include "daemon/store/files/write_probe.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <vector>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "daemon/store/files/file_system.h"

namespace profd::store {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

namespace {

constexpr size_t kPiece = 1u << 20;
constexpr uint64_t kMostBytes = 16u << 20;
constexpr uint64_t kMostNs = 250'000'000;

Result<double> Measure(int dir) {
  const UniqueFd file(::openat(dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600));
  if (!file) return Status(Code::kUnimplemented, Status::FromErrno("probe").message());
  std::vector<std::byte> piece(kPiece);
  for (size_t i = 0; i < piece.size(); ++i) piece[i] = static_cast<std::byte>(i * 2654435761u >> 24);
  const uint64_t begin = base::MonotonicNs();
  uint64_t bytes = 0;
  while (bytes < kMostBytes && base::MonotonicNs() - begin < kMostNs) {
    const ssize_t written = ::write(file.get(), piece.data(), piece.size());
    if (written <= 0) return Status::FromErrno("probe: write");
    bytes += static_cast<uint64_t>(written);
  }
  if (::fdatasync(file.get()) != 0) return Status::FromErrno("probe: flush");
  return static_cast<double>(bytes) * 1e9 / static_cast<double>(base::MonotonicNs() - begin + 1);
}

}  // namespace

Result<double> ProbeWriteRate(int dir, uid_t uid, gid_t gid) {
  PROFD_RETURN_IF_ERROR(PosixFileSystem().BecomeOwner(uid, gid));
  const Result<double> rate = Measure(dir);
  PROFD_RETURN_IF_ERROR(PosixFileSystem().BecomeOwner(::geteuid(), ::getegid()));
  return rate;
}

}  // namespace profd::store
