#include "client/export/views/keyed_stats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace profd::client {

namespace {

constexpr size_t kNoColumn = SIZE_MAX;
constexpr int kFoldedBits = 39;  // of a double's 52

}  // namespace

double Stat::Mean() const {
  return count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(count);
}

void Quantile::Add(double value) {
  any_ = any_ || value >= 0;
  if (!(value > 0)) return;
  exact_.push_back(value);
  if (exact_.size() >= kExact) Fold();
}

void Quantile::Fold() {
  for (const double value : exact_) ++folded_[std::bit_cast<uint64_t>(value) >> kFoldedBits];
  exact_.clear();
}

// The value that `part` of all don't exceed: the one behind it, if it lies between two.
double Quantile::At(double part) {
  if (!folded_.empty()) Fold();
  uint64_t count = exact_.size();
  for (const auto& [bits, times] : folded_) count += times;
  if (count == 0) return any_ ? 0 : std::numeric_limits<double>::quiet_NaN();
  auto index = static_cast<uint64_t>(std::ceil(part * static_cast<double>(count - 1)));
  if (folded_.empty()) {
    std::nth_element(exact_.begin(), exact_.begin() + static_cast<ptrdiff_t>(index), exact_.end());
    return exact_[index];
  }
  for (const auto& [bits, times] : folded_) {
    if (index < times) return std::bit_cast<double>(bits << kFoldedBits | uint64_t{1} << (kFoldedBits - 1));
    index -= times;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

KeyedStats::Entry* KeyedStats::Find(int device, std::span<const int64_t> keys) {
  const auto is = [&](const Entry& entry) {
    return entry.device == device && std::equal(keys.begin(), keys.end(), entry.keys.begin());
  };
  // Rows of one moment come in the same order every time.
  if (!entries_.empty()) {
    if (++latest_ >= entries_.size()) latest_ = 0;
    if (is(entries_[latest_])) return &entries_[latest_];
  }
  std::array<int64_t, 4> key{device};
  std::copy(keys.begin(), keys.end(), key.begin() + 1);
  const auto found = index_.find(key);
  if (found != index_.end()) {
    latest_ = found->second;
    return &entries_[latest_];
  }
  if (entries_.size() >= kMaxEntries) return nullptr;
  latest_ = entries_.size();
  index_[key] = latest_;
  Entry& entry = entries_.emplace_back();
  entry.device = device;
  std::copy(keys.begin(), keys.end(), entry.keys.begin());
  entry.stats.resize(series_->columns.size());
  return &entry;
}

void KeyedStats::Add(const format::RowBatch& batch) {
  series_ = batch.series;
  const size_t columns = series_->columns.size(), keys = series_->keys.size();
  const size_t weight_at = weight_column_.empty() ? kNoColumn : Column(weight_column_);
  for (size_t row = 0; row < batch.rows(); ++row) {
    Entry* entry = Find(batch.device, std::span(batch.keys).subspan(row * keys, keys));
    if (entry == nullptr) {
      ++left_out_;
      continue;
    }
    const double* values = batch.values.data() + row * columns;
    const double weight = weight_at < columns ? values[weight_at] : 0;
    if (entry->rows++ == 0) entry->first_ns = batch.wall_ns[row];
    entry->last_ns = batch.wall_ns[row];
    for (size_t i = 0; i < columns; ++i) {
      const double value = values[i];
      if (std::isnan(value)) continue;
      Stat& stat = entry->stats[i];
      if (stat.count++ == 0) stat.min = stat.max = stat.first = value;
      stat.min = std::min(stat.min, value);
      stat.max = std::max(stat.max, value);
      stat.last = value;
      stat.sum += value;
      stat.weighted += value * weight;
    }
  }
}

void KeyedStats::Label(int device, size_t key, int64_t value, std::string_view text) {
  if (labels_.size() < 2 * kMaxEntries) labels_[{device, key, value}] = text;
}

size_t KeyedStats::Column(std::string_view name) const {
  for (size_t i = 0; series_ != nullptr && i < series_->columns.size(); ++i) {
    if (series_->columns[i].name == name) return i;
  }
  return kNoColumn;
}

std::vector<const KeyedStats::Entry*> KeyedStats::InOrder() const {
  auto entries = Sorted();
  std::stable_sort(entries.begin(), entries.end(), [](const Entry* a, const Entry* b) {
    return a->device == b->device && a < b;  // of one vector
  });
  return entries;
}

std::vector<const KeyedStats::Entry*> KeyedStats::Sorted() const {
  std::vector<const Entry*> sorted;
  for (const auto& [key, at] : index_) {
    Entry& entry = const_cast<Entry&>(entries_[at]);
    for (size_t i = 0; i < entry.keys.size(); ++i) {
      const auto label = labels_.find({entry.device, i, entry.keys[i]});
      if (label != labels_.end()) entry.labels[i] = label->second;
    }
    sorted.push_back(&entry);
  }
  std::stable_partition(sorted.begin(), sorted.end(), [](const Entry* entry) { return entry->device >= 0; });
  return sorted;
}

}  // namespace profd::client
