#include "format/decode/tasks/tensor_texts.h"

#include <algorithm>
#include <iterator>

#include "format/decode/tasks/cann_names.h"

namespace profd::format {

namespace {

// "16,32"; a dimension of 0 ends it.
std::string ShapeOf(const CannTensor& tensor) {
  std::string shape;
  for (const uint32_t size : tensor.shape) {
    if (size == 0) break;
    if (!shape.empty()) shape += ',';
    shape += std::to_string(size);
  }
  return shape;
}

}  // namespace

bool TensorList::Add(const CannTensorInfo& record) {
  if (count_ > 0 && record.op_name != op_name_) return false;
  op_name_ = record.op_name;
  const uint32_t count = std::min<uint32_t>(record.count, std::size(record.tensor));
  for (uint32_t i = 0; i < count; ++i) {
    const CannTensor& tensor = record.tensor[i];
    if (tensor.is_output > 1) continue;
    if (count_++ >= kMost) return false;
    const size_t first = tensor.is_output * 3;
    const bool behind = !columns_[first + 1].empty();  // a shape can be empty, a type cannot
    const std::string parts[] = {ShapeOf(tensor), GeDataTypeName(tensor.data_type),
                                 GeFormatName(tensor.format)};
    for (size_t part = 0; part < std::size(parts); ++part)
      columns_[first + part] += (behind ? ";" : "") + parts[part];
  }
  return true;
}

// Shapes are in quotes, which readers take off.
TensorTexts TensorList::Intern(Texts& texts) const {
  TensorTexts found{};
  for (size_t i = 0; i < columns_.size(); ++i) {
    const bool is_there = !columns_[i / 3 * 3 + 1].empty();
    if (is_there) found[i] = texts.Intern(i % 3 == 0 ? '"' + columns_[i] + '"' : columns_[i]);
  }
  return found;
}

}  // namespace profd::format
