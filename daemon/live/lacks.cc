#include "daemon/live/lacks.h"

#include <algorithm>

#include "daemon/driver/offers.h"
#include "format/kind.h"

namespace profd::live {

namespace {

using Why = Lack::Why;

// Of a kind that is read by the driver.
Lack OfDevices(std::string_view kind, const Circumstances& node) {
  const auto known = format::FindKind(kind);
  const bool has = std::ranges::any_of(*node.devices, [&](const driver::DeviceFacts& device) {
    return driver::LookUp(*known, device, node.api_version).capability != nullptr;
  });
  if (!has)
    return {kind, Why::kNotSupported, "no device of this node has it; profctl devices lists what they have"};
  if (node.held)
    return {kind, Why::kNoData, "live.channels holds it, the first values come within a few seconds"};
  return {kind, Why::kNoData,
          "they come while a session samples it (profctl start --collect " + std::string(kind) +
              "), for users who may collect it"};
}

}  // namespace

Lack LackOf(std::string_view kind, const Circumstances& node) {
  if (node.off) return {kind, Why::kOff, "live.off in profd's settings leaves it out"};
  if (node.saves)
    return {kind, Why::kOff, "left out to keep profd within limits.cpu_percent and limits.rss_mb"};
  if (kind == "process") {
    return {kind, Why::kNoData, "no process with an agent that you may see; profctl targets lists them"};
  }
  if (kind == "step") {
    return {kind, Why::kNoData,
            "no program with an agent that holds a device tells of steps (profd_step_begin)"};
  }
  if (kind == "session") return {kind, Why::kNoData, "no session runs that you may see"};
  const auto known = format::FindKind(kind);
  const bool of_device =
      kind == "device" || kind == "health" || (known && driver::AnyCapability(*known) != nullptr);
  if (!of_device) return {kind, Why::kNoData, "profd reads none here"};
  if (node.driver && !node.known)
    return {kind, Why::kNoData, "profd has just started and still asks the devices what they are"};
  if (!node.driver || node.devices->empty()) {
    return {kind, Why::kNotSupported, "profd sees no device on this node; profctl doctor tells why"};
  }
  if (kind == "device") return {kind, Why::kNoData, "no device answers; profctl doctor tells why"};
  if (kind == "health") {
    const std::string& no_cards = node.devices->front().no_cards;
    if (!no_cards.empty()) return {kind, Why::kNotSupported, no_cards};
    return {kind, Why::kNoData, "the card library has not answered yet"};
  }
  return OfDevices(kind, node);
}

}  // namespace profd::live
