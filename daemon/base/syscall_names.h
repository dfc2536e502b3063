// The names of system calls on this machine.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

namespace profd::base {

// **Thread:** one.
class SyscallNames {
 public:
  // "openat"; "syscall_462" of one that is newer than the library. Good as long as this is there.
  std::string_view Of(long number);

 private:
  std::unordered_map<long, std::string> names_;
};

}  // namespace profd::base
