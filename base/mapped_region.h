// Owner of an anonymous memory mapping; pages cost memory only once touched.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <utility>

namespace profd::base {

class MappedRegion {
 public:
  MappedRegion() = default;
  explicit MappedRegion(size_t bytes) {
    void* at =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED) {
      data_ = static_cast<std::byte*>(at);
      size_ = bytes;
    }
  }
  MappedRegion(MappedRegion&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedRegion& operator=(MappedRegion&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  MappedRegion(const MappedRegion&) = delete;
  MappedRegion& operator=(const MappedRegion&) = delete;
  ~MappedRegion() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace profd::base
