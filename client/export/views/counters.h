// From the rows of a series to named counters: what chrome and perfetto have in common.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "client/export/views/counter_tables.h"
#include "format/series.h"

namespace profd::client {

// A CounterArg of one set of keys, its name filled in and its column found.
struct BoundArg {
  std::string name;
  int column = -1, second = -1, key = -1;
  double scale = 1;
  CounterArg::Form form = CounterArg::Form::kNumber;

  // NaN: the row has no value here.
  double Of(const int64_t* keys, const double* values) const {
    if (key >= 0) return static_cast<double>(keys[key]);
    return (second >= 0 ? values[column] + values[second] : values[column]) * scale;
  }
};

struct BoundEvent {
  const CounterEvent* event = nullptr;
  std::string name;
  std::vector<BoundArg> args;
};

// What the values of keys are called. **Thread:** one.
class Labels {
 public:
  void Set(const format::Series& series, int device, size_t key, int64_t value, std::string_view text);
  std::string_view Get(const format::Series& series, int device, size_t key, int64_t value) const;

 private:
  static constexpr size_t kMost = 1 << 16;
  std::map<std::tuple<std::string_view, int, size_t, int64_t>, std::string> texts_;
};

// The events of `table` for rows with these keys. Sources that the series does not have are left out.
struct Flavour {
  bool vendor_compatible = false, older = false;
};
std::vector<BoundEvent> BindEvents(const CounterTable& table, const format::Series& series, int device,
                                   std::span<const int64_t> keys, const Labels& labels, Flavour flavour);

// Which number has a set of keys, of at most kMost different ones. Rows mostly come in rounds, so the next
// set is the one that followed last time. **Thread:** one.
class KeySets {
 public:
  static constexpr size_t kMost = 4096;
  static constexpr size_t kMaxKeys = 3;
  using Keys = std::array<int64_t, kMaxKeys>;

  explicit KeySets(size_t keys) : count_(std::min(keys, kMaxKeys)) {}
  // nullopt: there are too many. `fresh`: it has just got its number.
  std::optional<uint32_t> Find(const int64_t* keys, bool& fresh);

 private:
  std::optional<uint32_t> Search(const Keys& keys, bool& fresh);

  size_t count_;
  std::vector<Keys> sets_;
  std::map<Keys, uint32_t> index_;
  std::vector<uint32_t> follows_;
  uint32_t last_ = 0;
};

// Rows as counters of an output, which says what a Counter is. **Thread:** one.
template <typename Counter>
class CounterRows {
 public:
  // `all`: also what the vendor's timeline leaves out.
  explicit CounterRows(bool all) : all_(all) {}

  void Label(const format::Series& series, int device, size_t key, int64_t value, std::string_view text) {
    labels_.Set(series, device, key, value, text);
  }
  // `make` appends the counters of one table when a set of keys comes for the first time:
  // make(table, batch, keys, labels, counters); `write` gets each counter of a row: write(counter, wall_ns,
  // keys, values).
  template <typename Make, typename Write>
  void Rows(const format::RowBatch& batch, Make make, Write write) {
    State& state = StateOf(batch);
    if (state.tables.empty()) return;
    const size_t keys = batch.series->keys.size(), columns = batch.series->columns.size();
    for (size_t row = 0; row < batch.rows(); ++row) {
      const std::span row_keys(batch.keys.data() + row * keys, keys);
      bool fresh = false;
      const auto set = state.sets.Find(row_keys.data(), fresh);
      if (!set) {
        ++left_out_;
        continue;
      }
      if (fresh) {
        std::vector<Counter>& counters = state.counters.emplace_back();
        for (const CounterTable* table : state.tables) make(*table, batch, row_keys, labels_, counters);
      }
      const double* values = batch.values.data() + row * columns;
      for (Counter& counter : state.counters[*set])
        write(counter, batch.wall_ns[row], row_keys.data(), values);
    }
  }
  template <typename Visit>
  void ForEach(Visit visit) {
    for (const auto& state : states_) {
      for (std::vector<Counter>& counters : state->counters) {
        for (Counter& counter : counters) visit(counter);
      }
    }
  }
  // Rows of more sets of keys than there is room for.
  uint64_t left_out() const { return left_out_; }

 private:
  struct State {
    const format::Series* series;
    int device;
    std::vector<const CounterTable*> tables;
    KeySets sets;
    std::vector<std::vector<Counter>> counters;  // by key set
  };
  State& StateOf(const format::RowBatch& batch) {
    for (const auto& state : states_)
      if (state->series == batch.series && state->device == batch.device) return *state;
    states_.push_back(std::make_unique<State>(State{batch.series,
                                                    batch.device,
                                                    FindCounterTables(batch.series->name, all_),
                                                    KeySets(batch.series->keys.size()),
                                                    {}}));
    return *states_.back();
  }

  const bool all_;
  Labels labels_;
  std::vector<std::unique_ptr<State>> states_;
  uint64_t left_out_ = 0;
};

}  // namespace profd::client
