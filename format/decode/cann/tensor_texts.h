// The tensors of an operator, as the vendor's tables have them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>

#include "format/events/spans.h"
#include "format/records/cann.h"
#include "format/texts.h"

namespace profd::format {

// In the order of op_summary's columns: shapes, types, formats of the inputs, then of the outputs; 0 = none.
using TensorTexts = std::array<TextId, 6>;

TensorTexts TensorsOf(const TaskDetail& detail);
void SetTensors(TaskDetail& detail, const TensorTexts& tensors);

// Those of one operator, record by record. **Thread:** one.
class TensorList {
 public:
  static constexpr uint32_t kMost = 256;

  // False: of another operator, or one more than anybody has.
  bool Add(const CannTensorInfo& record) {
    return Add(record.op_name,
               std::span(record.tensor).first(std::min<size_t>(record.count, std::size(record.tensor))));
  }
  bool Add(uint64_t op_name, std::span<const CannTensor> tensors);
  uint64_t op_name() const { return op_name_; }
  TensorTexts Intern(Texts& texts) const;

 private:
  uint64_t op_name_ = 0;
  uint32_t count_ = 0;
  std::array<std::string, 6> columns_;
};

}  // namespace profd::format
