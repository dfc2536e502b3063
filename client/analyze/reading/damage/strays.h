// Rows that damage has moved: their times are far from all others, or cover rows that they cannot cover.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "client/analyze/model/columns.h"

namespace profd::analyze {

// Where on the clock most rows are.
class Crowd {
 public:
  void Add(Ns at) {
    const Ns piece = at >> kPieceBits;
    if (last_ == nullptr || piece != last_piece_) last_ = &counts_[last_piece_ = piece];
    ++*last_;
  }
  // After all have been added.
  void Settle();
  bool Has(Ns at) const { return counts_.contains(at >> kPieceBits); }

 private:
  static constexpr int kPieceBits = 34;  // of some 17 s
  std::map<Ns, uint64_t> counts_;
  uint64_t* last_ = nullptr;
  Ns last_piece_ = 0;
};

// So few of `all` that they are more likely torn than meant.
inline bool AreFew(size_t some, size_t all) {
  return some > 0 && (some * 100 <= all || (some <= 2 && all >= 20));
}

// Of rows on one lane, in the order of their begins: the indexes of those that last longer than all of the
// next one, and `much` longer than others of their sort. Empty where that is more than a few: then it is how
// these are recorded.
struct LaneRow {
  uint32_t index = 0, sort = 0;
  Ns begin = 0, end = 0;
};
std::vector<uint32_t> Covering(const std::vector<LaneRow>& rows, double much);

// Of a rank whose tasks are in order: Gaps::crossed, Gaps::piled and Gaps::apart, as its own rows tell.
double CrossedOf(const Rank& rank, size_t lanes);
double PiledOf(const Rank& rank, size_t lanes);
bool AreApart(const Rank& rank);

}  // namespace profd::analyze
