// Ranges of a framework's operators ("aten::mm", as its own annotations name them) and the calls that were
// made inside: what analysers know as the framework's calls.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace profd::client {

// Type of an operator's call, in the framework profiler's tables.
inline constexpr int kFrameworkCall = 50001;

// **Thread:** one. Calls and ranges come in any order; of too many the later ones are left out and counted.
class FrameworkCalls {
 public:
  static constexpr size_t kMost = size_t{1} << 21;  // of each

  struct Range {
    uint64_t begin_ns = 0, end_ns = 0;
    int64_t thread = 0;  // as the database numbers them
    int64_t name = 0;
  };

  // Whether a range's name is one that a framework gives to an operator: "library::operator".
  static bool IsOperator(std::string_view name);

  void AddRange(const Range& range) { Add(ranges_, range); }
  // A call that starts something on a device.
  void AddCall(int64_t thread, uint64_t begin_ns, uint64_t connection) {
    Add(calls_, {begin_ns, thread, connection});
  }
  uint64_t left_out() const { return left_out_; }

  // Each range, by thread and begin, with the connections of the calls of which it is the innermost one
  // around.
  void ForEach(const std::function<void(const Range&, const std::vector<uint64_t>&)>& give);

 private:
  struct Call {
    uint64_t begin_ns = 0;
    int64_t thread = 0;
    uint64_t connection = 0;
  };
  template <typename One>
  void Add(std::vector<One>& list, const One& one) {
    list.size() < kMost ? list.push_back(one) : void(++left_out_);
  }

  std::vector<Range> ranges_;
  std::vector<Call> calls_;
  uint64_t left_out_ = 0;
};

}  // namespace profd::client
