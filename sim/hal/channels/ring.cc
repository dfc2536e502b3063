#include "sim/hal/channels/ring.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace profd::sim {

bool Ring::Map(size_t bytes) {
  // A memory file, because its name shows in smaps on every kernel; names of anonymous memory need 5.17 and
  // an option.
  const int fd = ::memfd_create("sim-ring", MFD_CLOEXEC);
  if (fd < 0) return false;
  void* mapping = MAP_FAILED;
  if (::ftruncate(fd, static_cast<off_t>(bytes)) == 0) {
    mapping = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  ::close(fd);
  if (mapping == MAP_FAILED) return false;
  header_ = static_cast<Header*>(mapping);
  capacity_ = bytes - kHeaderBytes;
  header_->data_len = static_cast<uint32_t>(capacity_);
  return true;
}

void Ring::Unmap() {
  if (header_ != nullptr) ::munmap(header_, kHeaderBytes + capacity_);
  header_ = nullptr;
  capacity_ = 0;
}

size_t Ring::Write(std::string_view bytes) {
  const size_t unread = used();
  size_t write = header_->write;
  for (std::string_view rest = bytes; !rest.empty();) {
    const size_t part = std::min(rest.size(), capacity_ - write);
    std::memcpy(data() + write, rest.data(), part);
    write = (write + part) % capacity_;
    rest.remove_prefix(part);
  }
  header_->write = static_cast<uint32_t>(write);
  return unread + bytes.size() - used();
}

size_t Ring::Read(char* out, size_t size) {
  const size_t want = std::min(size, used());
  const size_t first = std::min(want, capacity_ - header_->read);
  std::memcpy(out, data() + header_->read, first);
  std::memcpy(out + first, data(), want - first);
  header_->read = static_cast<uint32_t>((header_->read + want) % capacity_);
  return want;
}

}  // namespace profd::sim
