// Sets of kinds with a name.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>

#include "format/kind.h"

namespace profd::format {

// Each once, in the order they came.
class KindList {
 public:
  constexpr KindList() = default;
  constexpr KindList(std::initializer_list<Kind> kinds) {
    for (const Kind kind : kinds) Add(kind);
  }

  constexpr void Add(Kind kind) {
    if (!Has(kind)) kinds_[size_++] = kind;
  }
  constexpr bool Has(Kind kind) const { return std::find(begin(), end(), kind) != end(); }
  constexpr const Kind* begin() const { return kinds_.data(); }
  constexpr const Kind* end() const { return kinds_.data() + size_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr KindList operator+(const KindList& others) const {
    KindList sum = *this;
    for (const Kind kind : others) sum.Add(kind);
    return sum;
  }

  constexpr bool operator==(const KindList&) const = default;

 private:
  std::array<Kind, kKindCount> kinds_{};
  size_t size_ = 0;
};

// Those of the table whose traits say so. `what`: (const KindTraits&) → bool.
template <typename What>
constexpr KindList KindsWith(What what) {
  KindList list;
  for (const KindTraits& traits : kKinds) {
    if (what(traits)) list.Add(traits.kind);
  }
  return list;
}
inline constexpr KindList kDeviceKinds =
    KindsWith([](const KindTraits& traits) { return traits.scope == Scope::kDevice; });
inline constexpr KindList kHostKinds =
    KindsWith([](const KindTraits& traits) { return IsOfHost(traits.scope); });
inline constexpr KindList kAgentKindList =
    KindsWith([](const KindTraits& traits) { return traits.scope == Scope::kAgent; });
// Without those that only who names them gets.
inline constexpr KindList kUsualDeviceKinds = KindsWith(
    [](const KindTraits& traits) { return traits.scope == Scope::kDevice && !traits.habits.by_name; });

struct Preset {
  std::string_view name;
  std::string_view about;
  KindList of_targets;  // with --pid
  KindList of_node;     // without
};
std::span<const Preset> Presets();
// nullptr for a name that is none.
const Preset* FindPreset(std::string_view name);

}  // namespace profd::format
