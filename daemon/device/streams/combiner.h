// Makes the records of a slower rate out of those of a running channel: several periods become one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "daemon/device/streams/outlet.h"
#include "format/decode/framing.h"

namespace profd::device {

// **Thread:** the pump's, after construction; allocates nothing then.
class Combiner {
 public:
  virtual ~Combiner() = default;
  // One record, or one line with its '\n'; what is complete goes to `out`.
  virtual void Add(const std::byte* record, uint32_t bytes, Outlet& out, uint64_t now_ns) = 0;
  // The end of the stream: what is begun goes out as it is.
  virtual void Flush(Outlet& out, uint64_t now_ns) = 0;
};

// Of `periods` ≥ 2 periods each; nullptr for a kind whose records all pass at every rate.
std::unique_ptr<Combiner> MakeCombiner(const format::StreamFormat& format, uint32_t periods);

}  // namespace profd::device
