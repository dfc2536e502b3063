#include "daemon/host/process_image.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include "base/text.h"
#include "base/unique_fd.h"

namespace profd::host {

using base::Result;
using base::Status;

namespace {

constexpr size_t kMaxArguments = 32;
constexpr size_t kMaxArgumentBytes = 255;
constexpr size_t kMaxPathBytes = 1024;
constexpr size_t kMaxEnvironmentBytes = 1 << 20;

std::string ProcPath(pid_t pid, const char* file) { return "/proc/" + std::to_string(pid) + "/" + file; }

std::string ReadUpTo(const std::string& path, size_t limit) {
  std::ifstream file(path, std::ios::binary);
  std::string text(limit, '\0');
  file.read(text.data(), static_cast<std::streamsize>(limit));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
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

ProcessImage ReadProcessImage(pid_t pid) {
  ProcessImage image;
  image.inner_pid = pid;
  std::ifstream status(ProcPath(pid, "status"));
  constexpr std::string_view kKey = "NSpid:";
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(kKey)) continue;
    const size_t last = line.find_last_of(" \t");
    std::from_chars(line.data() + last + 1, line.data() + line.size(), image.inner_pid);
    break;
  }
  char target[4096];
  const ssize_t size = ::readlink(ProcPath(pid, "exe").c_str(), target, sizeof target);
  if (size > 0) image.executable = base::OneLine({target, static_cast<size_t>(size)}, kMaxPathBytes);
  const std::string arguments = ReadUpTo(ProcPath(pid, "cmdline"), kMaxArguments * (kMaxArgumentBytes + 1));
  for (const std::string_view argument : Split(arguments)) {
    if (image.command_line.size() == kMaxArguments) break;
    image.command_line.push_back(base::OneLine(argument, kMaxArgumentBytes));
  }
  return image;
}

Result<std::string> FindLoaded(pid_t pid, std::string_view name) {
  const std::string path = ProcPath(pid, "maps");
  std::ifstream maps(path);
  if (!maps) return Status::FromErrno("read " + path);
  const std::string wanted = "/" + std::string(name);
  for (std::string line; std::getline(maps, line);) {
    const size_t at = line.find('/');
    if (at == std::string::npos) continue;
    std::string_view file = std::string_view(line).substr(at);
    // An upgrade unlinks the file that a process goes on with.
    constexpr std::string_view kDeleted = " (deleted)";
    if (file.ends_with(kDeleted)) file.remove_suffix(kDeleted.size());
    if (file.ends_with(wanted)) return base::OneLine(line.substr(at), kMaxPathBytes);
  }
  return std::string();
}

std::optional<std::string> StartedWith(pid_t pid, std::string_view variable) {
  const std::string environment = ReadUpTo(ProcPath(pid, "environ"), kMaxEnvironmentBytes);
  const std::string prefix = std::string(variable) + "=";
  for (const std::string_view entry : Split(environment)) {
    if (entry.starts_with(prefix)) return std::string(entry.substr(prefix.size()));
  }
  return std::nullopt;
}

Result<bool> SeesSameFile(pid_t pid, const std::string& path, const std::string& ours) {
  struct stat mine {};
  if (::stat(ours.c_str(), &mine) != 0) return Status::FromErrno(ours);
  const std::string root_path = ProcPath(pid, "root");
  const base::UniqueFd root(::open(root_path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return Status::FromErrno("look into " + root_path);
  // Its links lead where they lead for the process.
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const base::UniqueFd seen(
      static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof(how))));
  struct stat theirs {};
  if (!seen || ::fstat(seen.get(), &theirs) != 0) return false;
  return mine.st_dev == theirs.st_dev && mine.st_ino == theirs.st_ino;
}

Result<bool> InOtherPidNamespace(pid_t pid) {
  struct stat mine {};
  struct stat theirs {};
  const std::string path = ProcPath(pid, "ns/pid");
  if (::stat("/proc/self/ns/pid", &mine) != 0 || ::stat(path.c_str(), &theirs) != 0) {
    return Status::FromErrno("look at " + path);
  }
  return mine.st_ino != theirs.st_ino;
}

}  // namespace profd::host
