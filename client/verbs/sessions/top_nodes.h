// `profctl top --hosts`: one screen of many nodes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "client/node/context.h"
#include "client/show/screen/table.h"

namespace profd::client {

struct TopOfNodes {
  bool once = false;
  std::string sort;       // "" = as the hosts were given
  size_t parallel = 128;  // with `once`: asked at one time
  Look look;
};

// A thread and a stream for each host, until the user ends it; with `once` until each has answered twice, or
// `context.deadline_ns`.
ExitCode RunTopOfNodes(const Context& context, const std::vector<std::string>& hosts,
                       const TopOfNodes& options);

}  // namespace profd::client
