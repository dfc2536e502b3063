// What a row of the table steps says, beyond where its time went.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "client/analyze/analysis.h"

namespace profd::lake {

// Of a collective: how long it waited for other ranks. None: no partner of it is recorded.
std::optional<analyze::Ns> WaitOf(const analyze::Analysis& analysis, const analyze::Collective& collective);

inline constexpr std::array<std::string_view, 4> kRoles = {"dp", "tp", "pp", "ep"};

struct StepRow {
  analyze::StepShares shares;
  std::optional<analyze::Ns> wait;  // sum over its collectives; 0 if it has none
  std::array<std::optional<analyze::Ns>, kRoles.size()> wait_of = {};
  std::optional<int64_t> bytes;  // of its collectives; none: the size of one is not known
  std::optional<double> mhz;
  std::array<std::pair<analyze::TextId, analyze::Ns>, 3> top = {};  // kernels by name, and their time
  int64_t lost = 0;                                                 // records of times that touch it
};

// Of all steps of a rank.
class StepRows {
 public:
  StepRows(const analyze::Analysis& analysis, size_t rank);
  const StepRow& At(size_t step) const { return rows_[step]; }

 private:
  std::vector<StepRow> rows_;
};

}  // namespace profd::lake
