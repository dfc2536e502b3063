#include "daemon/host/reading.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "daemon/host/process/process.h"

namespace profd::host {

namespace {

constexpr size_t kMostDisks = 64;
constexpr size_t kMostNetworks = 64;
constexpr uint64_t kSectorBytes = 512;
constexpr uint64_t kKiB = 1024;

// Words and numbers of one line after the other.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::string_view Line() {
    const size_t end = std::min(text_.find('\n'), text_.size());
    const std::string_view line = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    return line;
  }
  std::string_view Word() {
    text_.remove_prefix(std::min(text_.find_first_not_of(" \t"), text_.size()));
    const size_t end = std::min(text_.find_first_of(" \t"), text_.size());
    const std::string_view word = text_.substr(0, end);
    text_.remove_prefix(end);
    return word;
  }
  uint64_t Number() {
    const std::string_view word = Word();
    uint64_t value = 0;
    std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
  }
  void Skip(int words) {
    while (words-- > 0) Word();
  }
  bool done() const { return text_.empty(); }

 private:
  std::string_view text_;
};

uint64_t PageBytes() {
  static const auto kPage = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return kPage;
}

}  // namespace

HostReader::HostReader(HostFiles& files, FdBudget& budget, ForeignFiles& foreign)
    : files_(files), foreign_(foreign), diskstats_("diskstats", budget), statm_(budget) {}

HostReading HostReader::Read(const ReadingRequest& request, const Tick& tick) {
  HostReading reading;
  reading.mono_ns = tick.mono_ns;
  if (request.cpu) ReadCpu(tick, reading);
  if (request.memory) ReadMemory(tick, reading);
  if (request.load) {
    Scanner words(files_.loadavg.Text(tick));
    for (double& load : reading.load) load = std::strtod(std::string(words.Word()).c_str(), nullptr);
  }
  if (request.disk) ReadDisks(tick, reading);
  if (request.network) ReadNetworks(tick, reading);
  ReadProcesses(request.pids, reading);
  ReadSelf(reading);
  return reading;
}

void HostReader::ReadCpu(const Tick& tick, HostReading& reading) {
  Scanner lines(files_.stat.Text(tick));
  Scanner all(lines.Line());
  all.Skip(1);
  for (uint64_t& ticks : reading.cpu_ticks) ticks = all.Number();
  while (lines.Line().starts_with("cpu")) ++reading.cpus;
}

void HostReader::ReadMemory(const Tick& tick, HostReading& reading) {
  const std::pair<std::string_view, uint64_t*> wanted[] = {{"MemTotal:", &reading.memory_total},
                                                           {"MemFree:", &reading.memory_free},
                                                           {"MemAvailable:", &reading.memory_available},
                                                           {"Cached:", &reading.memory_cached},
                                                           {"SwapTotal:", &reading.swap_total},
                                                           {"SwapFree:", &reading.swap_free},
                                                           {"Dirty:", &reading.memory_dirty}};
  for (Scanner lines(files_.meminfo.Text(tick)); !lines.done();) {
    Scanner words(lines.Line());
    const std::string_view name = words.Word();
    for (const auto& [key, value] : wanted) {
      if (name == key) *value = words.Number() * kKiB;
    }
  }
}

bool HostReader::IsWholeDisk(std::string_view name) {
  // Memory and loop devices tell of other disks' traffic, or of none.
  if (name.starts_with("loop") || name.starts_with("ram") || name.starts_with("zram")) return false;
  const auto known = whole_disks_.find(name);
  if (known != whole_disks_.end()) return known->second;
  const bool whole = ::access(("/sys/block/" + std::string(name)).c_str(), F_OK) == 0;
  if (whole_disks_.size() < 16 * kMostDisks) whole_disks_.emplace(name, whole);
  return whole;
}

void HostReader::ReadDisks(const Tick& tick, HostReading& reading) {
  for (Scanner lines(diskstats_.Text(tick)); !lines.done();) {
    Scanner words(lines.Line());
    words.Skip(2);
    const std::string_view name = words.Word();
    if (name.empty() || reading.disks.size() == kMostDisks || !IsWholeDisk(name)) continue;
    HostReading::Disk disk{.name = std::string(name)};
    words.Skip(2);
    disk.read_bytes = words.Number() * kSectorBytes;
    words.Skip(3);
    disk.written_bytes = words.Number() * kSectorBytes;
    words.Skip(2);
    disk.busy_ms = words.Number();
    reading.disks.push_back(std::move(disk));
  }
}

void HostReader::ReadNetworks(const Tick& tick, HostReading& reading) {
  Scanner lines(files_.net_dev.Text(tick));
  lines.Line();
  lines.Line();
  while (!lines.done()) {
    const std::string_view line = lines.Line();
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || reading.networks.size() == kMostNetworks) continue;
    const std::string_view name = Scanner(line.substr(0, colon)).Word();
    if (name == "lo") continue;
    Scanner words(line.substr(colon + 1));
    HostReading::Network network{.name = std::string(name)};
    network.rx_bytes = words.Number();
    network.rx_packets = words.Number();
    network.rx_errors = words.Number();
    network.rx_dropped = words.Number();
    words.Skip(4);
    network.tx_bytes = words.Number();
    network.tx_packets = words.Number();
    network.tx_errors = words.Number();
    network.tx_dropped = words.Number();
    reading.networks.push_back(std::move(network));
  }
}

void HostReader::ReadProcesses(const std::vector<pid_t>& pids, HostReading& reading) {
  std::erase_if(stats_,
                [&](const auto& entry) { return std::ranges::find(pids, entry.first) == pids.end(); });
  for (const pid_t pid : pids) {
    if (!stats_.contains(pid))
      stats_.emplace(pid, ForeignFile(foreign_, ForeignFile::Name::kStat, pid, 0, ChargedTo(pid)));
    stats_.at(pid).Want();
  }
  foreign_.Ask();
  for (const pid_t pid : pids) {
    char text[1024];
    const auto file = stats_.find(pid);
    if (file == stats_.end()) continue;
    const ssize_t size = file->second.Read(text, sizeof text);
    if (size <= 0) {
      if (size == 0 || errno != EAGAIN) stats_.erase(file);
      continue;
    }
    // The command's name may hold anything, but no field after it a ')'.
    const std::string_view line(text, static_cast<size_t>(size));
    const size_t name_end = line.rfind(')');
    if (name_end == std::string_view::npos) continue;
    Scanner words(line.substr(name_end + 1));
    words.Skip(11);  // state … cmajflt
    HostReading::Process process{.pid = pid};
    process.cpu_ticks = words.Number();
    process.cpu_ticks += words.Number();
    words.Skip(4);
    process.threads = words.Number();
    words.Skip(3);
    process.rss_bytes = words.Number() * PageBytes();
    reading.processes.push_back(process);
  }
}

void HostReader::ReadSelf(HostReading& reading) {
  reading.self.pid = ::getpid();
  reading.self.cpu_ticks = base::ReadClockNs(CLOCK_PROCESS_CPUTIME_ID);
  char text[256];
  const ssize_t size = statm_.Read({.name = "self/statm"}, text, sizeof text);
  if (size <= 0) return;
  Scanner words(std::string_view(text, static_cast<size_t>(size)));
  words.Skip(1);
  reading.self.rss_bytes = words.Number() * PageBytes();
}

}  // namespace profd::host
