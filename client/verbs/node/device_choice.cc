#include "client/verbs/node/device_choice.h"

#include <algorithm>

#include "base/join.h"
#include "client/hardware/evidence.h"
#include "client/words/args.h"

namespace profd::client {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr uint64_t kUsualNs = 2'000'000'000, kLeastNs = 200'000'000, kMostNs = 60'000'000'000;

Result<std::vector<uint32_t>> DevicesOf(const std::string& given, const v1::DevicesReply& node) {
  DeviceList list{.all = true, .devices = {}};
  if (!given.empty()) {
    PROFD_ASSIGN_OR_RETURN(list, ParseDevices(given));
  }
  std::vector<uint32_t> there;
  for (const v1::Device& device : node.devices()) there.push_back(device.device());
  if (there.empty()) {
    return Status(Code::kFailedPrecondition, node.driver_error().empty()
                                                 ? "the driver lists no device: profctl doctor says more"
                                                 : node.driver_error());
  }
  if (list.all) return there;
  for (const uint32_t device : list.devices) {
    if (std::ranges::count(there, device) == 0) {
      return Status(Code::kNotFound,
                    "device " + std::to_string(device) + " does not exist; profctl devices shows them");
    }
  }
  return list.devices;
}

}  // namespace

void DefineDeviceChoice(cli::Arguments arguments, DeviceChoice* choice) {
  arguments.Text("--devices", &choice->devices, "these devices: 0,1,…, or all; default all");
  arguments.Text("--for", &choice->lasts, "how long the channels of a device run, 0.2s to 60s; default 2s");
  arguments.Flag("--force", &choice->force, "even if sessions or jobs use the devices");
}

Asking<Result<ChosenDevices>> Choose(ControlClient& control, DeviceChoice choice) {
  ChosenDevices chosen{.devices = {}, .for_ns = kUsualNs};
  if (!choice.lasts.empty()) {
    const Result<uint64_t> lasts = ParseDurationNs("--for", choice.lasts);
    if (!lasts.ok()) co_return lasts.status();
    if (*lasts < kLeastNs || *lasts > kMostNs)
      co_return Status(Code::kInvalidArgument, "--for " + choice.lasts + ": 0.2s to 60s");
    chosen.for_ns = *lasts;
  }
  const Result<v1::DevicesReply> node = co_await control.Devices();
  if (!node.ok()) co_return node.status();
  Result<std::vector<uint32_t>> devices = DevicesOf(choice.devices, *node);
  if (!devices.ok()) co_return devices.status();
  chosen.devices = std::move(devices).value();
  if (!choice.force) {
    const Result<std::vector<std::string>> uses = co_await InTheWay(control, *node, chosen.devices);
    if (!uses.ok()) co_return uses.status();
    if (!uses->empty()) {
      co_return Status(Code::kAborted, base::Joined(*uses, "; ") +
                                           ": wait until it is over, name other devices with --devices, or "
                                           "say --force, which may disturb it");
    }
  }
  co_return chosen;
}

}  // namespace profd::client
