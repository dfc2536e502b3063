#include "daemon/host/process/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <map>
#include <sstream>

#include "base/unique_fd.h"
#include "daemon/host/process/stand_in.h"

namespace profd::host {

namespace {

constexpr uint64_t kPfKthread = 0x00200000;

std::string ReadSmall(const char* path) {
  base::UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  if (!fd) return {};
  char buffer[16384];  // a process may have many groups, which stand in front of much
  const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
  return got > 0 ? std::string(buffer, static_cast<size_t>(got)) : std::string();
}

// Up to `count` numbers after `key` in /proc/PID/status.
bool StatusNumbers(const std::string& status, std::string_view key, uint64_t* values, size_t count) {
  const size_t key_at = status.find(key);
  if (key_at == std::string::npos) return false;
  const char* at = status.data() + key_at + key.size();
  const char* end = status.data() + status.size();
  for (size_t i = 0; i < count; ++i) {
    while (at < end && (*at == ' ' || *at == '\t')) ++at;
    const auto [next, error] = std::from_chars(at, end, values[i]);
    if (error != std::errc()) return false;
    at = next;
  }
  return true;
}

// Whose a process is, by its status.
bool OwnerIn(const std::string& status, uid_t* owner) {
  uint64_t uids[3];
  if (!StatusNumbers(status, "\nUid:", uids, 3)) return false;
  *owner = uids[0] == uids[1] && uids[1] == uids[2] ? static_cast<uid_t>(uids[0]) : 0;
  return true;
}

// Unlike stat, io and the links, nobody can keep its reader waiting: a process that executes holds a lock
// that the others wait for, which waits for that of its memory in turn.
std::string ReadStatus(pid_t pid) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/status", pid);
  return ReadSmall(path);
}

char StateIn(const std::string& status) {
  constexpr std::string_view kKey = "\nState:\t";
  const size_t state = status.find(kKey);
  return state == std::string::npos || state + kKey.size() == status.size() ? '\0'
                                                                            : status[state + kKey.size()];
}

// It waits for its parent; a dead leader of living threads still runs.
bool RunsIn(const std::string& status) {
  const char letter = StateIn(status);
  if (letter == '\0') return false;
  uint64_t threads = 0;
  StatusNumbers(status, "\nThreads:", &threads, 1);
  return (letter != 'Z' && letter != 'X') || threads > 1;
}

// The kernel writes a line end and a backslash with a backslash in front.
std::string NameIn(const std::string& status) {
  constexpr std::string_view kKey = "Name:\t";
  if (!status.starts_with(kKey)) return {};
  std::string name;
  for (size_t at = kKey.size(); at < status.size() && status[at] != '\n'; ++at) {
    char c = status[at];
    if (c == '\\' && at + 1 < status.size()) c = status[++at] == 'n' ? '\n' : status[at];
    name += c <= ' ' || c >= 0x7f ? '_' : c;
  }
  return name;
}

ProcessFacts FactsOf(pid_t pid) {
  ProcessFacts facts;
  facts.pid = pid;
  const std::string status = ReadStatus(pid);
  uint64_t leader = 0, parent = 0;
  if (!RunsIn(status) || !StatusNumbers(status, "\nTgid:", &leader, 1) || !OwnerIn(status, &facts.uid))
    return facts;
  facts.exists = true;
  facts.is_thread = leader != static_cast<uint64_t>(pid);
  if (StatusNumbers(status, "\nPPid:", &parent, 1)) facts.parent = static_cast<pid_t>(parent);
  StatusNumbers(status, "\nThreads:", &facts.threads, 1);
  facts.comm = NameIn(status);
  return facts;
}

// What may have to be waited for.
void AddSlowFacts(ProcessFacts& facts) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/stat", facts.pid);
  std::string line = ReadSmall(path);
  StatFields fields;
  if (CleanStatLine(line.data(), line.size(), &fields)) facts.start_ticks = fields.start_ticks;
  std::snprintf(path, sizeof path, "/proc/%d/io", facts.pid);
  facts.io_readable = !ReadSmall(path).empty();
  facts.open_devices = OpenDevices(facts.pid);
}

// "4711 123456 1 0 3\n": pid, start, whether its io may be read, devices.
std::string SlowFactsOf(std::string_view request) {
  std::istringstream pids{std::string(request)};
  std::ostringstream said;
  for (ProcessFacts facts; pids >> facts.pid;) {
    AddSlowFacts(facts);
    said << facts.pid << ' ' << facts.start_ticks << ' ' << facts.io_readable;
    for (const uint32_t device : facts.open_devices) said << ' ' << device;
    said << '\n';
  }
  return said.str();
}

