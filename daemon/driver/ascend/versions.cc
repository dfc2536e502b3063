#include "daemon/driver/versions.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/unique_fd.h"

namespace profd::driver {

namespace {

using Lines = std::map<std::string, std::string>;

constexpr size_t kMostBytes = 16 << 10;
constexpr size_t kMostLines = 64, kMostText = 256, kMostVersion = 64;
constexpr char kUsualPlace[] = "/usr/local/Ascend";
// hicann/runtime: log_daemon_monitor.sh reads it so; the version of CANN as task_handle/src/info_json.cpp and
// acl/aclrt_impl/acl.cpp do.
constexpr char kDriverPlace[] = "Driver_Install_Path_Param";
constexpr const char* kCannFiles[] = {"/share/info/runtime/version.info", "/runtime/version.info"};

// "" where it is no regular file.
std::string ReadFile(const std::string& path) {
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat found {};
  if (!fd || ::fstat(fd.get(), &found) != 0 || !S_ISREG(found.st_mode)) return {};
  std::string text(kMostBytes, '\0');
  const ssize_t size = ::read(fd.get(), text.data(), text.size());
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return text;
}

bool IsPlain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

std::string_view Get(const Lines& lines, const char* key) {
  const auto found = lines.find(key);
  return found == lines.end() ? std::string_view() : std::string_view(found->second);
}

// "7.5.0.1.129"; nothing for what has letters in it.
std::optional<std::vector<uint32_t>> Numbers(std::string_view text) {
  std::vector<uint32_t> numbers;
  for (;;) {
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || numbers.size() > 8) return std::nullopt;
    numbers.push_back(number);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty()) return numbers;
    if (text[0] != '.') return std::nullopt;
    text.remove_prefix(1);
  }
}

// In one of "[7.0.0,7.5.99],[8.0.0,8.1.99]"? Nothing where that cannot be told.
std::optional<bool> IsWithin(std::string_view version, std::string_view ranges) {
  const auto asked = Numbers(version);
  if (!asked || ranges.empty()) return std::nullopt;
  for (size_t at = 0; (at = ranges.find('[', at)) != ranges.npos; ++at) {
    const size_t comma = ranges.find(',', at), end = ranges.find(']', at);
    if (comma == ranges.npos || end == ranges.npos || comma > end) return std::nullopt;
    const auto least = Numbers(ranges.substr(at + 1, comma - at - 1));
    const auto most = Numbers(ranges.substr(comma + 1, end - comma - 1));
    if (!least || !most) return std::nullopt;
    if (*least <= *asked && *asked <= *most) return true;
  }
  return false;
}

}  // namespace

Lines ParseVersionInfo(std::string_view text) {
  Lines lines;
  while (!text.empty() && lines.size() < kMostLines) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    const size_t equals = line.find('=');
    if (equals == line.npos || equals == 0 || line.size() > kMostText) continue;
    std::string_view value = line.substr(equals + 1);
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    if (value.empty() || !IsPlain(line.substr(0, equals)) || !IsPlain(value)) continue;
    lines.emplace(line.substr(0, equals), value);
  }
  return lines;
}

Versions VersionsOf(const Lines& driver, const Lines& firmware, const Lines& cann) {
  Versions versions;
  for (const auto& [name, lines] : {std::pair{"driver", &driver}, {"firmware", &firmware}, {"cann", &cann}}) {
    const std::string_view version = Get(*lines, "Version");
    if (!version.empty() && version.size() <= kMostVersion) versions.of.emplace(name, version);
  }
  const std::string_view firmwares = Get(driver, "compatible_version_fw");
  if (IsWithin(Get(firmware, "Version"), firmwares) == false) {
    versions.note = "firmware " + versions.of["firmware"] + " is none that driver " + versions.of["driver"] +
                    " names as compatible: " + std::string(firmwares);
  }
  const auto needed = Numbers(Get(cann, "required_driver_ascendhal_version"));
  const auto interface = Numbers(Get(driver, "ascendhal_version"));
  if (needed && interface && *interface < *needed) {
    versions.note += (versions.note.empty() ? "" : "; ") + ("CANN " + versions.of["cann"]) +
                     " needs a driver of interface " +
                     std::string(Get(cann, "required_driver_ascendhal_version")) + ", this one has " +
                     std::string(Get(driver, "ascendhal_version"));
  }
  return versions;
}

Versions ReadVersions(const std::string& install_info, const std::vector<std::string>& toolkits) {
  const Lines install = ParseVersionInfo(ReadFile(install_info));
  std::string place(Get(install, kDriverPlace));
  if (!place.starts_with('/')) place = kUsualPlace;
  Lines cann;
  for (const std::string& toolkit : toolkits) {
    for (const char* const file : kCannFiles) {
      if (cann.empty()) cann = ParseVersionInfo(ReadFile(toolkit + file));
    }
  }
  return VersionsOf(ParseVersionInfo(ReadFile(place + "/driver/version.info")),
                    ParseVersionInfo(ReadFile(place + "/firmware/version.info")), cann);
}

}  // namespace profd::driver
