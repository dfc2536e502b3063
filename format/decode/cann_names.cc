#include "format/decode/cann_names.h"

#include <charconv>
#include <iterator>
#include <span>

#include "format/decode/line_decoder.h"

namespace profd::format {

std::string_view CannLevelName(uint16_t level) {
  switch (static_cast<CannLevel>(level)) {
    case CannLevel::kRuntime:
      return "runtime";
    case CannLevel::kCommunication:
      return "communication";
    case CannLevel::kNode:
      return "node";
    case CannLevel::kModel:
      return "model";
    case CannLevel::kAcl:
      return "acl";
  }
  return "";
}

std::string_view GeTaskTypeName(uint32_t type) {
  constexpr std::string_view kNames[] = {"AI_CORE", "AI_CPU",  "AI_VECTOR_CORE", "WRITE_BACK",
                                         "MIX_AIC", "MIX_AIV", "FFTS_PLUS",      "DSA_SQE",
                                         "DVPP",    "HCCL",    "FUSION",         "INVALID"};
  return type < std::size(kNames) ? kNames[type] : std::string_view("UNKNOWN");
}

std::string_view LoggedTaskTypeName(uint32_t type, uint32_t chip) {
  constexpr std::string_view kStars[] = {"AI_CORE",           "AI_CPU",           "AIV_SQE",
                                         "PLACE_HOLDER_SQE",  "EVENT_RECORD_SQE", "EVENT_WAIT_SQE",
                                         "NOTIFY_RECORD_SQE", "NOTIFY_WAIT_SQE",  "WRITE_VALUE_SQE",
                                         "VQ6_SQE",           "TOF_SQE",          "SDMA_SQE",
                                         "VPC_SQE",           "JPEGE_SQE",        "JPEGD_SQE",
                                         "DSA_SQE",           "ROCCE_SQE",        "PCIE_DMA_SQE",
                                         "HOST_CPU_SQE",      "CDQM_SQE",         "C_CORE_SQE"};
  constexpr std::string_view k950[] = {"AI_CORE",
                                       "AIV_SQE",
                                       "FUSION",
                                       "PLACE_HOLDER_SQE",
                                       "AICPU_H",
                                       "AICPU_D",
                                       "NOTIFY_RECORD_SQE",
                                       "NOTIFY_WAIT_SQE",
                                       "WRITE_VALUE_SQE",
                                       "UBDMA",
                                       "ASYNCDMA",
                                       "SDMA_SQE",
                                       "VPC_SQE",
                                       "JPEGE_SQE",
                                       "JPEGD_SQE",
                                       "CMO_SQE",
                                       "CCU_SQE",
                                       "",
                                       "",
                                       "",
                                       "CONDITION_SQE",
                                       "END_SQE"};
  // Before STARS; their first nine are those of the STARS chips.
  constexpr uint32_t kHwtsSdma = 9, kHwtsMax = 10;
  std::span<const std::string_view> names = kStars;
  switch (chip) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
      if (type == kHwtsSdma) return "SDMA_SQE";
      if (type == kHwtsMax) return "MAX_SQE";
      names = names.first(kHwtsSdma);
      break;
    case 15:
    case 16:
      names = k950;
      break;
    default:
      break;
  }
  return type < names.size() && !names[type].empty() ? names[type] : std::string_view("UNKNOWN");
}

bool CannNames::HashLine(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return false;
  const auto hash = ToNumber<uint64_t>(line.substr(0, colon));
  TextId* text = hash ? hashes_.FindOrAdd(*hash) : nullptr;
  if (text != nullptr) *text = texts_.Intern(line.substr(colon + 1));
  return text != nullptr;
}

bool CannNames::TypeLine(std::string_view line) {
  const size_t colon = line.find(':'), bar = line.find('_');
  if (colon == std::string_view::npos || bar == std::string_view::npos || bar > colon) return false;
  const auto level = ToNumber<uint16_t>(line.substr(0, bar));
  const auto type = ToNumber<uint64_t>(line.substr(bar + 1, colon - bar - 1));
  TextId* text = level && type ? types_.FindOrAdd(TypeKey(*level, *type)) : nullptr;
  if (text != nullptr) *text = texts_.Intern(line.substr(colon + 1));
  return text != nullptr;
}

TextId CannNames::Hash(uint64_t hash) {
  if (const TextId text = HashOrNone(hash)) return text;
  ++unknown_;
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, hash);
  return texts_.Intern({digits, static_cast<size_t>(end - digits)});
}

TextId CannNames::Type(uint16_t level, uint64_t type) {
  if (const TextId* text = types_.Find(TypeKey(level, type))) return *text;
  ++unknown_;
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, type);
  return texts_.Intern({digits, static_cast<size_t>(end - digits)});
}

}  // namespace profd::format
