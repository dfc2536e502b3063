// Files of rows, in which profd's always-on summary keeps what programs do until somebody ships it.
//
//   # profd rows 1 table=steps node=n1 instance=1a2b3c4d sequence=0 since_ns=… uid=1001
//   "user","job",…                  columns of the table (client/lake/schema), times in ns
//   "ada","llm",…
//   # rows=1 first_ns=… last_ns=… crc32c=0123abcd          of all that stands before this line
//
// The name is TABLE_INSTANCE_SEQUENCE.rows; with a point in front it is still written, and has no last line.
// `instance` is another at each start of profd, and a name never comes again. A file has the rows of one user
// (`uid`; 4294967295: of several, or nobody's).
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace profd::format {

inline constexpr std::string_view kRowsEnd = ".rows";
inline constexpr std::string_view kRowsHead = "# profd rows 1 ",
                                  kRowsLast = "\n# rows=";  // how the lines begin

struct RowsName {
  std::string table, instance;
  uint64_t sequence = 0;
};
// "steps_1a2b3c4d_12.rows".
inline std::string NameOf(const RowsName& name) {
  return name.table + "_" + name.instance + "_" + std::to_string(name.sequence) + std::string(kRowsEnd);
}

inline std::optional<RowsName> ParseRowsName(std::string_view name) {
  if (!name.ends_with(kRowsEnd)) return std::nullopt;
  name.remove_suffix(kRowsEnd.size());
  const size_t last = name.rfind('_'), first = last == name.npos ? name.npos : name.rfind('_', last - 1);
  if (first == name.npos || first == 0) return std::nullopt;
  RowsName found{std::string(name.substr(0, first)), std::string(name.substr(first + 1, last - first - 1)),
                 0};
  const std::string_view digits = name.substr(last + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), found.sequence);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return found;
}

// Of "… key=value …" in the first or last line; "": it is not there.
inline std::string_view RowsWord(std::string_view line, std::string_view key) {
  for (size_t at = line.find(key); at != line.npos; at = line.find(key, at + 1)) {
    if (at == 0 || line[at - 1] != ' ' || line.substr(at + key.size(), 1) != "=") continue;
    line.remove_prefix(at + key.size() + 1);
    return line.substr(0, line.find_first_of(" \n"));
  }
  return "";
}
inline std::optional<uint64_t> RowsNumber(std::string_view line, std::string_view key, int base = 10) {
  const std::string_view word = RowsWord(line, key);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number, base);
  const bool is_number = !word.empty() && error == std::errc() && end == word.data() + word.size();
  return is_number ? std::optional(number) : std::nullopt;
}

}  // namespace profd::format
