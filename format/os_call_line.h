// host_syscall.data and host_pthreadcall.data: what profd says in a line beside what `perf trace -T` and
// `ltrace -ttt -T` do, docs/formats.md.
#pragma once

#include <string_view>

namespace profd::format {

// In the parentheses, before the number of the process where that is not the target of info.json. The
// lines of those tools may have any arguments there; theirs have stamps of µs, profd's of ns.
inline constexpr std::string_view kOsCallProcess = "process: ";

}  // namespace profd::format
