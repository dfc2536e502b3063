#include "daemon/host/files/row_text.h"

#include <charconv>

namespace profd::host {

void AppendNumber(std::string& text, uint64_t value) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  text.append(digits, end);
}

void AppendLine(std::string& text, std::string_view head, uint64_t value) {
  text += head;
  AppendNumber(text, value);
  text += '\n';
}

void AppendBlock(std::string& text, uint64_t raw_ns, uint64_t index, std::string_view body) {
  AppendLine(text, "TimeStamp:", raw_ns);
  AppendLine(text, "Index:", index);
  AppendLine(text, "DataLen:", body.size());
  text += body;
  text += '\n';
}

std::string_view CpuLines(std::string_view proc_stat) {
  size_t end = 0;
  while (proc_stat.substr(end).starts_with("cpu")) end += FirstLine(proc_stat.substr(end)).size();
  return proc_stat.substr(0, end);
}

std::string_view FirstLine(std::string_view text) {
  const size_t newline = text.find('\n');
  return newline == std::string_view::npos ? text : text.substr(0, newline + 1);
}

}  // namespace profd::host
