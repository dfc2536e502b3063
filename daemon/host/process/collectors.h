// Other programs on this node that collect from NPUs: who may hold a channel that profd cannot have. The
// driver does not say who it is; these are the programs known to, by their names, which are the processes'
// own choice.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace profd::host {

// Of another one of us.
inline constexpr char kOwnName[] = "profd";

struct Collector {
  pid_t pid = 0;
  uid_t uid = 0;
  std::string name;
};

// Reads /proc of every process: not on ctl.
std::vector<Collector> FindCollectors();

}  // namespace profd::host
