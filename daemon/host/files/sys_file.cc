#include "daemon/host/files/sys_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace profd::host {

namespace {
constexpr size_t kAtOnce = 4096;
}

void SysFile::Close() {
  if (!kept_) return;
  kept_.Reset();
  budget_->GiveBack();
}

std::string_view SysFile::Read(std::string& buffer) {
  buffer.clear();
  base::UniqueFd opened;
  if (!kept_) {
    opened.Reset(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!opened) return {};
    if (budget_->TryTake()) kept_ = std::move(opened);
  }
  const int fd = kept_ ? kept_.get() : opened.get();
  while (buffer.size() < SysTree::kMostBytes) {
    const size_t used = buffer.size();
    buffer.resize(std::min(used + kAtOnce, SysTree::kMostBytes));
    const ssize_t got = ::pread(fd, buffer.data() + used, buffer.size() - used, static_cast<off_t>(used));
    buffer.resize(used + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got > 0) continue;
    if (got < 0) Close();  // what it was of has gone; it may come again
    break;
  }
  return buffer;
}

}  // namespace profd::host
