// What the records of a kind mean: rows of numbers on the wall clock, in base units, the same for every
// output. A decoder (format/decode/) makes rows, an output (client/export/) scales and names them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "format/kind.h"

namespace profd::format {

inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

enum class Unit : uint8_t {
  kNone,   // raw value of the hardware, or a running number
  kBytes,  // 1024-based prefixes in outputs
  kBytesPerSecond,
  kRatio,  // 1 = 100 %
  kNs,
  kHz,
  kCount,
  kPerSecond,
};

struct SeriesColumn {
  std::string_view name;
  Unit unit = Unit::kNone;
};

// Shape of the rows of one kind.
struct Series {
  std::string_view name;               // "hbm": unique, also the key of the outputs' tables
  Kind kind = Kind::kHbm;              // its first; files of other kinds may have such rows, too
  std::vector<std::string_view> keys;  // what tells rows of one moment apart: {"id", "write"}; at most 3
  std::vector<SeriesColumn> columns;   // at most 24
};

// Rows of one series of one unit. Each row: a stamp, keys.size() integers, columns.size() numbers (kNoValue
// is "no value here"). Stamps of one batch ascend; batches of one (series, device, keys) follow each other in
// time.
struct RowBatch {
  const Series* series = nullptr;
  int device = -1;  // -1: the host
  std::vector<uint64_t> wall_ns;
  std::vector<int64_t> keys;
  std::vector<double> values;
  std::string_view kind = {};  // of the file they are from, as --kinds names it

  size_t rows() const { return wall_ns.size(); }
  void Clear() { wall_ns.clear(), keys.clear(), values.clear(); }
};

// Where decoders put what they find. **Thread:** one.
class RowSink {
 public:
  virtual ~RowSink() = default;
  // What a value of keys[key] is called: a process by its pid, a bandwidth by its number. Before the rows, or
  // between them; the same may come again.
  virtual void Label(const Series& series, int device, size_t key, int64_t value, std::string_view text) {
    static_cast<void>(series), static_cast<void>(device), static_cast<void>(key), static_cast<void>(value);
    static_cast<void>(text);
  }
  virtual void Rows(const RowBatch& batch) = 0;
};

}  // namespace profd::format
