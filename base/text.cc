#include "base/text.h"

#include <array>
#include <cstdint>

namespace profd::base {

namespace {

// Bytes of the UTF-8 character at the front of `text` (not empty), 0 when it is none or a control character.
size_t PlainCharacter(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  size_t length = 0;
  uint32_t value = 0;
  if ((first & 0xe0) == 0xc0) {
    length = 2;
    value = first & 0x1f;
  } else if ((first & 0xf0) == 0xe0) {
    length = 3;
    value = first & 0x0f;
  } else if ((first & 0xf8) == 0xf0) {
    length = 4;
    value = first & 0x07;
  } else {
    return 0;
  }
  if (text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    value = value << 6 | (byte(i) & 0x3f);
  }
  static constexpr std::array<uint32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = value >= 0xd800 && value < 0xe000;
  const bool is_control = value < 0xa0;  // C1 commands are two bytes long
  return value < kSmallest[length] || value > 0x10ffff || is_surrogate || is_control ? 0 : length;
}

}  // namespace

std::string OneLine(std::string_view untrusted, size_t max_bytes) {
  std::string text;
  while (!untrusted.empty()) {
    const size_t length = PlainCharacter(untrusted);
    const size_t taken = length == 0 ? 1 : length;
    if (text.size() + taken > max_bytes) break;
    if (length == 0) {
      text += '?';
    } else {
      text += untrusted.substr(0, length);
    }
    untrusted.remove_prefix(taken);
  }
  return text;
}

std::string Excerpt(std::string_view untrusted, size_t max_bytes) {
  std::string text = OneLine(untrusted, max_bytes);
  return text.size() < untrusted.size() ? text + "…" : text;
}

bool IsPlainText(std::string_view untrusted) {
  while (!untrusted.empty()) {
    const size_t length = PlainCharacter(untrusted);
    if (length == 0) return false;
    untrusted.remove_prefix(length);
  }
  return true;
}

}  // namespace profd::base
