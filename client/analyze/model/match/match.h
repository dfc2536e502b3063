// Which collectives of different ranks are one and the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/analyze/model/columns.h"

namespace profd::analyze {

struct Match {
  TextId group = 0, type = 0;
  uint64_t bytes = 0;
  uint32_t step = 0;          // index in Job::steps
  uint32_t position = 0;      // among those of its group in the step
  bool is_symmetric = false;  // ends nearly at once on all ranks: nobody leaves early
  bool is_pair = false;       // a send and its receive
  struct Member {
    uint32_t rank = 0;        // index in Job::ranks
    uint32_t collective = 0;  // index in Rank::collectives
  };
  std::vector<Member> members;  // by rank
};
struct Matches {
  std::vector<Match> all;
  uint64_t unmatched = 0;  // collectives of groups of several ranks that have no partner
  // Groups of which ranks are not recorded: how many.
  std::map<TextId, size_t> absent;
};

// Types of messages between two ranks.
bool IsSend(std::string_view type);
bool IsReceive(std::string_view type);

// By group and step, and there by the numbers in their names. Where these say nothing: in their order; of
// ranks that have another count in a step what has the same type and size, as far as that leaves no choice.
// Writes Collective::match.
Matches MatchCollectives(Job& job);

// Of collectives that end on all ranks at once: an end long after that of all others is torn, and cut.
void CutEnds(Job& job, const Matches& matches);

}  // namespace profd::analyze
