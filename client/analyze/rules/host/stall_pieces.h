// Parts of the time of programs that may be stalls: pauses between calls that launch, calls that take long,
// and what calls that wait take when the device is done.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "client/analyze/model/intervals.h"
#include "client/analyze/rules/host/stall_cause.h"

namespace profd::analyze {

// Pieces of one rank in the order of its calls, and how many calls each step has.
struct PiecesOfRank {
  std::vector<Piece> pieces;
  std::vector<uint32_t> calls_in_step;  // by step in Job::steps
};

// Of at least `least`. `program`: all ranks that its program drives.
PiecesOfRank PiecesOf(const Context& context, uint32_t rank, const std::vector<uint32_t>& program, Ns least);

// For how long at most devices would have worked in pieces: as long as those that stopped did nothing. A
// replay does not know of every order between the lanes of a device, and may let them work beside each other.
Ns MostOf(const Job& job, std::span<const Piece> pieces);

}  // namespace profd::analyze
