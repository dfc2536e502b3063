#include "client/words/entities.h"

#include "client/words/args.h"

namespace profd::client {

using base::Code;
using base::Result;
using base::Status;

Result<Entities> Entities::Parse(const std::vector<std::string>& devices,
                                 const std::vector<std::string>& pids) {
  Entities entities;
  for (const std::string& text : devices) {
    PROFD_ASSIGN_OR_RETURN(const DeviceList list, ParseDevices(text));
    if (list.all) return Status(Code::kInvalidArgument, "--devices all: leave it out, or name some: 0,1");
    for (const uint32_t device : list.devices) entities.devices_.insert(std::to_string(device));
  }
  for (const std::string& text : pids) {
    PROFD_ASSIGN_OR_RETURN(const std::vector<int32_t> list, ParsePids(text));
    for (const int32_t pid : list) entities.pids_.insert(std::to_string(pid));
  }
  return entities;
}

bool Entities::IsOurs(const v1::LiveValue& value, bool others) const {
  for (const v1::LiveLabel& label : value.labels()) {
    if (label.name() == "device") return devices_.contains(label.value()) || (others && devices_.empty());
    if (label.name() == "pid") return pids_.contains(label.value()) || (others && pids_.empty());
  }
  return others;
}

v1::LiveValues Entities::Filtered(const v1::LiveValues& values, bool others) const {
  if (devices_.empty() && pids_.empty()) return values;
  v1::LiveValues kept;
  kept.set_number(values.number());
  kept.set_wall_ns(values.wall_ns());
  kept.set_period_ns(values.period_ns());
  *kept.mutable_lacks() = values.lacks();
  for (const v1::LiveMetric& metric : values.metrics()) {
    v1::LiveMetric ours = metric;
    ours.clear_values();
    for (const v1::LiveValue& value : metric.values()) {
      if (IsOurs(value, others)) *ours.add_values() = value;
    }
    if (ours.values_size() > 0) *kept.add_metrics() = std::move(ours);
  }
  return kept;
}

v1::LiveValues Entities::Only(const v1::LiveValues& values) const { return Filtered(values, false); }
v1::LiveValues Entities::AndOthers(const v1::LiveValues& values) const { return Filtered(values, true); }

}  // namespace profd::client
