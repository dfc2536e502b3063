#include "format/decode/cann/collectives.h"

#include <algorithm>

#include "format/comm_words.h"

namespace profd::format {

const CommPart* CommLaunch::Find(uint32_t context) const {
  const auto found = std::ranges::find(parts, context, &CommPart::context);
  return found == parts.end() ? nullptr : &*found;
}

template <typename Record>
CommPart CommReader::KnownOf(const Record& record) {
  CommPart part;
  part.name = names_.Hash(record.name);
  part.group = names_.Hash(record.group);
  part.data_type = Word(CommWordOf(kCommDataTypes, record.data_type));
  part.link = Word(CommWordOf(kCommLinks, record.link));
  part.transport = Word(CommWordOf(kCommTransports, record.transport));
  part.rdma = Word(CommWordOf(kCommRdma, record.rdma));
  part.plane = record.plane;
  part.local_rank = record.local_rank;
  part.remote_rank = record.remote_rank;
  part.notify = record.notify;
  part.bytes = record.bytes;
  part.estimated_us = record.estimated_us;
  return part;
}

CommPart CommReader::PartOf(const CannCommPart& record) {
  CommPart part = KnownOf(record);
  part.context = record.context;
  return part;
}

CommPart CommReader::PartOf(const AiCpuCommPart& record) { return KnownOf(record); }

template <typename Record>
void CommReader::DescribeBy(const Record& record, Collective& collective) {
  SetGroup(record.group, collective);
  collective.data_type = Word(CommWordOf(kCommDataTypes, record.data_type));
  collective.algorithm = names_.Hash(record.algorithm);
  collective.count = record.count;
  collective.relay = (record.flags & 1) != 0;
  collective.retry = (record.flags & 2) != 0;
}

void CommReader::Describe(const CannCommOp& record, Collective& collective) {
  DescribeBy(record, collective);
}

void CommReader::Describe(const AiCpuCommOp& record, Collective& collective) {
  DescribeBy(record, collective);
  collective.rank_size = record.rank_size;
}

// The analyser's names have the end of the number, in decimal (hccl_calculator.cpp,
// UpdateHcclOpNameByGroupName).
void CommReader::SetGroup(uint64_t group, Collective& collective) {
  constexpr size_t kDigits = 3;
  const std::string number = std::to_string(group);
  collective.group = names_.Hash(group);
  collective.group_digits = number.substr(number.size() - std::min(number.size(), kDigits));
}

}  // namespace profd::format
