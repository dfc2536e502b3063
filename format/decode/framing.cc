#include "format/decode/framing.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "format/decode/family.h"
#include "format/decode/units.h"

namespace profd::format {

namespace {

// Bit 7 of every byte of `word` that is no digit.
uint64_t NonDigits(uint64_t word) {
  constexpr uint64_t kEach = 0x0101010101010101;
  const uint64_t value = word ^ (kEach * '0');
  return (((value & kEach * 0x7f) + kEach * (0x7f - 9)) | value) & kEach * 0x80;
}

// Follows a data line from one character that is no digit to the next: what is between needs no look.
class LineWalk {
 public:
  LineWalk(const StreamFormat& format, std::string_view line) : format_(format), line_(line) {}

  bool IsPlausible() {
    size_t at = 0;
    for (uint64_t word; at + sizeof word <= line_.size(); at += sizeof word) {
      std::memcpy(&word, line_.data() + at, sizeof word);
      if (!TakeWord(word, at)) return false;
    }
    uint64_t word = 0x3030303030303030;  // what is behind the end are digits
    std::memcpy(&word, line_.data() + at, line_.size() - at);
    return TakeWord(word, at) && EndColumn(line_.size()) && columns_ >= format_.min_columns;
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  bool IsTime() const { return columns_ == 0 && format_.stamp == StampDomain::kTextDeviceNs; }

  bool TakeWord(uint64_t word, size_t at) {
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    for (uint64_t left = NonDigits(word); left != 0; left &= left - 1) {
      if (!Take(at + static_cast<size_t>(std::countr_zero(left)) / 8)) return false;
    }
    return true;
  }

  bool Take(size_t at) {
    if (line_[at] == ' ') return EndColumn(at);
    if (mark_ != kNone) return false;  // a column has one of them at most, but for a point before '%'
    const char c = line_[at];
    if (c == '%' && at > begin_) {
      mark_ = at;
      return (format_.percent_columns >> columns_ & 1) != 0 && point_ != at - 1;
    }
    if (c != (IsTime() ? ':' : '.') || at == begin_ || point_ != kNone) return false;
    point_ = at;
    return true;
  }

  bool EndColumn(size_t end) {
    const size_t begin = std::exchange(begin_, end + 1);
    const size_t point = std::exchange(point_, kNone);
    const size_t mark = std::exchange(mark_, kNone);
    if (end == begin) return true;  // another blank
    if (columns_ == format_.max_columns) return false;
    if (columns_ == 0 && format_.stamp == StampDomain::kTextDeviceNs) {
      // "<seconds>:<nanoseconds, 9 digits>": the vendor's reader drops the colon, so the zeros matter.
      if (point == kNone || end - point != 10) return false;
    } else {
      if ((format_.percent_columns >> columns_ & 1) != 0 && mark != end - 1) return false;
      if (point != kNone && point == end - 1) return false;
    }
    ++columns_;
    return true;
  }

  const StreamFormat& format_;
  const std::string_view line_;
  uint32_t columns_ = 0;
  size_t begin_ = 0;      // of the present column
  size_t point_ = kNone;  // its '.', or ':' in a time
  size_t mark_ = kNone;   // its '%'
};

}  // namespace

const StreamFormat* FindStreamFormat(std::string_view file, Chip chip, bool by_task) {
  // A chip nobody has described yet gets the common layouts.
  const std::string_view name = RowName(file);
  const auto find = [&](std::span<const FramingRow> rows) -> const StreamFormat* {
    for (const FramingRow& row : rows) {
      if (row.format.file == name && row.chips.Has(chip)) return &row.format;
    }
    return nullptr;
  };
  for (const Family& family : Families()) {
    if (const StreamFormat* format = by_task ? find(family.by_task) : nullptr) return format;
    if (const StreamFormat* format = find(family.framings)) return format;
  }
  return nullptr;
}

bool DiffersByChip(std::string_view file, bool by_task) {
  const std::string_view name = RowName(file);
  const auto is_here = [&](std::span<const FramingRow> rows, bool other_chips) {
    return std::ranges::any_of(rows, [&](const FramingRow& row) {
      return row.format.file == name && (!other_chips || row.chips != kEveryChip);
    });
  };
  return std::ranges::any_of(Families(), [&](const Family& family) {
    if (by_task && is_here(family.by_task, false)) return is_here(family.by_task, true);
    return is_here(family.framings, true);
  });
}

Units UnitsOf(const StreamFormat& format) {
  for (const Family& family : Families()) {
    for (const FramingRow& row : family.framings) {
      if (row.format.file == format.file && row.format.record_bytes == format.record_bytes &&
          row.format.max_columns == format.max_columns)
        return row.units;
    }
  }
  return {};
}

double TickBytes(const StreamFormat& format, Chip chip) {
  for (const Family& family : Families()) {
    for (const FramingRow& row : family.framings) {
      if (row.format.file != format.file || !row.chips.Has(chip)) continue;
      for (const Tick& tick : row.ticks) {
        if (tick.chips.Has(chip))
          return tick.records * (tick.record_bytes > 0 ? tick.record_bytes : format.record_bytes);
      }
    }
  }
  return double{1} * format.record_bytes * std::max(format.records_per_period, 1U);
}

bool PlausibleLine(const StreamFormat& format, std::string_view line) {
  return format.max_columns == 0 || LineWalk(format, line).IsPlausible();
}

bool IsHeaderLine(std::string_view line) {
  if (line.empty() || line[0] == ' ') return false;
  bool begins = true;  // a word
  for (const char c : line) {
    if (begins && c != ' ' && !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return false;
    begins = c == ' ';
  }
  return true;
}

}  // namespace profd::format
