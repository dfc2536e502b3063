// host_syscall.data: what profd says in a line beside what `perf trace -T` does, docs/formats.md.
#pragma once

#include <string_view>

namespace profd::format {

// In the parentheses, before the number of the process where that is not the target of info.json. The
// vendor's lines, of µs, may have any arguments there.
inline constexpr std::string_view kSyscallProcess = "process: ";

}  // namespace profd::format
