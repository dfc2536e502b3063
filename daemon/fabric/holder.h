// Who has the fabric's name, for people.
#pragma once

#include <string>

namespace profd::fabric {

// "pid 4711 (dynolog)"; "" = not to be found. Looks through all of /proc: not on ctl.
std::string HolderOfAbstract();

}  // namespace profd::fabric
