#include "daemon/host/files/sys_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/unique_fd.h"

namespace profd::host {

namespace {

constexpr size_t kMaxNames = 4096;

}  // namespace

std::string SysTree::Read(const std::string& path, size_t most) const {
  const base::UniqueFd fd(::open((root_ + path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::string text;
  if (!fd) return text;
  char buffer[4096];
  while (text.size() < most) {
    const ssize_t got = ::read(fd.get(), buffer, std::min(sizeof buffer, most - text.size()));
    if (got <= 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

std::optional<uint64_t> SysTree::Number(const std::string& path) const { return LeadingNumber(Read(path)); }

bool SysTree::Has(const std::string& path) const { return ::access((root_ + path).c_str(), F_OK) == 0; }

std::vector<std::string> SysTree::Names(const std::string& path, std::string_view prefix) const {
  std::vector<std::string> names;
  DIR* dir = ::opendir((root_ + path).c_str());
  if (dir == nullptr) return names;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && name.starts_with(prefix) && names.size() < kMaxNames)
      names.emplace_back(name);
  }
  ::closedir(dir);
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<uint64_t> LeadingNumber(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

std::optional<uint64_t> NumberOf(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = TakeLine(text);
    if (TakeWord(line) == key) return LeadingNumber(TakeWord(line));
  }
  return std::nullopt;
}

std::string_view TakeLine(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string_view TakeWord(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  const size_t end = std::min(line.find_first_of(" \t"), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

}  // namespace profd::host
