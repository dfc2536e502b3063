#include "format/decode/cann/tensor_texts.h"

#include <iterator>

#include "format/decode/cann/cann_names.h"

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

bool TensorList::Add(uint64_t op_name, std::span<const CannTensor> tensors) {
  if (count_ > 0 && op_name != op_name_) return false;
  op_name_ = op_name;
  for (const CannTensor& tensor : tensors) {
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

TensorTexts TensorsOf(const TaskDetail& detail) {
  return {detail.input_shapes,  detail.input_types,  detail.input_formats,
          detail.output_shapes, detail.output_types, detail.output_formats};
}

void SetTensors(TaskDetail& detail, const TensorTexts& tensors) {
  detail.input_shapes = tensors[0];
  detail.input_types = tensors[1];
  detail.input_formats = tensors[2];
  detail.output_shapes = tensors[3];
  detail.output_types = tensors[4];
  detail.output_formats = tensors[5];
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
