// A command line in the vendor's words: is it a right one, and what does it ask for? Pure.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "client/options/table.h"

namespace profd::options {

// Values by the names of the table, and kProcess where a process is named otherwise.
using Given = std::map<std::string, std::string, std::less<>>;

// Values, prerequisites and conflicts. `chips`: of the devices it is about; empty: not known, then what any
// chip takes is right.
base::Status Check(const Given& given, Chips chips);

struct Wish {
  std::string_view kind;
  std::string mode;
  double hz = 0;  // 0 = it has no rate
  const Option* option = nullptr;
};
struct Remark {
  const Option* option = nullptr;
  std::string text;    // one line for a person
  bool unmet = false;  // what was asked for is not collected
};
struct Wishes {
  std::vector<Wish> kinds;  // a kind once, at the highest rate asked for
  std::vector<Remark> remarks;
};
// Whether kernels and collectives are recorded as CANN's modules report them, in MSPTI's place: of a program
// of msprof's always, as its own collector does.
bool TakesReports(const Given& given, Chips chips);
// Of options that Check() found right.
Wishes WishesOf(const Given& asked, Chips chips);

}  // namespace profd::options
