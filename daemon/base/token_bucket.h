// How much of something one may have at once, and how fast more of it comes.
#pragma once

#include <algorithm>
#include <cstdint>

namespace profd::base {

// **Thread:** one.
class TokenBucket {
 public:
  TokenBucket(double per_second, double most) : per_ns_(per_second / 1e9), most_(most), tokens_(most) {}

  // `now_ns` of a clock that does not go back.
  bool Take(uint64_t now_ns, double tokens = 1) {
    Fill(now_ns);
    if (tokens_ < tokens) return false;
    tokens_ -= tokens;
    return true;
  }
  // As if nothing had ever been taken.
  bool IsFull(uint64_t now_ns) {
    Fill(now_ns);
    return tokens_ >= most_;
  }

 private:
  void Fill(uint64_t now_ns) {
    if (last_ns_ != 0 && now_ns > last_ns_) {
      tokens_ = std::min(most_, tokens_ + static_cast<double>(now_ns - last_ns_) * per_ns_);
    }
    last_ns_ = std::max(last_ns_, now_ns);
  }

  double per_ns_;
  double most_;
  double tokens_;
  uint64_t last_ns_ = 0;
};

}  // namespace profd::base
