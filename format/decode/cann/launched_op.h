#pragma once

#include <cstdint>

#include "format/decode/cann/tensor_texts.h"

namespace profd::format {

// The operator that something given to a device is of.
struct LaunchedOp {
  TextId op_name = 0, op_type = 0, op_task_type = 0, attributes = 0;
  uint32_t blocks = 0, mix_blocks = 0;
  TensorTexts tensors{};
  bool is_compute = false, hf32 = false;
  bool is_dynamic = false;  // it is built anew for each shape
  bool has_info = false;    // the host tells of its state, too
};

}  // namespace profd::format
