#include "daemon/host/events/tracefs.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/unique_fd.h"
#include "daemon/host/process/heirlooms.h"
#include "daemon/host/process/process.h"

namespace profd::host {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

namespace {

constexpr std::string_view kRoots[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
constexpr std::string_view kGroup = "profd_";

Status NotThere(const std::string& what) {
  return {Code::kFailedPrecondition, what + " missing: mount tracefs on /sys/kernel/tracing"};
}

UniqueFd& Commands() {
  static UniqueFd commands;
  return commands;
}

// Each write is a command.
bool Command(const std::string& text) {
  return ::write(Commands().get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::vector<std::string> Names(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    names.push_back(entry->path().filename());
  return names;
}

void RemoveLeftBehindIn(const std::string& root) {
  const std::string events = root + "/events/";
  for (const std::string& group : Names(events)) {
    pid_t pid = 0;
    if (!group.starts_with(kGroup) ||
        std::from_chars(group.data() + kGroup.size(), group.data() + group.size(), pid).ec != std::errc() ||
        ProcessExists(pid))
      continue;
    const std::string remove = "-:" + group + "/";
    for (const std::string& point : Names(events + group)) {
      if (point.starts_with('f') && point != "filter") Command(remove + point);
    }
  }
}

}  // namespace

Result<uint64_t> TracepointNumber(const std::string& name) {
  for (const std::string_view root : kRoots) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
        std::fopen((std::string(root) + "/events/" + name + "/id").c_str(), "re"), &std::fclose);
    char text[32] = {};
    if (!file || std::fgets(text, sizeof text, file.get()) == nullptr) continue;
    uint64_t number = 0;
    if (std::from_chars(text, text + sizeof text, number).ec == std::errc()) return number;
  }
  return NotThere("the kernel's tracepoint " + name);
}

void UserTracepoint::BeAlone() {
  const std::string held = "/proc/self/fd/" + std::to_string(Commands().get());
  if (UniqueFd own(::open(held.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC)); own) Commands() = std::move(own);
}

void UserTracepoint::RemoveLeftBehind() {
  for (const std::string_view root : kRoots) RemoveLeftBehindIn(std::string(root));
}

void UserTracepoint::Hold() {
  for (const std::string_view root : kRoots) {
    if (Commands()) return;
    auto commands = Heirlooms::File("breakpoint-commands", [root]() -> Result<UniqueFd> {
      const std::string path = std::string(root) + "/uprobe_events";
      // Not O_TRUNC: that removes everybody's.
      UniqueFd own(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
      if (!own) return Status::FromErrno(path);
      return own;
    });
    if (!commands.ok()) continue;
    Commands() = std::move(commands).value();
    RemoveLeftBehindIn(std::string(root));
  }
}

Status UserTracepoint::Check() {
  if (!Commands()) return NotThere("breakpoints of the kernel (uprobe_events)");
  // The host's mounts, which that was opened in, are not those that profd reads numbers in.
  return TracepointNumber("raw_syscalls/sys_enter").status();
}

Result<UserTracepoint> UserTracepoint::Make(const std::string& path, std::span<const uint64_t> offsets,
                                            bool of_returns) {
  // What would be another word, another number or a comment.
  for (const char c : path) {
    if (c <= ' ' || c >= 0x7f || c == ':' || c == '#')
      return Status(Code::kInvalidArgument, "the kernel takes no breakpoint in a file of this name: " + path);
  }
  static std::atomic<uint64_t> made{0};
  UserTracepoint point(std::string(kGroup) + std::to_string(::getpid()) + "/f" +
                       std::to_string(made.fetch_add(1)));
  // Those after the first are added to it.
  for (const uint64_t offset : offsets) {
    char at[32];
    std::snprintf(at, sizeof at, ":0x%llx", static_cast<unsigned long long>(offset));
    if (!Command((of_returns ? "r:" : "p:") + point.name_ + " " + path + at))
      return Status::FromErrno("set a breakpoint in " + path);
  }
  return point;
}

UserTracepoint::~UserTracepoint() {
  if (!name_.empty()) Command("-:" + name_);
}

}  // namespace profd::host
