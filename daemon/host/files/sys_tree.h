// Small files of /proc and /sys, below a root that tests plant. What they hold is taken for any bytes at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace profd::host {

// **Thread:** any.
class SysTree {
 public:
  static constexpr size_t kMostBytes = 64 << 10;

  explicit SysTree(std::string root = "") : root_(std::move(root)) {}

  // The first `most` bytes of it; "" when it cannot be read.
  std::string Read(const std::string& path, size_t most = kMostBytes) const;
  // The first number in it.
  std::optional<uint64_t> Number(const std::string& path) const;
  bool Has(const std::string& path) const;
  // Of a folder, sorted, those that begin with `prefix`, at most 4096.
  std::vector<std::string> Names(const std::string& path, std::string_view prefix = "") const;
  const std::string& root() const { return root_; }

 private:
  std::string root_;
};

// The number that `text` begins with.
std::optional<uint64_t> LeadingNumber(std::string_view text);
// Of a line "<key> <number>" in `text`.
std::optional<uint64_t> NumberOf(std::string_view text, std::string_view key);
// The first line without its end; `text` becomes the rest.
std::string_view TakeLine(std::string_view& text);
// The first word, by blanks; `line` becomes the rest.
std::string_view TakeWord(std::string_view& line);

}  // namespace profd::host
