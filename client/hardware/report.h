// A judged node for people, a page, and for scripts.
#pragma once

#include <string>
#include <vector>

#include "client/hardware/judge.h"
#include "client/show/screen/table.h"

namespace profd::client {

std::string RenderHardware(const v1::DevicesReply& node, const std::vector<DeviceJudgement>& devices,
                           const Look& look);
// One line, with its end.
std::string HardwareJson(const v1::DevicesReply& node, const std::vector<DeviceJudgement>& devices);

}  // namespace profd::client
