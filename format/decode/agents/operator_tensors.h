// Which tensors a kernel works on. The module that launches an operator says so in the thread that launches
// it; the call that launches it has its thread and name, too, and shares its correlation id with the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <utility>

#include "base/flat_map.h"
#include "format/decode/agents/clock_distance.h"
#include "format/decode/cann/tensor_texts.h"

namespace profd::format {

// Of one process. **Thread:** one.
class OperatorTensors {
 public:
  using Operator = std::pair<uint32_t, uint64_t>;  // thread, CannHash of its name

  explicit OperatorTensors(Texts& texts) : texts_(texts) {}

  struct Said {
    uint64_t ns = 0;     // wall: when the call began that it is of
    uint64_t stamp = 0;  // the same in all records of one operator
    uint32_t count = 0;  // tensors
  };
  void Add(const Operator& of, const Said& said, std::span<const std::byte> tensors);
  // A call that launches it.
  void Call(uint64_t correlation, const Operator& of, uint64_t begin_ns);
  // Of the kernel of that correlation; all 0: nobody has said any, or it is not sure which. Each is asked for
  // once.
  TensorTexts Of(uint64_t correlation);

 private:
  static constexpr size_t kMostTexts = 1 << 20;
  static constexpr size_t kMostOperators = 1 << 14, kMostOfOne = 1 << 12;
  static constexpr uint64_t kMostApartNs = 1'000'000;  // by the two clocks
  static constexpr uint64_t kNearNs = 10'000;          // once it is known how far these are apart
  static constexpr int kFewestNear = 12;               // of the last 16 calls
  static constexpr size_t kMostCalls = 1 << 18;        // whose kernels may still come

  struct Launching {
    uint32_t thread = 0;
    uint64_t name = 0, begin_ns = 0;
  };
  struct Entry {
    uint64_t ns = 0;
    TensorTexts texts{};
  };
  struct Entries {
    std::deque<Entry> by_time;
    TensorList latest;
    uint64_t latest_stamp = 0;
  };

  Texts& texts_;
  ClockDistance apart_;  // what is said comes so much later than its call
  uint16_t near_ = 0;    // the last calls, a bit each: something was said of it at that distance
  std::map<Operator, Entries> operators_;
  base::FlatMap<Launching> calls_{kMostCalls};
};

}  // namespace profd::format
