// Which registered processes a request means, and what the plan may know of them.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "daemon/agent/registry.h"
#include "daemon/auth/policy.h"
#include "daemon/fabric/clients.h"
#include "daemon/session/plan/plan.h"
#include "daemon/session/plan/types.h"

namespace profd::session {

AgentFacts AgentFactsOf(const agent::Peer& peer);

// `wanted` is a list of texts and ranges of whole numbers: "0-3,6,last".
bool LabelMatches(std::string_view wanted, std::string_view value);

// What a process that polls the fabric says of itself: job_id, rank.
std::map<std::string, std::string> LabelsOf(const fabric::Client& client);

// The processes that spec.all_agents and spec.agent_labels mean, as far as the caller may record them; empty
// when the spec asks for none. kNotFound when it does and there are none. **Thread:** ctl.
base::Result<std::vector<pid_t>> SelectAgents(const agent::Registry& registry, const auth::Caller& caller,
                                              const SessionSpec& spec);
// Those that spec.agent_labels mean of the ones that poll the fabric; without labels none.
std::vector<pid_t> SelectPolling(const std::vector<fabric::Client>& clients, const auth::Caller& caller,
                                 const SessionSpec& spec);

}  // namespace profd::session
