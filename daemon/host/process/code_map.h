// Where a process has code: which file each address is of.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace profd::host {

// A file that code was mapped from, as the kernel names it at that moment.
struct Module {
  uint32_t major = 0, minor = 0;
  uint64_t inode = 0;
  std::string path;  // as the process sees it

  friend bool operator<(const Module& a, const Module& b) {
    return std::tie(a.major, a.minor, a.inode, a.path) < std::tie(b.major, b.minor, b.inode, b.path);
  }
};

struct CodeMapping {
  uint64_t begin = 0, end = 0;
  uint64_t file_offset = 0;  // of `begin`
  uint32_t module = 0;       // by its number; 0: memory without a file, of a JIT

  friend bool operator==(const CodeMapping&, const CodeMapping&) = default;
};

// **Thread:** one.
class CodeMap {
 public:
  // What it covers is no more what it was.
  void Add(const CodeMapping& mapping);
  void Clear() { mappings_.clear(); }
  // nullptr: nothing is known there.
  const CodeMapping* Find(uint64_t address) const;
  void Each(const std::function<void(const CodeMapping&)>& take) const {
    for (const auto& [begin, mapping] : mappings_) take(mapping);
  }

 private:
  std::map<uint64_t, CodeMapping> mappings_;  // by begin
};

// Memory without a file, or with one that holds no symbols, though it may have a name.
bool IsAnonymous(std::string_view path);
// What a process has mapped now, from /proc/PID/maps, ascending.
void ReadMappings(pid_t pid, const std::function<void(const CodeMapping&, const Module&)>& take);
// Of it what is code.
void ReadCode(pid_t pid, const std::function<void(const CodeMapping&, Module)>& take);
// Where the beginning of the file lies that this code is of.
std::optional<uint64_t> FindImage(pid_t pid, const CodeMapping& code);

}  // namespace profd::host
