// What is left of a series in a table: sums, extremes and means by key.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "format/series.h"

namespace profd::client {

// Of the values that are numbers.
struct Stat {
  uint64_t count = 0;
  double sum = 0, min = 0, max = 0, first = 0, last = 0;
  double weighted = 0;  // sum of value × the row's weight

  double Mean() const;  // NaN of none
};

// Values above zero, for a high percentile: exact while they are few, within 0.01 % when they are many.
// **Thread:** one.
class Quantile {
 public:
  void Add(double value);
  // NaN of none; 0 when nothing was above.
  double At(double part);

 private:
  static constexpr size_t kExact = 1 << 16;
  void Fold();
  bool any_ = false;
  std::vector<double> exact_;
  std::map<uint64_t, uint64_t> folded_;  // rounded bits → how many
};

// Of one series. **Thread:** one.
class KeyedStats {
 public:
  static constexpr size_t kMaxEntries = 1 << 16;
  struct Entry {
    int device = -1;
    std::array<int64_t, 3> keys{};
    std::vector<Stat> stats;  // by column
    uint64_t rows = 0, first_ns = 0, last_ns = 0;
    std::array<std::string, 3> labels;  // of keys
  };

  explicit KeyedStats(std::string_view weight_column = {}) : weight_column_(weight_column) {}
  void Add(const format::RowBatch& batch);
  void Label(int device, size_t key, int64_t value, std::string_view text);

  // By device (the host last), then keys.
  std::vector<const Entry*> Sorted() const;
  // By device, then as they came.
  std::vector<const Entry*> InOrder() const;
  size_t Column(std::string_view name) const;
  const format::Series& series() const { return *series_; }  // of stats that have rows
  uint64_t left_out() const { return left_out_; }

 private:
  Entry* Find(int device, std::span<const int64_t> keys);

  const std::string weight_column_;
  const format::Series* series_ = nullptr;
  std::vector<Entry> entries_;
  std::map<std::array<int64_t, 4>, size_t> index_;
  std::map<std::tuple<int, size_t, int64_t>, std::string> labels_;
  size_t latest_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace profd::client
