#include "daemon/host/stacks/python_code.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

namespace profd::host {

namespace {

constexpr uint64_t kMaxCharacters = 300, kMaxTableBytes = 64 << 10;
constexpr size_t kTextBytes = 40;  // of a text, what is looked at:
constexpr size_t kLength = 16, kState = 32;
constexpr uint64_t kBytesSize = 16, kBytesValue = 32;  // of a bytes object
constexpr int64_t kUnitBytes = 2;                      // of instructions

template <typename T, size_t N>
T At(const std::array<std::byte, N>& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

void AppendCharacter(std::string& text, uint32_t character) {
  if (character < 0x80) {
    text += static_cast<char>(character);
  } else if (character < 0x800) {
    text += static_cast<char>(0xc0 | character >> 6);
    text += static_cast<char>(0x80 | (character & 0x3f));
  } else if (character < 0x10000) {
    text += static_cast<char>(0xe0 | character >> 12);
    text += static_cast<char>(0x80 | (character >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (character & 0x3f));
  } else {
    text += static_cast<char>(0xf0 | (character >> 18 & 7));
    text += static_cast<char>(0x80 | (character >> 12 & 0x3f));
    text += static_cast<char>(0x80 | (character >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (character & 0x3f));
  }
}

std::optional<std::string> ReadText(ProcessMemory& memory, const PythonLayout& layout, uint64_t at) {
  const auto head = memory.Get<std::array<std::byte, kTextBytes>>(at);
  if (!head) return std::nullopt;
  const auto state = At<uint32_t>(*head, kState);
  const uint32_t width = state >> 2 & 7;
  const bool compact = (state >> 5 & 1) != 0, ascii = (state >> 6 & 1) != 0;
  const uint64_t length = std::min(At<uint64_t>(*head, kLength), kMaxCharacters);
  if (!compact || (width != 1 && width != 2 && width != 4)) return std::nullopt;
  std::array<std::byte, 4 * kMaxCharacters> bytes;
  const auto wanted = std::span(bytes).first(length * width);
  if (memory.Read(at + (ascii ? layout.ascii_bytes : layout.compact_bytes), wanted) != wanted.size())
    return std::nullopt;
  std::string text;
  for (size_t i = 0; i < length; ++i) {
    uint32_t character = 0;
    std::memcpy(&character, bytes.data() + i * width, width);
    AppendCharacter(text, character);
  }
  return text;
}

std::string ReadTable(ProcessMemory& memory, uint64_t at) {
  const auto size = memory.Get<uint64_t>(at + kBytesSize);
  if (!size || *size > kMaxTableBytes) return "";
  std::string table(*size, '\0');
  table.resize(memory.Read(at + kBytesValue, std::as_writable_bytes(std::span(table))));
  return table;
}

// Pairs: so many bytes further on, so many lines further down.
int64_t LineByPairs(std::string_view table, int64_t line, int64_t at) {
  int64_t end = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    end += static_cast<uint8_t>(table[i]);
    if (end > at) break;
    line += static_cast<int8_t>(table[i + 1]);
  }
  return line;
}

// Pairs: a line so many lines further down, of that many bytes; -128: of none.
int64_t LineByRanges(std::string_view table, int64_t line, int64_t at) {
  constexpr int8_t kNone = -128;
  int64_t end = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    end += static_cast<uint8_t>(table[i]);
    const auto further = static_cast<int8_t>(table[i + 1]);
    if (further != kNone) line += further;
    if (at < end) return further == kNone ? 0 : line;
  }
  return 0;
}

// Bytes of which the first alone has its highest bit set: what follows, and how many instructions it is of.
class Locations {
 public:
  explicit Locations(std::string_view table) : rest_(table) {}

  int64_t Line(int64_t line, int64_t at) {
    int64_t end = 0;
    while (!rest_.empty()) {
      const uint8_t head = Byte();
      const unsigned code = head >> 3 & 15;
      end += ((head & 7) + 1) * kUnitBytes;
      line += Further(code);
      while (!rest_.empty() && (rest_.front() & 0x80) == 0) rest_.remove_prefix(1);
      if (at < end) return code == kNone ? 0 : line;
    }
    return 0;
  }

 private:
  static constexpr unsigned kOneLine = 10, kOneLines = 3, kNoColumns = 13, kLong = 14, kNone = 15;

  uint8_t Byte() {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return byte;
  }
  int64_t Further(unsigned code) {
    if (code >= kOneLine && code < kOneLine + kOneLines) return code - kOneLine;
    if (code != kNoColumns && code != kLong) return 0;
    uint32_t number = 0;
    for (unsigned shift = 0; shift < 30; shift += 6) {
      const uint8_t byte = Byte();
      number |= static_cast<uint32_t>(byte & 63) << shift;
      if ((byte & 64) == 0) break;
    }
    const auto size = static_cast<int64_t>(number >> 1);
    return (number & 1) != 0 ? -size : size;
  }

  std::string_view rest_;
};

}  // namespace

std::optional<PythonCode> ReadPythonCode(ProcessMemory& memory, const PythonLayout& layout,
                                         uint64_t code_type, uint64_t at) {
  const auto bytes = memory.Get<std::array<std::byte, kPythonCodeBytes>>(at);
  if (!bytes || At<uint64_t>(*bytes, kPythonType) != code_type) return std::nullopt;
  auto name = ReadText(memory, layout, At<uint64_t>(*bytes, layout.name));
  auto file = ReadText(memory, layout, At<uint64_t>(*bytes, layout.file_name));
  if (!name || !file) return std::nullopt;
  const auto line = static_cast<uint32_t>(std::max(0, At<int32_t>(*bytes, layout.first_line)));
  uint64_t frame_bytes = 0;
  if (layout.entered != PythonLayout::Entered::kFrame) {
    const auto words =
        At<uint32_t>(*bytes, layout.first_line - 4) + At<uint32_t>(*bytes, layout.first_line + 4);
    frame_bytes = kPythonFrameHead + uint64_t{8} * words;
  }
  return PythonCode{{std::move(*name), std::move(*file), line},
                    ReadTable(memory, At<uint64_t>(*bytes, layout.table)),
                    frame_bytes};
}

uint32_t PythonLine(PythonLayout::Lines lines, std::string_view table, uint32_t first_line, int64_t at) {
  if (at < 0) return first_line;
  int64_t line = 0;
  switch (lines) {
    case PythonLayout::Lines::kPairs:
      line = LineByPairs(table, first_line, at);
      break;
    case PythonLayout::Lines::kRanges:
      line = LineByRanges(table, first_line, at);
      break;
    case PythonLayout::Lines::kLocations:
      line = Locations(table).Line(first_line, at);
      break;
  }
  return line > 0 && line <= INT32_MAX ? static_cast<uint32_t>(line) : 0;
}

}  // namespace profd::host
