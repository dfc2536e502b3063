#include "client/node/container.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string_view>

namespace profd::client {

namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr size_t kLeastOfId = 8;

// Ids as the container engines write them into the names of cgroups: "docker-<64 hex digits>.scope",
// "/kubepods/…/<id>", "cri-containerd-<id>.scope". Returns the one that begins with `container`.
std::string IdIn(std::string_view cgroups, std::string_view container) {
  const auto is_part = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '_'; };
  for (size_t at = cgroups.find(container); at != std::string_view::npos;
       at = cgroups.find(container, at + 1)) {
    if (at == 0 || is_part(cgroups[at - 1])) continue;
    size_t end = at;
    while (end < cgroups.size() && is_part(cgroups[end])) ++end;
    return std::string(cgroups.substr(at, end - at));
  }
  return "";
}

// The last of "NSpid:\t4711\t2": as the innermost namespace has it.
int32_t InnerPid(const std::filesystem::path& status_file) {
  std::ifstream file(status_file);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("NSpid:")) continue;
    const size_t last = line.find_last_of(" \t");
    int32_t pid = 0;
    std::from_chars(line.data() + last + 1, line.data() + line.size(), pid);
    return pid;
  }
  return 0;
}

bool IsId(std::string_view text) {
  return text.size() >= kLeastOfId &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

Result<std::vector<int32_t>> PidsOfContainer(const std::string& proc, const std::string& container,
                                             const std::vector<int32_t>& inside) {
  if (!IsId(container)) {
    return Status(
        Code::kInvalidArgument,
        "--container '" + container.substr(0, 80) +
            "': expected the id of a container, or its first 8 digits or more: docker ps, crictl ps");
  }
  std::set<std::string> ids;
  std::map<int32_t, int32_t> outside;  // by the pid inside
  std::error_code error;
  for (std::filesystem::directory_iterator at(proc, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    int32_t pid = 0;
    const auto [rest, wrong] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (wrong != std::errc() || rest != name.data() + name.size()) continue;
    std::ifstream file(at->path() / "cgroup");
    std::string id;
    for (std::string line; id.empty() && std::getline(file, line);) id = IdIn(line, container);
    if (id.empty()) continue;
    ids.insert(id);
    const int32_t inner = InnerPid(at->path() / "status");
    if (inner != 0 && inner != pid) outside.emplace(inner, pid);
  }
  if (ids.empty()) {
    return Status(Code::kNotFound, "no process of a container " + container + " is on this node");
  }
  if (ids.size() > 1) {
    return Status(Code::kInvalidArgument, "--container " + container + " is the begin of " +
                                              std::to_string(ids.size()) + " ids: give more of it");
  }
  std::vector<int32_t> pids;
  for (const int32_t pid : inside) {
    const auto found = outside.find(pid);
    if (found == outside.end()) {
      return Status(Code::kNotFound, "container " + container + " has no process " + std::to_string(pid));
    }
    pids.push_back(found->second);
  }
  return pids;
}

}  // namespace profd::client
