#include "format/decode/cann/cann_names.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <span>
#include <utility>

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

// The upper half of the type (Ascend/msprof, csrc/domain/services/persistence/host/number_mapping.cpp).
std::string AclApiTag(uint32_t type) {
  constexpr std::string_view kNames[] = {"",           "ACL_OP",   "ACL_MODEL",   "ACL_RTS",
                                         "ACL_OTHERS", "ACL_NN",   "ACL_ASCENDC", "HOST_HCCL",
                                         "",           "ACL_DVPP", "ACL_GRAPH",   "ACL_ATB"};
  const uint32_t tag = type >> 16;
  return tag < std::size(kNames) && !kNames[tag].empty() ? std::string(kNames[tag]) : std::to_string(tag);
}

std::string_view GeTaskTypeName(uint32_t type) {
  constexpr std::string_view kNames[] = {"AI_CORE", "AI_CPU",        "AI_VECTOR_CORE", "WRITE_BACK",
                                         "MIX_AIC", "MIX_AIV",       "FFTS_PLUS",      "DSA_SQE",
                                         "DVPP",    "COMMUNICATION", "FUSION",         "INVALID"};
  return type < std::size(kNames) ? kNames[type] : std::string_view("UNKNOWN");
}

// Source of the names and numbers: the analyser's csrc/domain/services/persistence/host/number_mapping.cpp.
std::string GeFormatName(uint32_t format) {
  constexpr std::string_view kNames[] = {"NCHW",
                                         "NHWC",
                                         "ND",
                                         "NC1HWC0",
                                         "FRACTAL_Z",
                                         "NC1C0HWPAD",
                                         "NHWC1C0",
                                         "FSR_NCHW",
                                         "FRACTAL_DECONV",
                                         "C1HWNC0",
                                         "FRACTAL_DECONV_TRANSPOSE",
                                         "FRACTAL_DECONV_SP_STRIDE_TRANS",
                                         "NC1HWC0_C04",
                                         "FRACTAL_Z_C04",
                                         "CHWN",
                                         "FRACTAL_DECONV_SP_STRIDE8_TRANS",
                                         "HWCN",
                                         "NC1KHKWHWC0",
                                         "BN_WEIGHT",
                                         "FILTER_HWCK",
                                         "HASHTABLE_LOOKUP_LOOKUPS",
                                         "HASHTABLE_LOOKUP_KEYS",
                                         "HASHTABLE_LOOKUP_VALUE",
                                         "HASHTABLE_LOOKUP_OUTPUT",
                                         "HASHTABLE_LOOKUP_HITS",
                                         "C1HWNCoC0",
                                         "MD",
                                         "NDHWC",
                                         "FRACTAL_ZZ",
                                         "FRACTAL_NZ",
                                         "NCDHW",
                                         "DHWCN",
                                         "NDC1HWC0",
                                         "FRACTAL_Z_3D",
                                         "CN",
                                         "NC",
                                         "DHWNC",
                                         "FRACTAL_Z_3D_TRANSPOSE",
                                         "FRACTAL_ZN_LSTM",
                                         "FRACTAL_Z_G",
                                         "RESERVED",
                                         "ALL",
                                         "NULL",
                                         "ND_RNN_BIAS",
                                         "FRACTAL_ZN_RNN",
                                         "END",
                                         "",
                                         "NCL",
                                         "FRACTAL_Z_WINO",
                                         "C1HWC0",
                                         "FRACTAL_NZ_C0_16",
                                         "FRACTAL_NZ_C0_32",
                                         "FRACTAL_NZ_C0_2",
                                         "FRACTAL_NZ_C0_4",
                                         "FRACTAL_NZ_C0_8",
                                         "END"};
  // Of another framework.
  constexpr uint32_t kFirstOther = 200, kUndefined = UINT32_MAX;
  constexpr std::string_view kOthers[] = {
      "UNKNOWN_",        "DEFAULT_",     "NC1KHKWHWC0_",   "ND_",     "NCHW_",
      "NHWC_",           "HWCN_",        "NC1HWC0_",       "FRAC_Z_", "C1HWNCOC0_",
      "FRAC_NZ_",        "NC1HWC0_C04_", "FRACTAL_Z_C04_", "NDHWC_",  "FRACTAL_ZN_LSTM_",
      "FRACTAL_ZN_RNN_", "ND_RNN_BIAS_", "NDC1HWC0_",      "NCDHW_",  "FRACTAL_Z_3D_",
      "DHWNC_",          "DHWCN_"};
  if (format == kUndefined) return "UNDEFINED";
  const uint32_t base = format & 0xFF, sub = format >> 8 & 0xFFFF;
  std::string_view name;
  if (base < std::size(kNames)) name = kNames[base];
  if (base >= kFirstOther && base - kFirstOther < std::size(kOthers)) name = kOthers[base - kFirstOther];
  std::string text = name.empty() ? std::to_string(base) : std::string(name);
  return sub > 0 ? text + ":" + std::to_string(sub) : text;
}

