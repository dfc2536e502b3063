// Collectives as CANN's own collector records them: the call that asked for one, and what the communication
// library gave to streams for it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "format/decode/cann/cann_names.h"
#include "format/records/cann.h"
#include "format/records/device.h"

namespace profd::format {

inline bool IsDamage(const CannCommStreams& record) {
  return record.head.magic != kCannMagic || record.count > CannCommStreams::kMost;
}

// How kernels end that carry out collectives.
inline constexpr std::string_view kCommKernel = "AicpuKernel";

struct Collective {
  uint64_t connection = 0;  // of the call
  TextId name = 0;          // "hcom_allReduce_"
  TextId group = 0;
  std::string group_digits =
      "N/A";  // the last three of the group's number, as names of collectives have them
  TextId data_type = 0, algorithm = 0;
  uint64_t count = 0;
  bool relay = false, retry = false;
  bool of_ai_cpu = false;  // its names say so: these are counted on their own
  uint32_t rank_size = 0;
  uint32_t parts = 0;  // launched
};

// One thing that it does on a device.
struct CommPart {
  uint32_t context = UINT32_MAX;
  TextId name = 0, group = 0, data_type = 0, link = 0, transport = 0, rdma = 0;
  uint32_t plane = 0, local_rank = 0, remote_rank = 0;
  uint64_t notify = 0, bytes = 0;
  double estimated_us = 0;
};

// What one launch is of a collective. Without parts (level 0) only that it is of it is known.
struct CommLaunch {
  std::shared_ptr<Collective> of;
  bool is_master = false;  // the stream that the collective as a whole runs on
  std::vector<CommPart> parts;

  // nullptr: none of that sub task.
  const CommPart* Find(uint32_t context) const;
};

// **Thread:** one.
class CommReader {
 public:
  CommReader(CannNames& names, Texts& texts) : names_(names), texts_(texts) {}

  CommPart PartOf(const CannCommPart& record);
  CommPart PartOf(const AiCpuCommPart& record);
  void Describe(const CannCommOp& record, Collective& collective);
  void Describe(const AiCpuCommOp& record, Collective& collective);
  // The group of a collective whose call said nothing of it.
  void SetGroup(uint64_t group, Collective& collective);

 private:
  template <typename Record>
  CommPart KnownOf(const Record& record);
  template <typename Record>
  void DescribeBy(const Record& record, Collective& collective);
  TextId Word(std::string_view word) { return texts_.Intern(word); }

  CannNames& names_;
  Texts& texts_;
};

}  // namespace profd::format
