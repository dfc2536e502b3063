// What the framework itself has recorded of a program: FRAMEWORK/ in memory, on the wall clock.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/export/framework/input/folder.h"
#include "client/export/read/report.h"
#include "client/export/read/slices.h"
#include "format/framework/records.h"
#include "format/texts.h"

namespace profd::client::framework {

using Ref = uint32_t;  // a row's number
inline constexpr Ref kNoRef = UINT32_MAX;

struct Place {
  uint64_t pid = 0, tid = 0;
  auto operator<=>(const Place&) const = default;
};

// A call of an operator, 32 bytes each: there may be tens of millions.
struct Op {
  int64_t begin = 0, end = 0;
  uint32_t low_sequence = 0;
  Ref thread = 0;
  format::TextId name = 0;
  Ref rest = 0;

  int64_t ns() const { return end - begin; }
};
// What many calls have in common.
struct Rest {
  enum Has : uint8_t { kTypes = 1, kDims = 2, kStack = 4, kModules = 8, kFlops = 16, kPython = 32 };
  uint64_t forward_tid = 0;
  int32_t high_sequence = 0;
  format::TextId types = 0, dims = 0, stack = 0, modules = 0, flops = 0;
  uint8_t has = 0;  // kPython: a function of it, no operator (MindSpore has both in one file)
  bool operator==(const Rest&) const = default;
};
// From a moment on a thread to the operator that goes on with it (MindSpore).
struct Jump {
  int64_t ns = 0;
  Ref thread = 0, op = 0;
};
// What an operator got (MindSpore).
struct Shapes {
  format::TextId name = 0, shapes = 0;
};
// One thing that went into the queue to the device, or came out of it.
struct Queued {
  int64_t begin = 0, end = 0;
  uint64_t correlation = 0;
  Ref thread = 0;
  format::TextId name = 0;
};
struct MemoryChange {
  int64_t ns = 0;
  format::framework::MemoryUse use;  // its time is a stamp
  Ref thread = 0;
};
struct GcSpan {
  int64_t begin = 0, end = 0;
  uint64_t pid = 0;
};
struct PythonStep {
  int64_t ns = 0;
  uint64_t key = 0;
  Ref thread = 0;
  format::framework::PythonCall::Kind kind{};
};

// **Thread:** one.
struct Calls {
  static constexpr size_t kMostTextBytes = 256u << 20;

  format::Texts texts{kMostTextBytes};
  std::vector<Place> threads;
  std::deque<Op> ops;  // as in the file
  std::vector<Rest> rests;
  std::vector<Jump> jumps;
  std::vector<Shapes> shapes;
  bool has_queue = false;
  std::vector<Queued> enqueues, dequeues;  // by their ends
  std::vector<MemoryChange> memory;        // of NPUs, by time
  std::vector<GcSpan> gc;
  std::vector<PythonStep> python;
  std::unordered_map<uint64_t, format::TextId> python_names;

  const Place& PlaceOf(Ref thread) const { return threads[thread]; }
  std::string_view NameOf(const Op& op) const { return texts.Get(op.name); }
  const Rest& RestOf(const Op& op) const { return rests[op.rest]; }
  int64_t SequenceOf(const Op& op) const {  // -1: none
    return static_cast<int64_t>(static_cast<uint64_t>(RestOf(op).high_sequence) << 32 | op.low_sequence);
  }
};

// Lists in texts as results have them: a line each.
std::string InLines(std::string_view text);
// Of texts that come again and again. **Thread:** one. **Owns:** what it has made of some.
class Lines {
 public:
  explicit Lines(const format::Texts& texts) : texts_(texts) {}
  // Good until the next call.
  const std::string& Get(format::TextId id);

 private:
  static constexpr size_t kMost = 4096;
  const format::Texts& texts_;
  std::unordered_map<format::TextId, std::string> known_;
};

// What is damaged is left out, counted and said in `report`. `as_vendor`: texts that are no UTF-8 are "N/A".
Calls ReadCalls(const Folder& folder, bool as_vendor, Report& report, Progress& progress);

}  // namespace profd::client::framework
