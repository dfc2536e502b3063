// What one process of profd's leaves to the next: files that only profd's first rights could open, and memory
// that all of them share. A process that is forked has both. One that is executed has the files under numbers
// that it is told.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/unique_fd.h"

namespace profd::host {

// **Thread:** before there are others; left() any, later.
class Heirlooms {
 public:
  // In a process that was executed: what it was told. "breakpoints=7,kernel-names=8"
  static base::Status Read(std::string_view told);
  // The file that the process before left under this name, else what `make` makes. It is left to the next
  // one: whoever has it never closes it.
  static base::Result<base::UniqueFd> File(const std::string& name,
                                           const std::function<base::Result<base::UniqueFd>()>& make);
  // Memory, for ever; zeros where it is new. nullptr: there is none.
  struct Memory {
    void* at = nullptr;
    bool is_new = false;
  };
  static Memory Shared(const std::string& name, size_t bytes);

  static const std::map<std::string, int>& left();
};

}  // namespace profd::host
