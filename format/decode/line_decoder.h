// Decoders of text: one line at a time.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "format/decode/decoder.h"
#include "format/decode/framing.h"

namespace profd::format {

// **Thread:** one.
class LineDecoder : public Decoder {
 public:
  using Decoder::Decoder;
  void Take(std::span<const std::byte> whole) final {
    std::string_view text(reinterpret_cast<const char*>(whole.data()), whole.size());
    while (!text.empty()) {
      size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      const size_t bytes = end == std::string_view::npos ? text.size() : end + 1;
      SetHere(whole.size() - text.size(), bytes);
      text.remove_prefix(bytes);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      Line(line);
    }
    SetHere(0, 0);
  }

 protected:
  virtual void Line(std::string_view line) = 0;
};

// Rows of a table that may have headings between them. **Thread:** one.
class TableDecoder : public LineDecoder {
 public:
  using LineDecoder::LineDecoder;

 protected:
  void Line(std::string_view line) override {
    if (line.empty() || IsHeaderLine(line)) return;
    ++records_;
    Row(line);
  }
  virtual void Row(std::string_view line) = 0;
};

// The words of a line, by blanks.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}
  // "" when there is none left.
  std::string_view Next() {
    size_t begin = 0;
    while (begin < rest_.size() && IsBlank(rest_[begin])) ++begin;
    size_t end = begin;
    while (end < rest_.size() && !IsBlank(rest_[end])) ++end;
    const std::string_view word = rest_.substr(begin, end - begin);
    rest_.remove_prefix(end);
    return word;
  }
  std::string_view rest() const { return rest_; }

 private:
  static bool IsBlank(char c) { return c == ' ' || c == '\t'; }

  std::string_view rest_;
};

// The whole of `text` as a number; nothing else may be there.
template <typename Number>
std::optional<Number> ToNumber(std::string_view text, int base = 10) {
  Number number{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}
inline std::optional<double> ToDouble(std::string_view text) {
  constexpr size_t kExactDigits = 15;
  uint64_t whole = 0;
  size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9' && digits <= kExactDigits;
       ++digits) {
    whole = whole * 10 + static_cast<uint64_t>(text[digits] - '0');
  }
  // Most are no more than a few digits.
  if (digits == text.size() && digits > 0 && digits <= kExactDigits) return static_cast<double>(whole);
  double number = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace profd::format
