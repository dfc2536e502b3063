#include <algorithm>

#include "client/export/views/counter_tables.h"

namespace profd::client {
namespace {

std::string Padded(int64_t value, size_t digits) {
  std::string text = std::to_string(value);
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
  return text;
}

// Item number `index` of "A|B|C"; the number itself where the list is too short.
std::string Choice(std::string_view list, int64_t index) {
  for (int64_t i = 0; i <= index; ++i) {
    const size_t bar = list.find('|');
    if (i == index) return std::string(list.substr(0, bar));
    if (bar == list.npos) break;
    list.remove_prefix(bar + 1);
  }
  return std::to_string(index);
}

std::string Field(std::string_view field, const format::Series& series, std::span<const int64_t> keys,
                  std::span<const std::string_view> labels) {
  const size_t name_size = std::min(field.find_first_of(":%?!"), field.size());
  const std::string_view name = field.substr(0, name_size);
  const std::string_view rest = name_size < field.size() ? field.substr(name_size + 1) : std::string_view();
  for (size_t i = 0; i < series.keys.size() && i < keys.size(); ++i) {
    if (series.keys[i] != name) continue;
    if (name_size == field.size())
      return i < labels.size() && !labels[i].empty() ? std::string(labels[i]) : std::to_string(keys[i]);
    switch (field[name_size]) {
      case ':':
        return keys[i] < 0 ? std::to_string(keys[i]) : Choice(rest, keys[i]);
      case '!':
        return keys[i] < 0 ? std::string(rest) : std::to_string(keys[i]);
      case '%':
        return Padded(keys[i], static_cast<size_t>(rest.empty() ? 0 : rest[0] - '0'));
      default:
        break;
    }
    const size_t bar = std::min(rest.find('|'), rest.size());
    if (keys[i] < 0) return std::string(rest.substr(std::min(bar + 1, rest.size())));
    const std::string_view text = rest.substr(0, bar);
    const size_t hash = std::min(text.find('#'), text.size());
    return std::string(text.substr(0, hash)) + std::to_string(keys[i]) +
           std::string(text.substr(std::min(hash + 1, text.size())));
  }
  return "?";
}

}  // namespace

std::string FillName(std::string_view name, const format::Series& series, std::span<const int64_t> keys,
                     std::span<const std::string_view> labels) {
  std::string text;
  while (!name.empty()) {
    const size_t open = name.find('{');
    const size_t close = open == name.npos ? name.npos : name.find('}', open);
    text += name.substr(0, close == name.npos ? name.npos : open);
    if (close == name.npos) break;
    text += Field(name.substr(open + 1, close - open - 1), series, keys, labels);
    name.remove_prefix(close + 1);
  }
  return text;
}

}  // namespace profd::client
