#include "client/show/screen/fit.h"

#include <algorithm>

namespace profd::client {

namespace {

// At most so many columns of a line that may hold colours.
std::string Clip(std::string_view line, size_t columns) {
  std::string out;
  size_t width = 0;
  bool escaped = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\033') escaped = true;
    const bool begins = (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    if (!escaped && begins && ++width > columns) break;
    out += c;
    if (escaped && c == 'm') escaped = false;
  }
  if (out.find('\033') != std::string::npos) out += "\033[0m";
  return out;
}

}  // namespace

std::string FitScreen(const std::string& text, size_t rows, const Look& look, std::string_view keys) {
  if (rows == 0) return text;
  std::string screen;
  size_t line = 0, from = 0;
  for (; line + 1 < rows && from < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', from), text.size());
    screen += Clip(std::string_view(text).substr(from, end - from), look.columns) + "\n";
    from = end + 1;
  }
  for (; line + 1 < rows; ++line) screen += "\n";
  return screen + Clip(keys, look.columns);
}

}  // namespace profd::client
