#include "daemon/fabric/holder.h"

#include <dirent.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string_view>

#include "base/text.h"

namespace profd::fabric {

namespace {

// "pid 4711 (dynolog)": who has the socket of this inode; "" = not to be found.
std::string HolderOf(const std::string& inode) {
  const std::string wanted = "socket:[" + inode + "]";
  const std::unique_ptr<DIR, int (*)(DIR*)> all(::opendir("/proc"), &::closedir);
  if (!all) return "";
  while (const dirent* process = ::readdir(all.get())) {
    const std::string_view pid = process->d_name;
    if (pid.find_first_not_of("0123456789") != std::string_view::npos) continue;
    const std::string folder = "/proc/" + std::string(pid) + "/fd";
    const std::unique_ptr<DIR, int (*)(DIR*)> fds(::opendir(folder.c_str()), &::closedir);
    if (!fds) continue;
    while (const dirent* fd = ::readdir(fds.get())) {
      char target[64] = "";
      if (::readlinkat(::dirfd(fds.get()), fd->d_name, target, sizeof target - 1) <= 0 || wanted != target)
        continue;
      std::string name;
      std::getline(std::ifstream("/proc/" + std::string(pid) + "/comm"), name);
      return "pid " + std::string(pid) + " (" + base::OneLine(name, 32) + ")";
    }
  }
  return "";
}

}  // namespace

// The kernel's list shows a zero as '@'.
std::string HolderOfAbstract() {
  std::ifstream list("/proc/1/net/unix");  // of the host's network namespace
  if (!list) list.open("/proc/self/net/unix");
  for (std::string line; std::getline(list, line);) {
    const size_t path = line.rfind(' ');
    if (path == std::string::npos || line.substr(path + 1) != "@dynolog@") continue;
    const size_t inode = line.rfind(' ', path - 1);
    return HolderOf(line.substr(inode + 1, path - inode - 1));
  }
  return "";
}

}  // namespace profd::fabric