std::string GeDataTypeName(uint32_t type) {
  constexpr std::string_view kNames[] = {"FLOAT",
                                         "FLOAT16",
                                         "INT8",
                                         "INT32",
                                         "UINT8",
                                         "",
                                         "INT16",
                                         "UINT16",
                                         "UINT32",
                                         "INT64",
                                         "UINT64",
                                         "DOUBLE",
                                         "BOOL",
                                         "STRING",
                                         "DUAL_SUB_INT8",
                                         "DUAL_SUB_UINT8",
                                         "COMPLEX64",
                                         "COMPLEX128",
                                         "QINT8",
                                         "QINT16",
                                         "QINT32",
                                         "QUINT8",
                                         "QUINT16",
                                         "RESOURCE",
                                         "STRING_REF",
                                         "DUAL",
                                         "DT_VARIANT",
                                         "DT_BF16",
                                         "DT_UNDEFINED",
                                         "DT_INT4",
                                         "DT_UINT1",
                                         "DT_INT2",
                                         "DT_UINT2",
                                         "DT_COMPLEX32",
                                         "DT_HIFLOAT8",
                                         "DT_FLOAT8_E5M2",
                                         "DT_FLOAT8_E4M3FN",
                                         "DT_FLOAT8_E8M0",
                                         "DT_FLOAT6_E3M2",
                                         "DT_FLOAT6_E2M3",
                                         "DT_FLOAT4_E2M1",
                                         "DT_FLOAT4_E1M2",
                                         "DT_MAX"};
  constexpr uint32_t kFirstOther = 229;
  constexpr std::string_view kOthers[] = {"NUMBER_TYPE_BEGIN_",
                                          "BOOL_",
                                          "INT_",
                                          "INT8_",
                                          "INT16_",
                                          "INT32_",
                                          "INT64_",
                                          "UINT_",
                                          "UINT8_",
                                          "UINT16_",
                                          "UINT32_",
                                          "UINT64_",
                                          "FLOAT_",
                                          "FLOAT16_",
                                          "FLOAT32_",
                                          "FLOAT64_",
                                          "COMPLEX_",
                                          "NUMBER_TYPE_END_"};
  std::string_view name;
  if (type < std::size(kNames)) name = kNames[type];
  if (type >= kFirstOther && type - kFirstOther < std::size(kOthers)) name = kOthers[type - kFirstOther];
  if (type == UINT32_MAX) return "UNDEFINED";
  return name.empty() ? std::to_string(type) : std::string(name);
}

