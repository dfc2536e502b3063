#include "daemon/session/node/node_report.h"

#include "base/version.h"
#include "daemon/host/sampler.h"

namespace profd::session {

NodeReport ReportOf(const Node& node) {
  NodeReport report;
  report.profd_version = base::kVersion;
  report.driver_error = node.library_error();
  report.host_kinds = HostKinds();
  if (node.driver() == nullptr) return report;
  report.driver_path = node.driver()->path();
  report.driver_api_version = node.driver()->api_version();
  report.versions = node.versions();
  report.missing_symbols = node.driver()->missing_symbols();
  const std::vector<device::Holding> holdings = node.hub()->Holdings();
  for (const driver::DeviceFacts& facts : node.devices()) {
    DeviceReport device;
    device.facts = facts;
    device.kinds = DeviceKinds(facts, report.driver_api_version);
    for (const device::Holding& holding : holdings) {
      if (holding.device == facts.id) device.holders.push_back({holding.kind, holding.holder});
    }
    report.devices.push_back(std::move(device));
  }
  return report;
}

void CheckOffers(std::vector<KindOffer>& host_kinds) {
  for (KindOffer& offer : host_kinds) {
    const base::Status status = host::CheckKind(std::string(NameOf(offer.kind)));
    offer.available = status.ok();
    offer.reason = status.message();
  }
}

}  // namespace profd::session
