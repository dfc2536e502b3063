// What info.json says of the machine, read from /proc and /sys.
#include <dirent.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <utility>

#include "format/directory/prof_dir.h"

namespace profd::format {

namespace {

std::string FirstLine(const std::string& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The first "key : value" of a file in /proc; "" when there is none.
std::string Field(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const size_t colon = line.find(':');
    if (colon != std::string::npos && Trimmed(std::string_view(line).substr(0, colon)) == key) {
      return std::string(Trimmed(std::string_view(line).substr(colon + 1)));
    }
  }
  return {};
}

void ReadCpu(const std::string& path, HostFacts& facts) {
  facts.cpu_name = Field(path, "vendor_id");
  facts.cpu_type = Field(path, "model name");
  if (!facts.cpu_name.empty()) return;
  // Arm: numbers instead of names.
  const std::string implementer = Field(path, "CPU implementer");
  const std::string part = Field(path, "CPU part");
  constexpr std::pair<std::string_view, std::string_view> kImplementers[] = {
      {"0x41", "ARM"}, {"0x48", "HiSilicon"}, {"0x70", "Phytium"}, {"0xc0", "Ampere"}};
  facts.cpu_name = implementer;
  for (const auto& [number, name] : kImplementers) {
    if (implementer == number) facts.cpu_name = name;
  }
  const int64_t midr =
      std::strtol(implementer.c_str(), nullptr, 16) << 12 | std::strtol(part.c_str(), nullptr, 16);
  const std::string_view core = CoreName(midr);
  facts.cpu_type = core.empty() ? part : std::string(core);
}

std::vector<HostFacts::NetCard> ReadNetCards(const std::string& folder) {
  std::vector<HostFacts::NetCard> cards;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(folder.c_str()), ::closedir);
  if (!dir) return cards;
  while (const dirent* entry = ::readdir(dir.get())) {
    // A port that is down or virtual has no readable speed, or a negative one.
    const std::string speed = FirstLine(folder + '/' + entry->d_name + "/speed");
    if (speed.empty() || speed.find_first_not_of("0123456789") != std::string::npos) continue;
    cards.push_back({entry->d_name, std::strtoull(speed.c_str(), nullptr, 10)});
  }
  std::sort(cards.begin(), cards.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return cards;
}

}  // namespace

std::string_view CoreName(int64_t midr) {
  constexpr std::pair<int64_t, std::string_view> kCores[] = {
      {0x41d03, "ARMv8_Cortex_A53"}, {0x41d05, "ARMv8_Cortex_A55"}, {0x41d07, "ARMv8_Cortex_A57"},
      {0x41d08, "ARMv8_Cortex_A72"}, {0x41d09, "ARMv8_Cortex_A73"}, {0x48d01, "TaishanV110"}};
  for (const auto& [number, name] : kCores) {
    if (number == midr) return name;
  }
  return {};
}

std::string ReadUpTime(const std::string& root) { return FirstLine(root + "/proc/uptime"); }

HostFacts ReadHostFacts(const std::string& root) {
  HostFacts facts;
  utsname names{};
  if (::uname(&names) == 0) {
    facts.os = std::string(names.sysname) + '-' + names.release + '-' + names.version;
    facts.hostname = names.nodename;
    facts.hwtype = names.machine;
  }
  facts.up_time = ReadUpTime(root);
  ReadCpu(root + "/proc/cpuinfo", facts);
  facts.memory_total_kb = std::strtoull(Field(root + "/proc/meminfo", "MemTotal").c_str(), nullptr, 10);
  facts.cpu_nums = static_cast<uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF)));
  facts.clock_ticks = static_cast<uint32_t>(std::max(1L, ::sysconf(_SC_CLK_TCK)));
  facts.net_cards = ReadNetCards(root + "/sys/class/net");
  return facts;
}

}  // namespace profd::format
