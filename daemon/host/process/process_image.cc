#include "daemon/host/process/process_image.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "daemon/host/process/process.h"
#include "daemon/host/process/stand_in.h"

namespace profd::host {

using base::Result;
using base::Status;

namespace {

constexpr size_t kMaxArguments = 32;
constexpr size_t kMaxArgumentBytes = 255;
constexpr size_t kMaxPathBytes = 1024;
constexpr size_t kMaxEnvironmentBytes = 1 << 20;
constexpr uint64_t kExecPatienceNs = 3'000'000'000;
constexpr useconds_t kExecLookUs = 1000;
constexpr int kEmptyLooks = 10;

std::string ProcPath(pid_t pid, const char* file) { return "/proc/" + std::to_string(pid) + "/" + file; }

std::string ReadUpTo(const std::string& path, size_t limit) {
  std::string text(limit,
                   '\0');  // before the file is open: what it shows is gone with the program that it is of
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(limit));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

// How long the kernel says it is; nullopt: it is gone. While a process becomes another program the kernel
// knows neither its begin nor its end, and gives of the old one as much as is still there. Source: proc(5),
// /proc/PID/stat, env_start and env_end.
std::optional<uint64_t> EnvironmentBytes(pid_t pid) {
  constexpr int kEnvStart = 50, kRest = 23;
  std::string line = ReadUpTo(ProcPath(pid, "stat"), 4096);
  StatFields stat;
  if (!CleanStatLine(line.data(), line.size(), &stat) || stat.state == 'Z' || stat.state == 'X')
    return std::nullopt;
  std::istringstream fields{std::string(stat.rest)};
  std::string skipped;
  for (int at = kRest; at < kEnvStart; ++at) fields >> skipped;
  uint64_t begin = 0, end = 0;
  fields >> begin >> end;
  return begin == 0 || end < begin ? UINT64_MAX : end - begin;
}

std::string FileId(const struct stat& file) {
  return std::to_string(file.st_dev) + ' ' + std::to_string(file.st_ino);
}

// Zero-terminated texts.
std::vector<std::string_view> Split(std::string_view block) {
  std::vector<std::string_view> texts;
  while (!block.empty()) {
    const size_t size = std::min(block.find('\0'), block.size());
    texts.push_back(block.substr(0, size));
    block.remove_prefix(std::min(size + 1, block.size()));
  }
  return texts;
}

// What waits for the memory of a process, or for its mounts, is asked in a stand-in: "4711 PATH".
struct Question {
  explicit Question(std::string_view request) {
    const auto [at, error] = std::from_chars(request.data(), request.data() + request.size(), pid);
    const auto taken = static_cast<size_t>(at - request.data());
    if (taken < request.size()) what = request.substr(taken + 1);
  }
  pid_t pid = 0;
  std::string what;
};
Result<std::string> Ask(pid_t pid, const std::string& what, StandIn::Duty duty) {
  return StandIn::AskOnce(OwnerOf(pid), duty, std::to_string(pid) + ' ' + what);
}

// The answer is the text behind the first letter, or the number of an error.
constexpr char kText = 't', kError = 'e';
std::string Said(std::string text) { return kText + std::move(text); }
std::string SaidErrno() { return kError + std::to_string(errno); }
Result<std::string> Heard(const Result<std::string>& said, const std::string& attempt) {
  if (!said.ok()) return said.status().In(attempt);
  if (said->starts_with(kText)) return said->substr(1);
  return Status::FromErrno(attempt, static_cast<int>(std::strtol(said->c_str() + 1, nullptr, 10)));
}

std::string FindInMaps(const Question& question) {
  std::ifstream maps(ProcPath(question.pid, "maps"));
  if (!maps) return SaidErrno();
  const std::string wanted = "/" + question.what;
  for (std::string line; std::getline(maps, line);) {
    const size_t at = line.find('/');
    if (at == std::string::npos) continue;
    std::string_view file = std::string_view(line).substr(at);
    // An upgrade unlinks the file that a process goes on with.
    constexpr std::string_view kDeleted = " (deleted)";
    if (file.ends_with(kDeleted)) file.remove_suffix(kDeleted.size());
    if (file.ends_with(wanted)) return Said(base::OneLine(line.substr(at), kMaxPathBytes));
  }
  return Said("");
}

// "8 1234": device and inode of a file as the process sees it; "" where it does not.
std::string SeenFile(const Question& question) {
  const base::UniqueFd root(::open(ProcPath(question.pid, "root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return SaidErrno();
  // Its links lead where they lead for the process.
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const base::UniqueFd seen(
      static_cast<int>(::syscall(__NR_openat2, root.get(), question.what.c_str(), &how, sizeof(how))));
  struct stat theirs {};
  if (!seen || ::fstat(seen.get(), &theirs) != 0) return Said("");
  return Said(FileId(theirs));
}

}  // namespace

std::vector<pid_t> ListProcesses() {
  std::vector<pid_t> pids;
  DIR* dir = ::opendir("/proc");
  if (dir == nullptr) return pids;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string_view name(entry->d_name);
    pid_t pid = 0;
    const auto [at, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && at == name.data() + name.size()) pids.push_back(pid);
  }
  ::closedir(dir);
  std::sort(pids.begin(), pids.end());
  return pids;
}

std::string ExecutableOf(pid_t pid) {
  char target[4096];
  const ssize_t size = ::readlink(ProcPath(pid, "exe").c_str(), target, sizeof target);
  return size > 0 ? base::OneLine({target, static_cast<size_t>(size)}, kMaxPathBytes) : std::string();
}

pid_t InnerPid(pid_t pid) {
  std::ifstream status(ProcPath(pid, "status"));
  constexpr std::string_view kKey = "NSpid:";
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(kKey)) continue;
    const size_t last = line.find_last_of(" \t");
    std::from_chars(line.data() + last + 1, line.data() + line.size(), pid);
    break;
  }
  return pid;
}

ProcessImage ReadProcessImage(pid_t pid) {
  ProcessImage image;
  image.inner_pid = InnerPid(pid);
  const auto said = Ask(pid, "", [] {
    return StandIn::Answer([](std::string_view request) {
      const pid_t asked = Question(request).pid;
      return ExecutableOf(asked) + '\0' +
             ReadUpTo(ProcPath(asked, "cmdline"), kMaxArguments * (kMaxArgumentBytes + 1));
    });
  });
  if (!said.ok()) return image;
  const size_t program_bytes = said->find('\0');
  image.executable = said->substr(0, program_bytes);
  for (const std::string_view argument : Split(std::string_view(*said).substr(program_bytes + 1))) {
    if (image.command_line.size() == kMaxArguments) break;
    image.command_line.push_back(base::OneLine(argument, kMaxArgumentBytes));
  }
  return image;
}

Result<std::string> FindLoaded(pid_t pid, std::string_view name) {
  const auto said = Ask(pid, std::string(name), [] {
    return StandIn::Answer([](std::string_view request) { return FindInMaps(Question(request)); });
  });
  return Heard(said, "read " + ProcPath(pid, "maps"));
}

std::string EnvironmentOf(pid_t pid, size_t most, const std::string& root) {
  auto environment = Ask(pid, root, [] {
    return StandIn::Answer([](std::string_view request) {
      const Question question(request);
      return ReadUpTo(question.what + ProcPath(question.pid, "environ"), kMaxEnvironmentBytes);
    });
  });
  return environment.ok() ? environment->substr(0, most) : std::string();
}

std::optional<std::string> StartedWith(pid_t pid, std::string_view variable) {
  constexpr char kWhole = 'w', kPart = 'p';
  const StandIn::Duty duty = [] {
    return StandIn::Answer([](std::string_view request) {
      const pid_t asked = Question(request).pid;
      const std::string text = ReadUpTo(ProcPath(asked, "environ"), kMaxEnvironmentBytes);
      const std::optional<uint64_t> bytes = EnvironmentBytes(asked);
      const bool whole = !bytes || text.size() == std::min<uint64_t>(*bytes, kMaxEnvironmentBytes);
      return (whole ? kWhole : kPart) + text;
    });
  };
  const uint64_t until_ns = base::MonotonicNs() + kExecPatienceNs;
  auto environment = Ask(pid, "", duty);
  // For a moment of its start every program has an empty one.
  for (int empty = 0; environment.ok() && base::MonotonicNs() < until_ns;) {
    if (environment->starts_with(kWhole) && (environment->size() > 1 || ++empty == kEmptyLooks)) break;
    ::usleep(kExecLookUs);
    environment = Ask(pid, "", duty);
  }
  if (!environment.ok() || environment->empty())
    return std::nullopt;  // whose memory hangs is not asked again
  const std::string prefix = std::string(variable) + "=";
  for (const std::string_view entry : Split(std::string_view(*environment).substr(1))) {
    if (entry.starts_with(prefix)) return std::string(entry.substr(prefix.size()));
  }
  return std::nullopt;
}

Result<bool> SeesSameFile(pid_t pid, const std::string& path, const std::string& ours) {
  struct stat mine {};
  if (::stat(ours.c_str(), &mine) != 0) return Status::FromErrno(ours);
  const auto said = Ask(pid, path, [] {
    return StandIn::Answer([](std::string_view request) { return SeenFile(Question(request)); });
  });
  PROFD_ASSIGN_OR_RETURN(const std::string seen, Heard(said, "look into " + ProcPath(pid, "root")));
  return seen == FileId(mine);
}

Result<bool> InOtherPidNamespace(pid_t pid) {
  struct stat mine {};
  if (::stat("/proc/self/ns/pid", &mine) != 0) return Status::FromErrno("look at /proc/self/ns/pid");
  const auto said = Ask(pid, "", [] {
    return StandIn::Answer([](std::string_view request) {
      struct stat theirs {};
      const std::string path = ProcPath(Question(request).pid, "ns/pid");
      return ::stat(path.c_str(), &theirs) == 0 ? Said(std::to_string(theirs.st_ino)) : SaidErrno();
    });
  });
  PROFD_ASSIGN_OR_RETURN(const std::string theirs, Heard(said, "look at " + ProcPath(pid, "ns/pid")));
  return theirs != std::to_string(mine.st_ino);
}

}  // namespace profd::host
