// host_syscall.data and host_pthreadcall.data: what profd says in a line beside what `perf trace -T` and
// `ltrace -ttt -T` do, docs/formats.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "format/kind.h"

namespace profd::format {

inline constexpr std::string_view kSyscallFile = file::kHostOsrt;
inline constexpr std::string_view kPthreadCallFile = file::kHostPthread;

// In the parentheses, before the number of the process. The lines of those tools may have any arguments
// there; theirs have stamps of µs, profd's of ns. In system calls it is always there: the analyser takes a
// call for one when a colon comes before the second blank.
inline constexpr std::string_view kOsCallProcess = "process: ";

// The line, with its end, that stands first in every slice of `file`; "" in files of other kinds. The
// analyser puts the first stamp that it reads where the collection begins, `begin_raw_ns`, and leaves this
// line out, as its call is none.
std::string OsCallBeginLine(std::string_view file, uint64_t begin_raw_ns);
bool IsOsCallBeginLine(std::string_view line);

// `ns` with as many of the digits behind the point as a ns has: 9 of seconds, 6 of milliseconds.
void AppendWithNs(std::string& text, uint64_t ns, uint64_t unit_ns);

}  // namespace profd::format
