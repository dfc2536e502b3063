#include "format/decode/host/cpu_profile.h"

#include <algorithm>
#include <charconv>

#include "format/decode/line_decoder.h"

namespace profd::format {

std::optional<CpuSample> ParseCpuSample(std::string_view line) {
  Words words(line);
  const auto raw_ns = ToNumber<uint64_t>(words.Next());
  const auto pid = ToNumber<int64_t>(words.Next());
  const auto tid = ToNumber<int64_t>(words.Next());
  const auto cpu = ToNumber<uint32_t>(words.Next());
  const auto period = ToNumber<uint64_t>(words.Next());
  const auto stack = ToNumber<uint32_t>(words.Next());
  if (!raw_ns || !pid || !tid || !cpu || !period || !stack || !words.Next().empty()) return std::nullopt;
  return CpuSample{*raw_ns, *pid, *tid, *cpu, *period, *stack};
}

std::optional<CpuFrame> ParseCpuFrame(std::string_view text) {
  CpuFrame frame;
  if (text.starts_with('k') || text.starts_with('p')) {
    const size_t colon = text.starts_with('p') ? std::min(text.find(':'), text.size()) : text.size();
    const auto number = ToNumber<uint32_t>(text.substr(1, colon - 1));
    if (!number) return std::nullopt;
    frame.what = text.starts_with('k') ? CpuFrame::What::kKernel : CpuFrame::What::kPython;
    frame.number = *number;
    if (colon == text.size()) return frame;
    const auto line = ToNumber<uint32_t>(text.substr(colon + 1));
    if (!line) return std::nullopt;
    frame.offset = *line;
    return frame;
  }
  if (text.starts_with('@')) {
    const auto address = ToNumber<uint64_t>(text.substr(1), 16);
    if (!address) return std::nullopt;
    frame.offset = *address;
    return frame;
  }
  const size_t plus = text.find('+');
  if (plus == std::string_view::npos) return std::nullopt;
  const auto module = ToNumber<uint32_t>(text.substr(0, plus));
  const auto offset = ToNumber<uint64_t>(text.substr(plus + 1), 16);
  if (!module || !offset) return std::nullopt;
  frame.what = CpuFrame::What::kModule;
  frame.number = *module;
  frame.offset = *offset;
  return frame;
}

}  // namespace profd::format
