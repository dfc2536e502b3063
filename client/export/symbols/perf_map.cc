#include "client/export/symbols/perf_map.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <fstream>

#include "base/unique_fd.h"

namespace profd::client {

namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr off_t kMaxBytes = 256 << 20;

// The number of a process where it lives: the last of its numbers.
std::string OwnNumber(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("NSpid:")) return line.substr(line.find_last_of(" \t") + 1);
  }
  return {};
}

std::string ReadTrusted(const std::string& path, uint64_t since_wall_ns) {
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts {};
  if (!fd || ::fstat(fd.get(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size > kMaxBytes)
    return {};
  // Root looks at everybody's; a map of somebody else would only put names into root's own pictures.
  const bool trusted = facts.st_uid == ::geteuid() || facts.st_uid == 0 || ::geteuid() == 0;
  if (!trusted || static_cast<uint64_t>(facts.st_mtim.tv_sec + 1) * kSecond < since_wall_ns) return {};
  std::string text(static_cast<size_t>(facts.st_size), '\0');
  size_t read = 0;
  for (ssize_t got;
       read < text.size() && (got = ::read(fd.get(), text.data() + read, text.size() - read)) > 0;)
    read += static_cast<size_t>(got);
  text.resize(read);
  return text;
}

}  // namespace

PerfMap PerfMap::Of(pid_t pid, uint64_t since_wall_ns) {
  const std::string number = std::to_string(pid);
  if (const std::string inside = OwnNumber(pid); !inside.empty()) {
    const std::string text =
        ReadTrusted("/proc/" + number + "/root/tmp/perf-" + inside + ".map", since_wall_ns);
    if (!text.empty()) return Parse(text);
  }
  return Parse(ReadTrusted("/tmp/perf-" + number + ".map", since_wall_ns));
}

PerfMap PerfMap::Parse(std::string_view text) {
  PerfMap map;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const char* end = line.data() + line.size();
    uint64_t begin = 0, bytes = 0;
    const auto first = std::from_chars(line.data(), end, begin, 16);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ') continue;
    const auto second = std::from_chars(first.ptr + 1, end, bytes, 16);
    if (second.ec != std::errc() || second.ptr == end || *second.ptr != ' ' || bytes > UINT64_MAX - begin)
      continue;
    map.functions_.insert_or_assign(begin, Function{begin + bytes, std::string(second.ptr + 1, end)});
  }
  return map;
}

std::string_view PerfMap::Find(uint64_t address) const {
  auto after = functions_.upper_bound(address);
  if (after == functions_.begin()) return {};
  const Function& function = (--after)->second;
  return address < function.end ? std::string_view(function.name) : std::string_view();
}

}  // namespace profd::client
