#include "format/op_names.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace profd::format {

namespace {

constexpr std::string_view kDigits = "0123456789";

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kDigits) == std::string_view::npos;
}

// What is behind the last `mark`; all of it without one.
std::string_view Behind(std::string_view text, char mark) { return text.substr(text.rfind(mark) + 1); }

// Without "_4_1" at its end.
std::string_view WithoutNumbers(std::string_view name) {
  while (true) {
    const size_t bar = name.rfind('_');
    if (bar == std::string_view::npos || bar == 0 || !IsNumber(name.substr(bar + 1))) return name;
    name = name.substr(0, bar);
  }
}

}  // namespace

std::string_view OpTypeOf(std::string_view kernel) {
  const std::string_view type = Behind(WithoutNumbers(Behind(kernel, '/')), '_');
  const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  if (type.size() < 2 || type.front() < 'A' || type.front() > 'Z') return "";
  return std::ranges::all_of(type, plain) ? type : std::string_view();
}

// Source: the analyser's csrc/domain/services/persistence/host/cann_trace_db_dumper.cpp:58.
std::string_view OpTaskTypeOf(std::string_view task_type) {
  constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"KERNEL_AICORE", "AI_CORE"},  {"KERNEL_AICPU", "AI_CPU"},    {"KERNEL_AIVEC", "AI_VECTOR_CORE"},
      {"KERNEL_MIX_AIC", "MIX_AIC"}, {"KERNEL_MIX_AIV", "MIX_AIV"}, {"KERNEL_SIMT", "AI_VECTOR_CORE"}};
  for (const auto& [runtime, type] : kTypes) {
    if (task_type == runtime) return type;
  }
  return task_type;
}

std::string_view CollectiveTypeOf(std::string_view name) { return WithoutNumbers(name); }

// Source: the collector's runtime/src/dfx/msprof/collector/dvvp/transport/hash_data.cpp:72.
uint64_t CannHash(std::string_view text) {
  uint32_t high = 0, low = 0;
  for (const char c : text) {
    high = high * 29 + static_cast<unsigned char>(c);
    low = low * 131 + static_cast<unsigned char>(c);
  }
  return uint64_t{high} << 32 | low;
}

std::string CollectiveName(std::string_view name, std::string_view group, uint32_t number) {
  std::string type(name);
  if (name.starts_with("hcom_")) type = name.substr(5);
  if (name.starts_with("Hccl")) type = name.substr(4);
  if (!type.empty()) type[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(type[0])));
  const std::string hash = "00" + std::to_string(CannHash(group));
  return "hcom_" + type + "__" + hash.substr(hash.size() - 3) + "_" + std::to_string(number) + "_1";
}

}  // namespace profd::format
