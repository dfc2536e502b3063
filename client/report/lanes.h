// What each rank did over time, for the axis: shares of time by bucket for all ranks, single events for those
// that findings are about, and of all where there is room.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "client/report/pack.h"
#include "client/report/view.h"

namespace profd::report {

// Of a rank's time: kernels, transfers, waiting in collectives, copies, calls of the host. 255 = all of it.
inline constexpr std::string_view kShares[] = {"kernels", "transfer", "waiting", "copies", "calls"};
struct Shares {
  size_t buckets = 0;
  Ns bucket = 1;
  std::vector<uint8_t> values;  // by rank, then by share, then by bucket
};
Shares SharesOf(const View& view, unsigned jobs);

// Names of events, each once. **Thread:** one.
class Names {
 public:
  static constexpr size_t kMost = 20'000;  // others are "…"
  Names() : texts_{"…"} {}
  uint32_t Of(std::string_view text);
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  std::map<std::string, uint32_t, std::less<>> numbers_;
};

// Events of one kind on one row of the axis. They do not overlap, as good as never.
struct Lane {
  enum class Kind : uint8_t { kKernels, kCollectives, kCopies, kCalls, kRanges } kind = Kind::kKernels;
  std::string title;
  size_t count = 0;
  // Four numbers an event: since the begin of the one before, length, name, and one by kind: of a kernel
  // since the begin of its launch, plus one (0 = not known); of a collective the time that it waited. All in
  // ns, as varints.
  std::vector<uint8_t> events;
};
struct RankLanes {
  size_t rank = 0;
  bool is_whole = true;                    // all of the rank's events are there
  std::vector<std::pair<Ns, Ns>> windows;  // else those of these times
  std::vector<Lane> lanes;
};
struct Detail {
  std::vector<RankLanes> ranks;  // ascending
  Names names;
  size_t events = 0, of = 0;  // how many of how many are there
};
// `most`: events.
Detail DetailOf(const View& view, size_t most);

// "tp, ranks 0–7" of a group that this rank is in.
std::string GroupName(const View& view, analyze::TextId group, const analyze::Rank& rank);

}  // namespace profd::report
