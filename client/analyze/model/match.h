// Which collectives of different ranks are one and the same, and how far apart the clocks of ranks are.
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

// Brings the clocks of nodes together: the ends of symmetric collectives are common, and those of messages
// where nothing else connects nodes. Moves every time of the job. Bound: how far apart two nodes may still
// be.
struct Clocks {
  Ns bound = 0;
  bool from_data = false;  // false: one node, or nothing to compare
  // By rank: how far its clock was ahead. Empty: nobody's was moved.
  struct Line {
    double offset = 0, slope = 0;
    Ns pivot = 0;
    Ns Moved(Ns time) const;
  };
  std::vector<Line> lines;

  // A time of the clock of that rank's node on the clock of the job.
  Ns Moved(size_t rank, Ns time) const { return lines.empty() ? time : lines[rank].Moved(time); }
};
Clocks AlignClocks(Job& job, const Matches& matches);

// Of collectives that end on all ranks at once: an end long after that of all others is torn, and cut.
void CutEnds(Job& job, const Matches& matches);

}  // namespace profd::analyze
