// Lists in text: "a, b, c".
#pragma once

#include <functional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>

namespace profd::base {

// `word`, text or a number, at the end of `list`.
template <typename Word>
void AddTo(std::string& list, const Word& word, std::string_view between = ", ") {
  if (!list.empty()) list += between;
  if constexpr (std::is_arithmetic_v<Word>) {
    list += std::to_string(word);
  } else {
    list += word;
  }
}

// The items, or what `word` makes of each: a member or a function.
template <std::ranges::input_range Items, typename Word = std::identity>
std::string Joined(Items&& items, std::string_view between = ", ", Word word = {}) {
  std::string list;
  for (auto&& item : items) AddTo(list, std::invoke(word, item), between);
  return list;
}

}  // namespace profd::base
