// What is in a capture: per kind records, span, rate and gaps; models and iterations.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "client/export/read/capture.h"
#include "client/export/read/report.h"
#include "client/export/read/slices.h"

namespace profd::client {

// Moments as they come, one after the other. **Thread:** one.
class Moments {
 public:
  void Add(uint64_t ns);

  uint64_t first_ns() const { return first_ns_; }
  uint64_t last_ns() const { return last_ns_; }
  // Per second, of distinct moments; 0 where there are fewer than two.
  double rate_hz() const;
  // Intervals that are more than three times as long as usual.
  uint64_t gaps() const { return gaps_; }
  uint64_t longest_gap_ns() const { return longest_gap_ns_; }

 private:
  static constexpr size_t kLearnt = 64;  // intervals, of which the median is the usual one

  uint64_t first_ns_ = 0, last_ns_ = 0, moments_ = 0;
  std::vector<uint64_t> learning_;
  uint64_t usual_ns_ = 0, gaps_ = 0, longest_gap_ns_ = 0;
};

struct InventoryItem {
  std::string kind;  // as --kinds names it
  std::string what;  // a series of it, or a kind of span
  int device = -1;
  uint64_t rows = 0;
  Moments moments;
  bool sampled = false;  // else programs and devices speak when they have something to say: no usual interval
};
struct Iteration {
  uint64_t number = 0, duration_ns = 0;
  std::string edge;  // "first", "last": the recording began or ended beside it; "" = neither
};
// Of one device, or of the host's programs (-1).
struct InventorySteps {
  uint64_t count = 0;
  std::vector<Iteration> slowest;  // at most 5, slowest first
  // Of the host's programs, as client/export/read/program_steps.h has it: of so many steps how long they
  // take, and the numbers of those that do not count, with why.
  uint64_t counted = 0, p50_ns = 0, p95_ns = 0;
  std::vector<std::pair<uint64_t, std::string>> left_out;
};

struct Inventory {
  Capture capture;
  Report report;
  std::vector<InventoryItem> items;
  std::map<int, InventorySteps> steps;       // by device
  std::map<int, std::set<uint32_t>> models;  // by device, at most 1000 each
};

// Of all of it, or of one device, or of the host (-1).
base::Result<Inventory> TakeInventory(const std::string& directory, std::optional<int> side,
                                      Progress& progress);

}  // namespace profd::client
