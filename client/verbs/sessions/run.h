// profctl run: a program with the agent in place.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/node/context.h"
#include "client/node/control_client.h"

namespace profd::client {

// libprofd_agent.so beside profctl: of a build (bin/, lib/) or of an installation (bin/, lib/ or
// lib/MULTIARCH/).
std::optional<std::filesystem::path> FindAgentLibrary();
// Puts the agent into the environment, for the program that this process becomes or starts: a child of
// `parent`, which is registered from its begin on.
base::Status PutAgentInPlace(const Context& context, const std::vector<std::string>& labels, pid_t parent);
// … and MSPTI of the toolkit that ASCEND_HOME_PATH names, if it is there and one of before CANN 9, which
// tells only programs that start with it. Not on a node whose chips it does not know: it would be the
// receiver of what CANN reports, in the agent's place.
void PutMsptiInPlace(ControlClient& control);
// Whether the program will start with MSPTI, which then receives what CANN reports.
bool IsMsptiInPlace();

}  // namespace profd::client
