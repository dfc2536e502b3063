#include "format/events/os_call_line.h"

namespace profd::format {

namespace {

constexpr uint64_t kMs = 1'000'000, kSecond = 1'000'000'000;
constexpr std::string_view kSyscallBegin = " ( 0.000000 ms): begin";
// Of all pthread calls the analyser leaves out this one.
constexpr std::string_view kPthreadBegin = " begin->pthread_once() = 0 <0.000000000>";

}  // namespace

void AppendWithNs(std::string& text, uint64_t ns, uint64_t unit_ns) {
  const std::string digits = std::to_string(unit_ns + ns % unit_ns);  // a 1, then all of them
  text += std::to_string(ns / unit_ns);
  text += '.';
  text.append(digits, 1);
}

std::string OsCallBeginLine(std::string_view file, uint64_t begin_raw_ns) {
  std::string line;
  if (file == kSyscallFile) {
    AppendWithNs(line, begin_raw_ns, kMs);
    line.append(kSyscallBegin) += '\n';
  } else if (file == kPthreadCallFile) {
    line = "[pid 0] ";
    AppendWithNs(line, begin_raw_ns, kSecond);
    line.append(kPthreadBegin) += '\n';
  }
  return line;
}

bool IsOsCallBeginLine(std::string_view line) {
  return line.ends_with(kSyscallBegin) || line.ends_with(kPthreadBegin);
}

}  // namespace profd::format
