#include "daemon/host/files/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace profd::host {

namespace {

int OpenPath(const ProcPath& path) {
  char text[96];
  if (path.tid != 0) {
    std::snprintf(text, sizeof text, "/proc/%d/task/%d/%s", path.pid, path.tid, path.name);
  } else if (path.pid != 0) {
    std::snprintf(text, sizeof text, "/proc/%d/%s", path.pid, path.name);
  } else {
    std::snprintf(text, sizeof text, "/proc/%s", path.name);
  }
  return ::open(text, O_RDONLY | O_CLOEXEC);
}

}  // namespace

ProcFile& ProcFile::operator=(ProcFile&& other) noexcept {
  if (this != &other) {
    Close();
    budget_ = other.budget_;
    kept_ = std::move(other.kept_);
  }
  return *this;
}

void ProcFile::Close() {
  if (!kept_) return;
  kept_.Reset();
  budget_->GiveBack();
}

int ProcFile::Open(const ProcPath& path, base::UniqueFd& opened) {
  if (kept_) return kept_.get();
  base::UniqueFd fd(OpenPath(path));
  if (!fd) return -1;
  if (budget_->TryTake()) {
    kept_ = std::move(fd);
    return kept_.get();
  }
  opened = std::move(fd);
  return opened.get();
}

ssize_t ProcFile::Read(const ProcPath& path, char* buffer, size_t size) {
  base::UniqueFd opened;
  const int fd = Open(path, opened);
  if (fd < 0) return -1;
  return ::pread(fd, buffer, size, 0);
}

std::string_view ProcFile::ReadAll(const ProcPath& path, std::vector<char>& buffer) {
  base::UniqueFd opened;
  const int fd = Open(path, opened);
  if (fd < 0) return {};
  size_t used = 0;
  while (true) {
    const ssize_t got = ::pread(fd, buffer.data() + used, buffer.size() - used, static_cast<off_t>(used));
    if (got < 0) return {};
    if (got == 0) return {buffer.data(), used};
    used += static_cast<size_t>(got);
    if (used == buffer.size()) buffer.resize(2 * buffer.size());
  }
}

bool MeansGone(int error) { return error == ENOENT || error == ESRCH; }

std::string_view HostFile::Text(const Tick& tick) {
  if (read_at_ != tick.number) {
    text_ = file_.ReadAll({.name = name_}, buffer_);
    read_at_ = tick.number;
  }
  return text_;
}

}  // namespace profd::host
