// What the vendor's library is called and what it answers, byte by byte, while somebody wants to know: for
// `profctl doctor --hardware` and `profctl capture`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace profd::driver {

inline constexpr uint32_t kOfNoDevice = UINT32_MAX;

struct TapedCall {
  uint64_t began_ns = 0, ended_ns = 0;  // host raw
  uint32_t device = kOfNoDevice;
  uint32_t channel = 0;   // 0: of none
  std::string_view call;  // the function's name; lives as long as the program
  int32_t code = 0;       // of a read: bytes
  std::vector<std::byte> given = {}, answered = {};
};

// Calls beyond its bounds, and what they brought.
struct LeftOut {
  uint64_t calls = 0, bytes = 0;
};

// **Thread:** any. Holds no more than it is allowed to, and of one channel no more than an eighth of that:
// what the channel brought up to there, without a hole, and all its starts and stops.
class Tape {
 public:
  Tape(std::vector<uint32_t> devices, uint64_t most_bytes);

  // Calls of no device are always wanted.
  bool Wants(uint32_t device) const;
  void Add(TapedCall call);
  // The oldest of those that have not been taken, as many as `most_bytes` are of, at least one.
  std::vector<TapedCall> Take(uint64_t most_bytes);
  LeftOut left_out() const;

 private:
  static uint64_t SizeOf(const TapedCall& call);

  const std::vector<uint32_t> devices_;
  const uint64_t most_bytes_;
  mutable std::mutex mutex_;
  std::deque<TapedCall> calls_;
  struct Heard {
    uint64_t bytes = 0;
    bool is_full = false;
  };
  uint64_t bytes_ = 0;                                       // ever added
  std::map<std::pair<uint32_t, uint32_t>, Heard> channels_;  // the same
  LeftOut left_out_;
};

}  // namespace profd::driver
