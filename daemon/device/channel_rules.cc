#include "daemon/device/channel_rules.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "daemon/device/streams/combiner.h"
#include "daemon/driver/starts.h"

namespace profd::device {

using base::Code;

bool Serves(const ChannelRequest& first, const ChannelRequest& other) {
  if (first.process.has_value() != other.process.has_value()) return false;
  return driver::SamePayload(first.channel, first.para, other.para) &&
         (!first.process || first.process->Covers(*other.process));
}

Code CodeOf(int driver_code) {
  switch (driver_code) {
    case driver::kOccupied:
      return Code::kAborted;
    case driver::kVfFull:
      return Code::kResourceExhausted;
    case driver::kNoReply:
      return Code::kUnavailable;
    case driver::kNoComputeProcess:
    case driver::kStateBusy:
      return Code::kFailedPrecondition;
    case driver::kNotSupported:
      return Code::kUnimplemented;
    default:
      return Code::kInternal;
  }
}

std::string Name(const ChannelRequest& request) {
  const std::string device = "device " + std::to_string(request.device);
  if (driver::IsPort(request.channel)) return request.kind + " (port of " + device + ")";
  return request.kind + " (channel " + std::to_string(request.channel) + " of " + device + ")";
}

uint32_t PeriodsFor(const ChannelRequest& request, uint32_t running_ms) {
  if (running_ms == 0 || request.para.period_ms <= running_ms) return 1;
  const uint32_t periods = (request.para.period_ms + running_ms / 2) / running_ms;
  return periods > 1 && MakeCombiner(*request.format, periods) != nullptr ? periods : 1;
}

std::vector<Holding> HeldOnce(std::vector<Holding> holdings) {
  const auto same = [](const Holding& a, const Holding& b) {
    return std::tie(a.device, a.kind, a.holder) == std::tie(b.device, b.kind, b.holder);
  };
  std::sort(holdings.begin(), holdings.end(), [](const Holding& a, const Holding& b) {
    return std::tie(a.device, a.kind, a.holder, a.channel) < std::tie(b.device, b.kind, b.holder, b.channel);
  });
  holdings.erase(std::unique(holdings.begin(), holdings.end(), same), holdings.end());
  return holdings;
}

}  // namespace profd::device
