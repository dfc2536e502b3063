#include "client/hardware/node_facts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

namespace profd::client {

namespace {

namespace fs = std::filesystem;

constexpr char kHuawei[] = "0x19e5";
constexpr size_t kMostText = 4096;  // of a file that is taken whole
constexpr uid_t kFirstPerson = 1000;
constexpr size_t kLeastWord = 4;

std::string ReadText(const fs::path& path) {
  std::ifstream file(path);
  std::string text(kMostText, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// Lines that begin with one of these words, each once.
std::string LinesWith(const fs::path& path, const std::vector<std::string_view>& begins) {
  std::ifstream file(path);
  std::set<std::string> seen;
  std::string text;
  for (std::string line; std::getline(file, line);) {
    const bool is_one =
        std::ranges::any_of(begins, [&](std::string_view begin) { return line.starts_with(begin); });
    if (is_one && seen.insert(line).second) text += line + "\n";
  }
  return text;
}

std::string Kernel() {
  utsname name{};
  if (::uname(&name) != 0) return "";
  return std::string(name.sysname) + " " + name.release + " " + name.machine + "\n";
}

std::string Cpus(const std::string& root) {
  return LinesWith(root + "/proc/cpuinfo", {"vendor_id", "cpu family", "model", "stepping", "CPU implementer",
                                            "CPU architecture", "CPU variant", "CPU part", "CPU revision"}) +
         "online " + ReadText(root + "/sys/devices/system/cpu/online") + "\nclock source " +
         ReadText(root + "/sys/devices/system/clocksource/clocksource0/current_clocksource") + "\n";
}

// The driver's modules, by name and size.
std::string Modules(const std::string& root) {
  constexpr std::array<std::string_view, 8> kOfDriver = {"drv",     "dev",  "hisi", "ascend",
                                                         "davinci", "hccs", "dbl",  "ts_"};
  std::ifstream file(root + "/proc/modules");
  std::string text;
  for (std::string line; std::getline(file, line);) {
    if (std::ranges::none_of(kOfDriver, [&](std::string_view begin) { return line.starts_with(begin); }))
      continue;
    std::istringstream words(line);
    std::string name, size;
    words >> name >> size;
    text.append(name).append(" ").append(size).append("\n");
  }
  return text;
}

// The driver's device nodes: who may open them, by number.
std::string DeviceNodes(const std::string& root) {
  std::error_code ignored;
  std::set<std::string> lines;
  for (const auto& entry : fs::directory_iterator(root + "/dev", ignored)) {
    const std::string name = entry.path().filename();
    struct stat found {};
    if ((!name.starts_with("davinci") && !name.starts_with("hisi_hdc")) ||
        ::lstat(entry.path().c_str(), &found) != 0)
      continue;
    char mode[64];
    std::snprintf(mode, sizeof mode, " %04o %u:%u\n", found.st_mode & 07777U, found.st_uid, found.st_gid);
    lines.insert(name + mode);
  }
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

// The vendor's PCI devices, without where they are.
std::string PciDevices(const std::string& root) {
  std::error_code ignored;
  std::vector<std::string> lines;
  for (const auto& entry : fs::directory_iterator(root + "/sys/bus/pci/devices", ignored)) {
    if (ReadText(entry.path() / "vendor") != kHuawei) continue;
    std::string line;
    for (const char* what : {"vendor", "device", "subsystem_vendor", "subsystem_device", "class", "revision",
                             "current_link_speed", "current_link_width", "numa_node"}) {
      line += (line.empty() ? "" : ", ") + std::string(what) + " " + ReadText(entry.path() / what);
    }
    lines.push_back(line + "\n");
  }
  std::ranges::sort(lines);
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

}  // namespace

std::map<std::string, std::string> ReadNodeFacts(const std::string& root) {
  std::map<std::string, std::string> facts = {
      {"node/kernel.txt", Kernel()},
      {"node/cpu.txt", Cpus(root)},
      {"node/memory.txt",
       LinesWith(root + "/proc/meminfo", {"MemTotal:", "HugePages_Total:", "Hugepagesize:"})},
      {"node/os.txt", LinesWith(root + "/etc/os-release", {"ID=", "VERSION_ID=", "PRETTY_NAME="})},
      {"node/modules.txt", Modules(root)},
      {"node/device_nodes.txt", DeviceNodes(root)},
      {"node/pci.txt", PciDevices(root)},
  };
  std::erase_if(facts, [](const auto& fact) { return fact.second.empty(); });
  return facts;
}

Scrubber::Scrubber(std::vector<std::string> words) : words_(std::move(words)) {
  std::erase_if(words_, [](const std::string& word) { return word.size() < kLeastWord; });
  // What is part of another word comes after it.
  std::ranges::sort(words_, [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  words_.erase(std::unique(words_.begin(), words_.end()), words_.end());
}

Scrubber Scrubber::OfThisMachine() {
  std::vector<std::string> words;
  utsname name{};
  if (::uname(&name) == 0) {
    const std::string node = name.nodename;
    words.push_back(node);
    words.push_back(node.substr(0, node.find('.')));
    if (std::string_view(name.domainname) != "(none)") words.emplace_back(name.domainname);
  }
  ::setpwent();
  while (const passwd* user = ::getpwent()) {
    if (user->pw_uid < kFirstPerson) continue;
    words.emplace_back(user->pw_name);
  }
  ::endpwent();
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) == 0) {
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr) continue;
      char text[INET6_ADDRSTRLEN] = {};
      if (one->ifa_addr->sa_family == AF_INET) {
        ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text,
                    sizeof text);
      } else if (one->ifa_addr->sa_family == AF_INET6) {
        ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr, text,
                    sizeof text);
      }
      words.emplace_back(text);
    }
    ::freeifaddrs(all);
  }
  // Everybody has these.
  std::erase_if(words, [](const std::string& word) { return word == "localhost" || word == "nobody"; });
  return Scrubber(std::move(words));
}

std::string Scrubber::Clean(std::string text) {
  for (const std::string& word : words_) {
    for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size()) {
      std::fill_n(text.begin() + static_cast<ptrdiff_t>(at), word.size(), 'x');
      ++places_;
    }
  }
  return text;
}

}  // namespace profd::client
