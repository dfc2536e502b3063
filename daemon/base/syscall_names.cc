#include "daemon/base/syscall_names.h"

#include <seccomp.h>

#include <cstdlib>
#include <memory>

namespace profd::base {

std::string_view SyscallNames::Of(long number) {
  const auto [known, is_new] = names_.try_emplace(number);
  if (is_new) {
    const std::unique_ptr<char, decltype(&std::free)> name(
        seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, static_cast<int>(number)), &std::free);
    known->second = name ? name.get() : "syscall_" + std::to_string(number);
  }
  return known->second;
}

}  // namespace profd::base
