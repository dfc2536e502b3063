#include "client/export/write/json_text.h"

#include <cstdint>

namespace profd::client {
namespace {

// Length of the UTF-8 sequence at the beginning of `text`, 0 if there is none.
size_t SequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xC2 && first < 0xE0   ? 2
                        : first >= 0xE0 && first < 0xF0 ? 3
                        : first >= 0xF0 && first < 0xF5 ? 4
                                                        : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool too_high = (first == 0xF4 && byte(1) > 0x8F) || (first == 0xED && byte(1) > 0x9F);
  return overlong || too_high ? 0 : length;
}

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

void AppendEscaped(std::string& to, char c) {
  constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '"':
      to += "\\\"";
      return;
    case '\\':
      to += "\\\\";
      return;
    case '\n':
      to += "\\n";
      return;
    case '\t':
      to += "\\t";
      return;
    case '\r':
      to += "\\r";
      return;
    default:
      break;
  }
  if (static_cast<uint8_t>(c) >= 0x20) {
    to += c;
    return;
  }
  to += "\\u00";
  to += kHex[c >> 4 & 15];
  to += kHex[c & 15];
}

}  // namespace

void AppendJsonString(std::string& to, std::string_view text) {
  to += '"';
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    if (length == 1) {
      AppendEscaped(to, text[0]);
    } else {
      to += length == 0 ? kReplacement : text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  to += '"';
}

std::string ValidUtf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    valid += length == 0 ? kReplacement : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return valid;
}

std::string_view JsonTexts::Get(const format::Texts& texts, format::TextId id) {
  if (of_ != &texts || bytes_ > kMostBytes) {
    known_.clear();
    bytes_ = 0;
    of_ = &texts;
  }
  if (id >= texts.size()) return "\"\"";
  if (id >= known_.size()) known_.resize(texts.size());
  std::string& json = known_[id];
  if (json.empty()) {
    AppendJsonString(json, texts.Get(id));
    bytes_ += json.size() + sizeof(json);
  }
  return json;
}

}  // namespace profd::client
