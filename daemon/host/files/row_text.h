// Pieces of the vendor's text layouts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace profd::host {

void AppendNumber(std::string& text, uint64_t value);
// "<head><value>\n"
void AppendLine(std::string& text, std::string_view head, uint64_t value);
// One sample of the block kinds (…CpuUsage, …Memory, host_sys_*): stamp, index, length, body, empty line.
// `body` ends with a newline.
void AppendBlock(std::string& text, uint64_t raw_ns, uint64_t index, std::string_view body);

// The lines at the start of /proc/stat whose name begins with "cpu"; the first is the sum of the others.
std::string_view CpuLines(std::string_view proc_stat);
std::string_view FirstLine(std::string_view text);

}  // namespace profd::host
