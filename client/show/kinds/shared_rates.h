// Kinds that came slower than asked for, because another session has had the channel running.
#pragma once

#include <string>
#include <vector>

#include "profd/v1/control.pb.h"

namespace profd::client {

bool HasSharedRate(const v1::SessionInfo& info);

// A line for each rate that was not to be had, with who holds it.
std::vector<std::string> SharedRates(const v1::SessionInfo& info, const v1::DevicesReply& node);

}  // namespace profd::client
