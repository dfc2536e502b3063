// Text on lines of a terminal.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace profd::base {

// Columns on a terminal: characters, not bytes.
inline size_t Width(std::string_view text) {
  size_t width = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) ++width;
  }
  return width;
}

// Words on lines of at most `columns`; a word that is longer stays whole.
inline std::vector<std::string> Broken(std::string_view text, size_t columns) {
  std::vector<std::string> lines;
  std::string line;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (!line.empty() && Width(line) + 1 + Width(word) > columns) {
      lines.push_back(std::move(line));
      line = word;
    } else {
      line += (at == 0 ? "" : " ") + std::string(word);
    }
    at = end + 1;
  }
  lines.push_back(std::move(line));
  return lines;
}

// Of stdout: COLUMNS, else the terminal's width, else 0.
inline size_t OwnColumns() {
  if (const char* given = std::getenv("COLUMNS"); given != nullptr) {
    if (const size_t columns = std::strtoul(given, nullptr, 10); columns > 0) return columns;
  }
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace profd::base
