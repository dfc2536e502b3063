// The host ring of a started channel: a shared mapping named sim-ring, a 4 KiB header and a byte stream
// behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace profd::sim {

// **Thread:** whoever holds the channel's lock. **Owns:** the mapping.
class Ring {
 public:
  static constexpr size_t kHeaderBytes = 4096;

  Ring() = default;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() { Unmap(); }

  bool Map(size_t bytes);  // header and data together
  void Unmap();
  bool mapped() const { return header_ != nullptr; }

  size_t capacity() const { return capacity_; }  // one byte of it stays free
  size_t used() const {
    if (!mapped()) return 0;
    const uint32_t read = header_->read, write = header_->write;
    return write >= read ? write - read : capacity_ - read + write;
  }
  size_t room() const { return capacity_ - used() - 1; }
  bool empty() const { return used() == 0; }

  // Copies without looking at the reader; the bytes that it will never see because the writer passed it.
  size_t Write(std::string_view data);
  size_t Read(char* out, size_t size);

  // The data area as plain memory, for prepared content.
  char* data() { return reinterpret_cast<char*>(header_) + kHeaderBytes; }

 private:
  struct Header {
    uint32_t read, write, data_len, pad;
  };
  Header* header_ = nullptr;
  size_t capacity_ = 0;
};

}  // namespace profd::sim
