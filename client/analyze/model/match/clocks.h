// How far apart the clocks of ranks are.
#pragma once

#include <vector>

#include "client/analyze/model/match/match.h"

namespace profd::analyze {

// Brings the clocks of nodes together: the ends of symmetric collectives are common, and those of messages
// where nothing else connects nodes. Moves every time of the job. Bound: how far apart two nodes may still
// be. Ranks of a node whose collectives end before they have begun on others have clocks of their own; a note
// says so.
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

}  // namespace profd::analyze
