// The shape of a kind's data lines, learned from one that was checked in full: most lines of a stream have
// it, and to see that costs a tenth of parsing them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "format/decode/framing.h"

namespace profd::device {

// **Thread:** one.
class LineShape {
 public:
  explicit LineShape(const format::StreamFormat& format);

  struct Line {
    std::string_view text;  // without its end
    bool fits;  // format::PlausibleLine(), but for what only a column-wise look would find in the right shape
  };
  // The one that `text` begins with; none: it has no end there.
  std::optional<Line> First(std::string_view text);

 private:
  bool Fits(std::string_view line);
  bool LooksLikeTheLast(std::string_view line) const;

  const format::StreamFormat* format_;
  const bool timed_;     // lines begin with "<seconds>:<nanoseconds>"
  size_t colon_ = 0;     // where that colon is
  size_t length_ = 0;    // of the last line
  uint32_t blanks_ = 0;  // 0 = nothing learned yet
};

}  // namespace profd::device
