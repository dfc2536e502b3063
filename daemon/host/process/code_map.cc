#include "daemon/host/process/code_map.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "format/decode/line_decoder.h"

namespace profd::host {

void CodeMap::Add(const CodeMapping& mapping) {
  if (mapping.begin >= mapping.end) return;
  auto at = mappings_.upper_bound(mapping.begin);
  if (at != mappings_.begin()) --at;
  while (at != mappings_.end() && at->second.begin < mapping.end) {
    const CodeMapping old = at->second;
    if (old.end <= mapping.begin) {
      ++at;
      continue;
    }
    at = mappings_.erase(at);
    if (old.begin < mapping.begin)
      mappings_[old.begin] = {old.begin, mapping.begin, old.file_offset, old.module};
    if (old.end > mapping.end) {
      mappings_[mapping.end] = {mapping.end, old.end, old.file_offset + (mapping.end - old.begin),
                                old.module};
    }
  }
  mappings_[mapping.begin] = mapping;
}

const CodeMapping* CodeMap::Find(uint64_t address) const {
  auto at = mappings_.upper_bound(address);
  if (at == mappings_.begin()) return nullptr;
  --at;
  return address < at->second.end ? &at->second : nullptr;
}

bool IsAnonymous(std::string_view path) {
  if (path.empty() || path == "[heap]" || path.starts_with("[stack") || path.starts_with("[anon"))
    return true;
  return path.starts_with("//anon") || path.starts_with("/memfd:") || path.starts_with("/dev/zero") ||
         path.starts_with("/SYSV") || path.starts_with("/dev/shm/");
}

namespace {

struct MapsLine {
  CodeMapping mapping;
  Module module;
  bool code = false;
};

void EachMapping(pid_t pid, const std::function<void(MapsLine)>& take) {
  char name[64];
  std::snprintf(name, sizeof name, "/proc/%d/maps", pid);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(name, "re"), &std::fclose);
  if (!file) return;
  char line[4096 + 256];
  while (std::fgets(line, sizeof line, file.get()) != nullptr) {
    // "7f10-7f20 r-xp 00001000 08:01 1234     /usr/lib/libc.so.6\n"
    format::Words words(line);
    const std::string_view range = words.Next(), rights = words.Next();
    const auto offset = format::ToNumber<uint64_t>(words.Next(), 16);
    const std::string_view device = words.Next();
    const auto inode = format::ToNumber<uint64_t>(words.Next());
    const size_t dash = range.find('-'), colon = device.find(':');
    if (rights.size() < 3 || dash == range.npos || colon == device.npos) continue;
    const auto begin = format::ToNumber<uint64_t>(range.substr(0, dash), 16);
    const auto end = format::ToNumber<uint64_t>(range.substr(dash + 1), 16);
    const auto major = format::ToNumber<uint32_t>(device.substr(0, colon), 16);
    const auto minor = format::ToNumber<uint32_t>(device.substr(colon + 1), 16);
    if (!offset || !inode || !begin || !end || !major || !minor) continue;
    std::string_view path = words.rest();
    path.remove_prefix(std::min(path.find_first_not_of(' '), path.size()));
    if (path.ends_with('\n')) path.remove_suffix(1);
    take({{*begin, *end, *offset, 0}, {*major, *minor, *inode, std::string(path)}, rights[2] == 'x'});
  }
}

}  // namespace

void ReadMappings(pid_t pid, const std::function<void(const CodeMapping&, const Module&)>& take) {
  EachMapping(pid, [&](const MapsLine& line) { take(line.mapping, line.module); });
}

void ReadCode(pid_t pid, const std::function<void(const CodeMapping&, Module)>& take) {
  EachMapping(pid, [&](MapsLine line) {
    if (line.code) take(line.mapping, std::move(line.module));
  });
}

std::optional<uint64_t> FindImage(pid_t pid, const CodeMapping& code) {
  // The nearest one in front of it, as a file may be there twice.
  std::optional<MapsLine> first;
  std::optional<uint64_t> found;
  EachMapping(pid, [&](MapsLine line) {
    if (line.mapping.begin > code.begin) return;
    const bool of_code = line.mapping.begin == code.begin || line.mapping.end > code.begin;
    if (line.mapping.file_offset == 0 && (line.module.inode != 0 || line.mapping.begin == code.begin))
      first = line;
    if (of_code && first &&
        std::tie(first->module.major, first->module.minor, first->module.inode) ==
            std::tie(line.module.major, line.module.minor, line.module.inode))
      found = first->mapping.begin;
  });
  return found;
}

}  // namespace profd::host
