#include "format/mend/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace profd::mend {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

namespace {

constexpr off_t kMaxSmall = 16 << 20;
// More than any append, so that the last one is in it.
constexpr uint64_t kWindow = 4u << 20;
constexpr size_t kPiece = 1u << 20;

bool IsOwnFile(const struct stat& facts, uid_t uid) {
  return S_ISREG(facts.st_mode) && facts.st_uid == uid && facts.st_nlink == 1;
}

// Not blocking: a FIFO may be here by now.
UniqueFd OpenOwn(int dir, const std::string& name, uid_t uid, int flags) {
  UniqueFd fd(::openat(dir, name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts {};
  if (fd && (::fstat(fd.get(), &facts) != 0 || !IsOwnFile(facts, uid))) fd.Reset();
  return fd;
}

// Fewer bytes than asked for only at the end of the file or after an error.
size_t ReadAt(int fd, std::byte* into, size_t bytes, uint64_t offset) {
  size_t got = 0;
  while (got < bytes) {
    const ssize_t count = ::pread(fd, into + got, bytes - got, static_cast<off_t>(offset + got));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    got += static_cast<size_t>(count);
  }
  return got;
}

Status WriteAt(int fd, const std::string& text, uint64_t offset) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t put =
        ::pwrite(fd, text.data() + done, text.size() - done, static_cast<off_t>(offset + done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return Status::FromErrno("write");
    done += static_cast<size_t>(put);
  }
  return {};
}

}  // namespace

UniqueFd OpenDir(int parent, const std::string& name, uid_t uid) {
  UniqueFd dir(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts {};
  if (dir && (::fstat(dir.get(), &facts) != 0 || facts.st_uid != uid)) dir.Reset();
  return dir;
}

Entries::Entries(int dir) : stream_(nullptr, &::closedir) {
  // Opened anew: a copy of the descriptor would share its position.
  UniqueFd own(::openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (own) stream_.reset(::fdopendir(own.get()));
  if (stream_) own.Release();
}

bool Entries::Next(std::string& name) {
  while (stream_) {
    const dirent* entry = ::readdir(stream_.get());  // NOLINT(concurrency-mt-unsafe): one stream, one thread
    if (entry == nullptr) return false;
    name = entry->d_name;
    if (name != "." && name != "..") return true;
  }
  return false;
}

std::vector<std::string> Names(int dir) {
  std::vector<std::string> names;
  Entries entries(dir);
  for (std::string name; names.size() < kMaxNames && entries.Next(name);) names.push_back(name);
  return names;
}

std::optional<struct stat> RegularFile(int dir, const std::string& name, uid_t uid) {
  struct stat facts {};
  if (::fstatat(dir, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0 || !IsOwnFile(facts, uid))
    return std::nullopt;
  return facts;
}

std::optional<std::string> ReadSmall(int dir, const std::string& name) {
  const UniqueFd fd(::openat(dir, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts {};
  if (!fd || ::fstat(fd.get(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size > kMaxSmall)
    return std::nullopt;
  std::string text(static_cast<size_t>(facts.st_size), '\0');
  text.resize(ReadAt(fd.get(), reinterpret_cast<std::byte*>(text.data()), text.size(), 0));
  return text;
}

Status ReplaceFile(int dir, const std::string& name, const std::string& content) {
  const std::string beside = "." + name + ".tmp";
  const auto create = [&] {
    return UniqueFd(
        ::openat(dir, beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640));
  };
  UniqueFd file = create();
  if (!file && errno == EEXIST && ::unlinkat(dir, beside.c_str(), 0) == 0) file = create();
  if (!file) return Status::FromErrno("create");
  Status status = WriteAt(file.get(), content, 0);
  if (status.ok() && ::fchmod(file.get(), 0640) != 0)
    status = Status::FromErrno("fchmod");  // whatever the umask
  if (status.ok() && ::renameat(dir, beside.c_str(), dir, name.c_str()) != 0)
    status = Status::FromErrno("rename");
  if (!status.ok()) ::unlinkat(dir, beside.c_str(), 0);
  return status;
}

Result<uint64_t> CutTail(int dir, const std::string& name, uid_t uid, const format::FileShape& shape,
                         uint64_t size) {
  const UniqueFd fd = OpenOwn(dir, name, uid, O_RDWR);
  if (!fd) return Status(Code::kFailedPrecondition, "cannot be opened as the user's own file: left alone");
  const uint64_t unit = shape.what == format::FileShape::What::kFixed ? shape.format->record_bytes : 8;
  const uint64_t from = size > kWindow ? (size - kWindow) / unit * unit : 0;
  std::vector<std::byte> window(static_cast<size_t>(size - from));
  if (ReadAt(fd.get(), window.data(), window.size(), from) != window.size())
    return Status(Code::kDataLoss, "cannot be read to its end: left alone");
  uint64_t whole = format::WholeEnd(shape, window, from, static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)));
  if (shape.what == format::FileShape::What::kText && from == 0) {
    // A header alone is no data.
    format::StreamCheck check(shape, false);
    check.Take(std::span(window).first(static_cast<size_t>(whole)), true);
    if (check.header_bytes() == whole) whole = 0;
  }
  if (whole < size && ::ftruncate(fd.get(), static_cast<off_t>(whole)) != 0)
    return Status::FromErrno("truncate");
  return whole;
}

Result<uint64_t> EndDiskFile(int dir, const std::string& name, uid_t uid, uint64_t size) {
  constexpr std::string_view kBegin = "start_time ";
  const UniqueFd fd = OpenOwn(dir, name, uid, O_RDWR);
  if (!fd) return Status(Code::kFailedPrecondition, "cannot be opened as the user's own file: left alone");
  std::string line(std::min<uint64_t>(size, 64), '\0');
  line.resize(ReadAt(fd.get(), reinterpret_cast<std::byte*>(line.data()), line.size(), 0));
  line.resize(line.find('\n') + 1);  // npos + 1 is 0
  if (!line.starts_with(kBegin)) return uint64_t{0};
  std::string last(line.size(), '\0');
  last.resize(ReadAt(fd.get(), reinterpret_cast<std::byte*>(last.data()), last.size(), size - line.size()));
  if (last == line) return uint64_t{0};
  PROFD_RETURN_IF_ERROR(WriteAt(fd.get(), line, size));
  return line.size();
}

void Feed(int dir, const std::string& name, uid_t uid, uint64_t size, format::StreamCheck& check) {
  const UniqueFd fd = OpenOwn(dir, name, uid, O_RDONLY);
  if (!fd) return;
  std::vector<std::byte> buffer;
  size_t kept = 0;
  for (uint64_t at = 0; at < size;) {
    buffer.resize(kept + kPiece);
    const size_t got = ReadAt(fd.get(), buffer.data() + kept,
                              static_cast<size_t>(std::min<uint64_t>(kPiece, size - at)), at);
    if (got == 0) return;
    at += got;
    const size_t held = kept + got;
    const size_t taken = check.Take(std::span(buffer).first(held), at >= size);
    std::copy(buffer.begin() + static_cast<ptrdiff_t>(taken), buffer.begin() + static_cast<ptrdiff_t>(held),
              buffer.begin());
    kept = held - taken;
  }
}

}  // namespace profd::mend
