// The heads of the HTTP/2 frames (RFC 9113, 4.1) in bytes that go by, cut anywhere.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace profd::auth {

struct Frame {
  enum Type : uint8_t {
    kData = 0,
    kHeaders = 1,
    kReset = 3,
    kSettings = 4,
    kPing = 6,
    kWindowUpdate = 8,
    kContinuation = 9,
  };
  static constexpr uint8_t kAck = 1;        // of settings and pings
  static constexpr uint8_t kEndStream = 1;  // of headers and data
  static constexpr uint8_t kPadded = 8;

  uint32_t length = 0;
  uint8_t type = 0;
  uint8_t flags = 0;
  uint32_t stream = 0;
};

// **Thread:** one at a time.
class FrameScan {
 public:
  static constexpr size_t kClientPreface = 24;

  // `skip`: bytes before the first frame.
  explicit FrameScan(size_t skip = 0) : skip_(skip) {}

  // Calls `each(frame)` until it says no: how many of `bytes` come before the last byte of that frame's head,
  // which is seen again with what follows.
  template <typename Each>
  size_t Pass(std::string_view bytes, Each each) {
    return Pass(bytes, each, [](const Frame&, std::string_view) {});
  }
  // … and `payload(frame, piece)` for what is in them.
  template <typename Each, typename Payload>
  size_t Pass(std::string_view bytes, Each each, Payload payload) {
    size_t at = 0;
    while (at < bytes.size()) {
      if (skip_ > 0) {
        const size_t passed = std::min(skip_, bytes.size() - at);
        if (is_payload_) payload(frame_, bytes.substr(at, passed));
        skip_ -= passed;
        at += passed;
        continue;
      }
      head_[have_] = static_cast<uint8_t>(bytes[at]);
      if (have_ + 1 == head_.size()) {
        const Frame frame = Head();
        if (!each(frame)) return at;
        frame_ = frame;
        is_payload_ = true;
        skip_ = frame.length;
        have_ = 0;
      } else {
        ++have_;
      }
      ++at;
    }
    return at;
  }

 private:
  Frame Head() const {
    return {
        .length = uint32_t{head_[0]} << 16 | uint32_t{head_[1]} << 8 | head_[2],
        .type = head_[3],
        .flags = head_[4],
        .stream = (uint32_t{head_[5]} << 24 | uint32_t{head_[6]} << 16 | uint32_t{head_[7]} << 8 | head_[8]) &
                  0x7fffffffU};
  }

  size_t skip_;
  Frame frame_;              // that was begun last
  bool is_payload_ = false;  // what is skipped is of it
  std::array<uint8_t, 9> head_{};
  size_t have_ = 0;  // < head_.size()
};

}  // namespace profd::auth
