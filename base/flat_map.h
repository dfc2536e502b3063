// A hash table of trivially copyable values by a 64-bit key: no allocation per entry, bounded, total.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace profd::base {

// Open addressing with linear probing; erasing shifts back, so there are no tombstones. At most
// `max_entries`.
// **Thread:** one. Pointers are good until the next call that is not const.
template <typename Value>
class FlatMap {
  static_assert(std::is_trivially_copyable_v<Value>);

 public:
  explicit FlatMap(size_t max_entries) : max_entries_(max_entries), slots_(kFirstSlots) {}

  size_t size() const { return size_; }
  bool full() const { return size_ >= max_entries_; }

  Value* Find(uint64_t key) {
    size_t at = Slot(key);
    return slots_[at].used ? &slots_[at].value : nullptr;
  }
  // The value of `key`, made if there was none; nullptr when there is no room for another one.
  Value* FindOrAdd(uint64_t key) {
    size_t at = Slot(key);
    if (slots_[at].used) return &slots_[at].value;
    if (full()) return nullptr;
    if ((size_ + 1) * 2 > slots_.size()) {
      Grow();
      at = Slot(key);
    }
    slots_[at] = {key, Value{}, true};
    ++size_;
    return &slots_[at].value;
  }
  void Erase(uint64_t key) {
    size_t hole = Slot(key), mask = slots_.size() - 1;
    if (!slots_[hole].used) return;
    for (size_t at = (hole + 1) & mask; slots_[at].used; at = (at + 1) & mask) {
      // An entry may move into the hole if its home isn't between the hole and where it is.
      if (((at - Home(slots_[at].key)) & mask) < ((at - hole) & mask)) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole].used = false;
    --size_;
  }
  template <typename Visit>
  void ForEach(Visit visit) {
    for (Entry& entry : slots_) {
      if (entry.used) visit(entry.key, entry.value);
    }
  }
  // Keeps its memory.
  void Clear() {
    for (Entry& entry : slots_) entry.used = false;
    size_ = 0;
  }

 private:
  static constexpr size_t kFirstSlots = 64;
  struct Entry {
    uint64_t key = 0;
    Value value{};
    bool used = false;
  };

  // Neighbouring keys share cache lines, eight at a time.
  size_t Home(uint64_t key) const {
    uint64_t hash = key >> 3;
    hash = (hash ^ (hash >> 32)) * 0x9E3779B97F4A7C15u;
    return ((hash ^ (hash >> 29)) << 3 | (key & 7)) & (slots_.size() - 1);
  }
  size_t Slot(uint64_t key) const {
    size_t at = Home(key), mask = slots_.size() - 1;
    while (slots_[at].used && slots_[at].key != key) at = (at + 1) & mask;
    return at;
  }
  void Grow() {
    std::vector<Entry> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Entry& entry : old) {
      if (entry.used) slots_[Slot(entry.key)] = entry;
    }
  }

  size_t max_entries_, size_ = 0;
  std::vector<Entry> slots_;  // a power of two, at most half used
};

}  // namespace profd::base
