// Names that CANN records refer to by numbers: hash_dic and type_info_dic.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/flat_map.h"
#include "format/chip.h"
#include "format/records/cann.h"
#include "format/texts.h"

namespace profd::format {

// "node", "runtime", …; "" for a level nobody has described.
std::string_view CannLevelName(uint16_t level);
// "ACL_NN", … of the type of a call at level acl; the number itself when nobody has described it.
std::string AclApiTag(uint32_t type);
// "AI_CORE", … of CannNodeInfo::task_type.
std::string_view GeTaskTypeName(uint32_t type);
// "FRACTAL_NZ", "NCHW:16" (with a sub format), "FLOAT16" of CannTensor; "UNDEFINED" of a number without a
// name.
std::string GeFormatName(uint32_t format);
std::string GeDataTypeName(uint32_t type);
// What the scheduler's log says a task is: "AI_CORE", "EVENT_WAIT_SQE", …
std::string_view LoggedTaskTypeName(uint32_t type, Chip chip);
// The same of a sub task: "AIC", "SDMA", …
std::string_view LoggedSubTaskTypeName(uint32_t type);

// **Thread:** one.
class CannNames {
 public:
  explicit CannNames(Texts& texts) : texts_(texts) {}

  // A line "<number>:<text>" of hash_dic; false when it is none.
  bool HashLine(std::string_view line);
  // A line "<level>_<type>:<name>" of type_info_dic.
  bool TypeLine(std::string_view line);

  // The text of a hash, else the number itself.
  TextId Hash(uint64_t hash);
  // 0 when it isn't known.
  TextId HashOrNone(uint64_t hash) {
    const TextId* text = hashes_.Find(hash);
    return text != nullptr ? *text : 0;
  }
  TextId Type(uint16_t level, uint64_t type);
  // Whether any type of the model level has a name: without one nothing recorded a call of it.
  bool knows_models() const { return knows_models_; }
  uint64_t unknown() const { return unknown_; }

 private:
  static constexpr size_t kMaxNames = 1 << 20;
  static uint64_t TypeKey(uint64_t level, uint64_t type) { return level << 48 ^ type; }

  Texts& texts_;
  base::FlatMap<TextId> hashes_{kMaxNames}, types_{kMaxNames};
  bool knows_models_ = false;
  uint64_t unknown_ = 0;
};

}  // namespace profd::format
