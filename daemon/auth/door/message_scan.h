// How much of a gRPC message has come that is not whole yet, which gRPC keeps until it is; of whole ones the
// largest, which it may keep until the call is over; and whether one is compressed. Five bytes stand before
// each message: a flag, and its length.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace profd::auth {

// What is said in one call. **Thread:** one at a time.
class MessageScan {
 public:
  void Add(std::string_view bytes) {
    while (!bytes.empty()) {
      if (of_head_ < kHeadBytes) {
        if (of_head_ == 0) compressed_ |= bytes.front() != 0;
        length_ = length_ << 8 | static_cast<uint8_t>(bytes.front());  // the flag goes out at the top
        bytes.remove_prefix(1);
        ++kept_;
        if (++of_head_ == kHeadBytes) left_ = length_;
      } else {
        const size_t taken = std::min<size_t>(left_, bytes.size());
        bytes.remove_prefix(taken);
        kept_ += taken;
        left_ -= static_cast<uint32_t>(taken);
      }
      if (of_head_ < kHeadBytes || left_ > 0) continue;
      if (length_ >= kLarge && length_ > whole_) whole_ = length_;
      of_head_ = length_ = 0;
      kept_ = padding_ + whole_;
    }
  }
  // Bytes that may be part of a message or not: they count until the call is over.
  void AddPadded(size_t bytes) {
    padding_ += bytes;
    kept_ += bytes;
  }
  size_t kept() const { return kept_; }
  // One of its messages is, or says what no message does.
  bool compressed() const { return compressed_; }

 private:
  static constexpr size_t kHeadBytes = 5;
  static constexpr uint32_t kLarge = 32 << 10;  // an agent says many smaller ones, of which nothing stays

  size_t of_head_ = 0;
  uint32_t length_ = 0, left_ = 0, whole_ = 0;
  size_t kept_ = 0, padding_ = 0;
  bool compressed_ = false;
};

}  // namespace profd::auth
