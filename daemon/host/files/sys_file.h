// A file of /sys that is read again and again.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"
#include "daemon/host/files/proc_file.h"
#include "daemon/host/files/sys_tree.h"

namespace profd::host {

// **Thread:** sample. **Owns:** the descriptor, while the budget lasts.
class SysFile {
 public:
  SysFile(const SysTree& tree, const std::string& path, FdBudget& budget)
      : path_(tree.root() + path), budget_(&budget) {}
  SysFile(SysFile&& other) noexcept = default;
  SysFile(const SysFile&) = delete;
  SysFile& operator=(const SysFile&) = delete;
  SysFile& operator=(SysFile&&) = delete;
  ~SysFile() { Close(); }

  // Up to SysTree::kMostBytes of it, in `buffer`; "" when it cannot be read.
  std::string_view Read(std::string& buffer);

 private:
  void Close();

  std::string path_;
  FdBudget* budget_;
  base::UniqueFd kept_;
};

}  // namespace profd::host
