// Ranges and marks that a program reported to CANN's own collector (msproftx): those of its AscendCL
// functions, and those of mstx, which may be in several pieces.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "format/decode/cann/cann_names.h"
#include "format/decode/span_writer.h"
#include "format/records/cann.h"

namespace profd::format {

// What no collector writes.
inline bool IsDamage(const CannMarker& record) {
  return record.head.magic != kCannMagic || record.source > CannMarker::kMstx ||
         record.event > CannMarker::kMarkOnStream;
}

// **Thread:** one.
class Markers {
 public:
  Markers(CannNames& names, SpanWriter& spans);

  // Gives a span of kRange or kMark once its text is whole. `to_wall`: of the record's stamps.
  template <typename ToWall>
  void Take(const CannMarker& record, ToWall to_wall) {
    if (record.source == CannMarker::kMstx && Wait(record, to_wall(record.begin), to_wall(record.end)))
      return;
    Give(record, std::string(Text(record)), to_wall(record.begin), to_wall(record.end));
  }
  // Gives those whose end has not come.
  void Finish();
  // Pieces of a text whose beginning is not there.
  uint64_t alone() const { return alone_; }

 private:
  struct Open {
    CannMarker first;
    uint64_t begin_ns, end_ns;
    std::map<uint16_t, std::string> pieces;
  };

  static std::string_view Text(const CannMarker& record);
  // Whether more of the text may come, or this is such a part.
  bool Wait(const CannMarker& record, uint64_t begin_ns, uint64_t end_ns);
  void Give(const CannMarker& record, const std::string& text, uint64_t begin_ns, uint64_t end_ns);

  CannNames& names_;
  SpanWriter& spans_;
  std::map<uint64_t, Open> open_;  // by number
  uint64_t alone_ = 0;
  const TextId category_key_, payload_key_;
};

}  // namespace profd::format