bool DeviceNumber(std::string_view target, uint32_t* number) {
  constexpr std::string_view kPrefix = "/dev/davinci";
  if (!target.starts_with(kPrefix)) return false;
  const char* end = target.data() + target.size();
  const auto [at, error] = std::from_chars(target.data() + kPrefix.size(), end, *number);
  return error == std::errc() && at == end;
}

}  // namespace

std::vector<uint32_t> OpenDevices(pid_t pid) {
  std::vector<uint32_t> devices;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd", pid);
  DIR* dir = ::opendir(path);
  if (dir == nullptr) return devices;
  while (const dirent* entry = ::readdir(dir)) {
    char target[64];
    const ssize_t size = ::readlinkat(::dirfd(dir), entry->d_name, target, sizeof target);
    uint32_t number = 0;
    if (size > 0 && DeviceNumber({target, static_cast<size_t>(size)}, &number)) devices.push_back(number);
  }
  ::closedir(dir);
  std::ranges::sort(devices);
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  return devices;
}

bool CleanStatLine(char* line, size_t size, StatFields* fields) {
  // The name may hold anything but NUL, parentheses too: it ends at the last one.
  char* open = static_cast<char*>(std::memchr(line, '(', size));
  char* close = static_cast<char*>(::memrchr(line, ')', size));
  if (open == nullptr || close == nullptr || close < open) return false;
  for (char* at = open + 1; at < close; ++at) {
    if (*at <= ' ' || *at >= 0x7f) *at = '_';
  }
  fields->comm = {open + 1, static_cast<size_t>(close - open - 1)};

  const char* at = close + 1;
  const char* end = line + size;
  if (end - at < 3) return false;
  fields->state = at[1];
  at += 2;
  // Fields are counted from 1 as in proc(5); the state was the third.
  for (int field = 4; field <= 22; ++field) {
    while (at < end && *at == ' ') ++at;
    const bool negative = at < end && *at == '-';
    if (negative) ++at;
    uint64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc()) return false;
    at = next;
    if (field == 4) fields->parent = negative ? 0 : static_cast<pid_t>(value);
    if (field == 9) fields->kernel_thread = (value & kPfKthread) != 0;
    if (field == 20) fields->threads = value;
    if (field == 22) fields->start_ticks = value;
  }
  fields->rest = {at, static_cast<size_t>(end - at)};
  return true;
}

uint64_t CountInterfaces() {
  DIR* dir = ::opendir("/sys/class/net");
  if (dir == nullptr) return 0;
  uint64_t count = 0;
  while (const dirent* entry = ::readdir(dir)) count += entry->d_name[0] != '.' ? 1 : 0;
  ::closedir(dir);
  return count;
}

bool ProcessExists(pid_t pid) { return RunsIn(ReadStatus(pid)); }

pid_t ParentOf(pid_t pid) { return FactsOf(pid).parent; }

std::string CommandName(pid_t pid) {
  const std::string status = ReadStatus(pid);
  return RunsIn(status) ? NameIn(status) : std::string();
}

uid_t OwnerOf(pid_t pid) {
  uid_t owner = 0;
  OwnerIn(ReadStatus(pid), &owner);
  return owner;
}

uid_t ChargedTo(pid_t pid) {
  uint64_t real = 0;
  StatusNumbers(ReadStatus(pid), "\nUid:", &real, 1);
  return static_cast<uid_t>(real);
}

char StateOf(pid_t pid) { return StateIn(ReadStatus(pid)); }

std::vector<ProcessFacts> ReadProcessFacts(std::span<const pid_t> pids) {
  std::vector<ProcessFacts> all;
  std::map<uid_t, std::string> by_owner;
  std::map<pid_t, size_t> place;
  for (const pid_t pid : pids) {
    place[pid] = all.size();
    all.push_back(FactsOf(pid));
    if (all.back().exists) by_owner[all.back().uid] += std::to_string(pid) + ' ';
  }
  for (const auto& [owner, request] : by_owner) {
    const auto said = StandIn::AskOnce(
        owner, [] { return StandIn::Answer(&SlowFactsOf); }, request);
    if (said.status().code() == base::Code::kDeadlineExceeded) continue;
    for (ProcessFacts& facts : all) facts.answers |= facts.exists && facts.uid == owner;
    std::istringstream lines(said.ok() ? *said : "");
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      pid_t pid = 0;
      words >> pid;
      const auto at = place.find(pid);
      if (at == place.end()) continue;
      ProcessFacts& facts = all[at->second];
      words >> facts.start_ticks >> facts.io_readable;
      for (uint32_t device = 0; words >> device;) facts.open_devices.push_back(device);
    }
  }
  return all;
}

ProcessFacts ReadProcessFacts(pid_t pid) { return ReadProcessFacts(std::span(&pid, 1)).front(); }

}  // namespace profd::host
