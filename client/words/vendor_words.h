// What a command line asks for in the vendor's words → what profd is asked for.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/options/check.h"
#include "profd/v1/control.pb.h"
#include "profd/v1/session.pb.h"

namespace profd::client {

// Chips of the node, or of the devices that are named; empty: none that the table knows.
options::Chips ChipsOf(const v1::DevicesReply& node, const v1::SessionSpec& spec);

struct Granted {
  std::vector<std::string> remarks;  // for a person, a line each
  bool unmet = false;                // something that was asked for is not collected
};

// Adds to `spec` the kinds that `given` asks for, those that a device has. Fails where a chip does not have
// an option, and where nothing would be collected. A kind that `spec` has already stays as it is. Nobody
// misses the kinds of options in `defaults`.
base::Result<Granted> AddWishes(const options::Given& given, const std::set<std::string>& defaults,
                                const v1::DevicesReply& node, v1::SessionSpec* spec);

}  // namespace profd::client
