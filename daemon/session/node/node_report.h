// What `profctl devices` shows of this node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/driver/driver.h"
#include "daemon/driver/versions.h"
#include "daemon/session/node/node.h"
#include "daemon/session/plan/plan.h"

namespace profd::session {

// One device for `profctl devices`.
struct DeviceReport {
  driver::DeviceFacts facts;
  std::vector<KindOffer> kinds;
  struct Holder {
    std::string kind;
    std::string holder;
  };
  std::vector<Holder> holders;
};
struct NodeReport {
  std::string profd_version;
  std::string driver_path;   // "" = no library
  std::string driver_error;  // why not
  uint32_t driver_api_version = 0;
  std::vector<std::string> missing_symbols;
  driver::Versions versions;
  std::vector<DeviceReport> devices;
  std::vector<KindOffer> host_kinds;
};

// **Thread:** ctl.
NodeReport ReportOf(const Node& node);
// Which of the host's kinds cannot be had here, and why. Asks the kernel: not on ctl.
void CheckOffers(std::vector<KindOffer>& host_kinds);

}  // namespace profd::session
