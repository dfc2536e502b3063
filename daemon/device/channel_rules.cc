#include "daemon/device/channel_rules.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "daemon/device/combiner.h"
#include "daemon/driver/capabilities.h"

namespace profd::device {

using base::Code;

namespace {

// Channels whose start payload begins with a copy of the period.
constexpr uint32_t kPeriodFirst[] = {1, 7, 8, 10, 130, 131, 133, 142};

}  // namespace

bool SamePayload(uint32_t channel, const driver::StartPara& a, const driver::StartPara& b) {
  if (a.user_data_size != b.user_data_size) return false;
  const bool period_first =
      std::find(std::begin(kPeriodFirst), std::end(kPeriodFirst), channel) != std::end(kPeriodFirst);
  const size_t from = period_first ? sizeof(uint32_t) : 0;
  const size_t to = std::min<size_t>(a.user_data_size, driver::kMaxUserData);
  return from >= to ||
         std::equal(a.user_data.begin() + from, a.user_data.begin() + to, b.user_data.begin() + from);
}

bool Serves(const ChannelRequest& first, const ChannelRequest& other) {
  if (first.process.has_value() != other.process.has_value()) return false;
  return SamePayload(first.channel, first.para, other.para) &&
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
  if (request.channel == driver::channel::kPortCounters) return request.kind + " (port of " + device + ")";
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