namespace {

// The task types of a 310's firmware, whose log is not the hardware's. Source: the analyser's
// common_func/ms_constant/str_constant.py (TASK_TYPE_MAPPING); its timeline calls the first two as here.
std::string_view FirmwareTaskTypeName(uint32_t type) {
  constexpr std::pair<uint32_t, std::string_view> kNames[] = {{0, "AI_CORE"},
                                                              {1, "AI_CPU"},
                                                              {2, "event record task"},
                                                              {3, "stream wait event task"},
                                                              {4, "fusion issue task"},
                                                              {5, "memory copy task"},
                                                              {6, "maintenance task"},
                                                              {7, "create stream task"},
                                                              {8, "kernel data dump task"},
                                                              {9, "event notify task"},
                                                              {10, "pctrace enable task"},
                                                              {11, "create L2 addr task"},
                                                              {12, "model maintaince task"},
                                                              {13, "model execute task"},
                                                              {14, "notify wait task"},
                                                              {15, "notify record task"},
                                                              {16, "HCCL rdma cpy task"},
                                                              {17, "L2 SDMA memory copy task"},
                                                              {18, "stream switch task"},
                                                              {19, "stream active task"},
                                                              {20, "label set task"},
                                                              {21, "label switch task"},
                                                              {22, "label goto task"},
                                                              {23, "profiler trace task"},
                                                              {24, "event reset task"},
                                                              {25, "HCCL rdma db cpy task"},
                                                              {26, "profiler trace task"},
                                                              {50, "stars common task"},
                                                              {51, "ffts task"},
                                                              {52, "ffts plus task"},
                                                              {64, "profiling enable task"},
                                                              {65, "profiling disable task"},
                                                              {66, "AI vector task"},
                                                              {67, "add model end graph task"},
                                                              {68, "AICPU schedule task"},
                                                              {69, "active stream task"},
                                                              {70, "load data dump info task"},
                                                              {71, "stream switch n task"},
                                                              {72, "Host func Callback task"},
                                                              {73, "start online profiling task"},
                                                              {74, "stop online profiling task"},
                                                              {75, "stream label switch task"},
                                                              {77, "stream label goto task"},
                                                              {78, "overflow debug register task"},
                                                              {79, "overflow debug unregister task"},
                                                              {80, "L1 fusion dump set task"},
                                                              {81, "add model exit graph task"},
                                                              {82, "mdc profiling task"},
                                                              {83, "device ring buff set task"},
                                                              {84, "stream overflow debug register task"},
                                                              {85, "stream overflow debug unregister task"},
                                                              {86, "timeout set task"},
                                                              {87, "get device message task"},
                                                              {101, "model-task update task"},
                                                              {116, "task update task"}};
  const auto* const found = std::ranges::find(kNames, type, &std::pair<uint32_t, std::string_view>::first);
  return found != std::end(kNames) ? found->second : std::string_view("UNKNOWN");
}

}  // namespace

// Source: the analyser's ascend_task_association.cpp.
std::string_view LoggedSubTaskTypeName(uint32_t type) {
  constexpr std::string_view kNames[] = {
      "AIC",     "AIV",          "",     "Notify Wait",  "Notify Record",           "Write Value",
      "MIX_AIC", "MIX_AIV",      "SDMA", "Data Context", "Invalidate Data Context", "Writeback Data Context",
      "AI_CPU",  "Load Context", "",     "DSA"};
  const bool known = type < std::size(kNames) && !kNames[type].empty();
  return known ? kNames[type] : std::string_view("UNKNOWN");
}

std::string_view LoggedTaskTypeName(uint32_t type, Chip chip) {
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
  if (chip == Chip::k310) return FirmwareTaskTypeName(type);
  if (Is950(chip)) {
    names = k950;
  } else if (!TraitsOf(chip).stars) {
    if (type == kHwtsSdma) return "SDMA_SQE";
    if (type == kHwtsMax) return "MAX_SQE";
    names = names.first(kHwtsSdma);
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
  knows_models_ = knows_models_ || level == static_cast<uint16_t>(CannLevel::kModel);
  TextId* text = level && type ? types_.FindOrAdd(TypeKey(*level, *type)) : nullptr;
  if (text != nullptr) *text = texts_.Intern(line.substr(colon + 1));
  return text != nullptr;
}

TextId CannNames::Hash(uint64_t hash) {
  if (const TextId text = HashOrNone(hash)) return text;
  if (hash != 0) ++unknown_;  // 0 is the number of no text
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
