#include "format/decode/cann/captures.h"

#include <algorithm>

#include "format/records/packed.h"
#include "format/texts.h"

namespace profd::format {

void Captures::Add(const CannCapturedOp& record, std::span<const CannTensor> tensors, bool is_dynamic) {
  ++records_;
  if (record.head.magic != kCannMagic || record.count > tensors.size()) {
    ++damaged_;
    return;
  }
  const std::tuple key(uint32_t{record.device}, uint32_t{record.stream}, uint32_t{record.task});
  if (ops_.size() >= kMost && !ops_.contains(key)) {
    ++no_room_;
    return;
  }
  TensorList list;
  list.Add(record.op_name, tensors.first(record.count));
  constexpr uint32_t kBlockBits = 0xFFFF;
  LaunchedOp& op = ops_[key];
  op = {};
  op.op_name = names_.Hash(record.op_name);
  op.op_type = names_.Hash(record.op_type);
  op.op_task_type = texts_.Intern(GeTaskTypeName(record.task_type));
  op.attributes = record.attributes != 0 ? names_.Hash(record.attributes) : 0;
  op.blocks = record.blocks & kBlockBits;
  op.mix_blocks = op.blocks * (record.blocks >> 16);
  op.tensors = list.Intern(texts_);
  op.is_compute = op.has_info = true;
  op.hf32 = (record.flags & 1) != 0;
  op.is_dynamic = is_dynamic;
}

size_t Captures::TakeVariable(std::span<const std::byte> bytes) {
  while (bytes.size() >= sizeof(CannCapturedOp)) {
    const auto record = Load<CannCapturedOp>(bytes.data());
    const uint64_t told = record.head.bytes;
    const uint64_t more = told - std::min<uint64_t>(told, CannCapturedOp::kBytes);
    // One whose length cannot be says nothing of where the next one begins.
    if (record.head.magic != kCannMagic || more > TensorList::kMost * sizeof(CannTensor)) {
      ++records_;
      ++damaged_;
      return 0;
    }
    if (bytes.size() < sizeof record + more) break;
    std::vector<CannTensor> tensors(more / sizeof(CannTensor));
    for (size_t i = 0; i < tensors.size(); ++i)
      tensors[i] = Load<CannTensor>(bytes.data() + sizeof record + i * sizeof(CannTensor));
    Add(record, tensors, false);
    bytes = bytes.subspan(sizeof record + more);
  }
  return bytes.size();
}

void Captures::Add(const CannCapture& record) {
  if (record.ended != 0) return;  // the graph's numbers of tasks are not given to another one
  if (starts_ >= kMost) {
    ++no_room_;
    return;
  }
  std::vector<Start>& starts = captures_[std::pair(uint32_t{record.device}, uint32_t{record.stream})];
  const Start start{record.head.stamp, record.model};
  // The runtime tells of some of them twice.
  if (!starts.empty() && starts.back().stamp == start.stamp && starts.back().model == start.model) return;
  starts.push_back(start);
  ++starts_;
}

const LaunchedOp* Captures::OpOf(uint32_t device, uint32_t stream, uint32_t task) const {
  const auto found = ops_.find(std::tuple(device, stream, task));
  return found == ops_.end() ? nullptr : &found->second;
}

uint32_t Captures::Find(uint32_t device, uint32_t stream, uint32_t batch, uint64_t stamp) const {
  const auto found = captures_.find(std::pair(device, stream));
  if (found == captures_.end() || batch >= found->second.size()) return kNoId;
  const Start& start = found->second[batch];
  return stamp >= start.stamp ? start.model : kNoId;
}

}  // namespace profd::format
