#include "client/report/text.h"

#include <cmath>
#include <cstdint>
#include <cstdio>

#include "client/words/text.h"

namespace profd::report {
namespace {

template <typename Value>
std::string Printed(const char* form, Value value) {
  char text[48];
  std::snprintf(text, sizeof text, form, value);
  return text;
}

}  // namespace

std::string Escaped(std::string_view untrusted) {
  constexpr size_t kMost = 300;
  std::string text;
  for (const char c : client::Excerpt(untrusted, kMost)) {
    switch (c) {
      case '&':
        text += "&amp;";
        break;
      case '<':
        text += "&lt;";
        break;
      case '>':
        text += "&gt;";
        break;
      case '"':
        text += "&quot;";
        break;
      case '\'':
        text += "&#39;";
        break;
      default:
        text += c;
    }
  }
  return text;
}

std::string InBlock(std::string json) {
  std::string text;
  text.reserve(json.size() + json.size() / 16);
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

std::string Ms(double ms) {
  if (!std::isfinite(ms)) return "–";
  if (ms >= 99.95) return Printed("%.0f", ms);
  return Printed(ms >= 0.995 || ms == 0 ? "%.1f" : "%.2f", ms);
}

std::string Length(double ms) {
  if (ms >= 1000) return Printed("%.2f s", ms / 1000);
  if (ms >= 0.9995) return Ms(ms) + " ms";
  return ms >= 0.0995 ? Printed("%.0f µs", ms * 1000) : Printed("%.1f µs", ms * 1000);
}

std::string Percent(double percent) { return Printed(percent < 9.95 ? "%.1f %%" : "%.0f %%", percent); }

std::string Count(size_t n, std::string_view one, std::string_view many) {
  return std::to_string(n) + " " + std::string(n == 1 ? one : many);
}

std::string Coordinate(double value) { return Printed("%.4g", std::isfinite(value) ? value : 0.0); }

std::string Runs(const std::vector<int64_t>& numbers) {
  constexpr size_t kMost = 12;
  std::string text;
  size_t runs = 0;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (++runs > kMost) return text + ", …";
    text += (text.empty() ? "" : ", ") + std::to_string(numbers[i]);
    if (last > i) text += (last == i + 1 ? ", " : "–") + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace profd::report
