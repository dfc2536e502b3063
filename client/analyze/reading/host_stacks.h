// What a stack of a host's thread says of why it was there.
#pragma once

#include <span>
#include <string_view>

#include "client/analyze/model/columns.h"
#include "client/export/read/profile.h"

namespace profd::analyze {

// "load (train.py:12)" of one that waits for a lock below threading.py: the innermost function of the program
// itself; of Python where there is one. Where none is known that of a library; 0: not even that.
struct ProgramPlace {
  format::TextId place = 0;
  format::TextId within = 0;  // of a package that it called, and is in; 0: of none
  bool is_own = true;         // the program's
};
ProgramPlace ProgramFunction(std::span<const client::ProfileFrame> frames, const format::Texts& texts);
// Of a thread that profd's agent started: it is not the program that waits there.
bool IsAgents(std::span<const client::ProfileFrame> frames, const format::Texts& texts);
HostPlace PlaceOf(std::span<const client::ProfileFrame> frames, const format::Texts& texts);

}  // namespace profd::analyze
