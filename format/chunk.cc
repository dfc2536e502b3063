#include "format/chunk.h"

namespace profd::format {

const char* LossName(Loss::Where where) {
  switch (where) {
    case Loss::Where::kDriver:
      return "driver";
    case Loss::Where::kPool:
      return "pool";
    case Loss::Where::kWrite:
      return "write";
    case Loss::Where::kSampler:
      return "sampler";
    case Loss::Where::kAgent:
      return "agent";
  }
  return "unknown";
}

}  // namespace profd::format
