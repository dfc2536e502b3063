// How a plan is made: first which kinds of which units, then the channels of the devices. Inside of plan.cc
// and plan_devices.cc.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "base/join.h"
#include "daemon/driver/offers.h"
#include "daemon/driver/starts.h"
#include "daemon/session/plan/kinds.h"
#include "daemon/session/plan/plan.h"

namespace profd::session {

using base::Joined;

template <typename Container, typename Value>
bool Contains(const Container& items, const Value& value) {
  return std::find(items.begin(), items.end(), value) != items.end();
}

std::string HzText(double hz);
inline std::string Text(format::Kind kind) { return std::string(NameOf(kind)); }
std::vector<std::string> ModesOf(const driver::Capability& capability);
// `where` is " on a 910B", or nothing.
base::Status CheckRate(const KindRequest& request, const driver::RateRange& range, const std::string& where);

// **Thread:** any. Of one plan.
class Planner {
 public:
  Planner(const SessionSpec& spec, const NodeFacts& facts) : spec_(spec), facts_(facts) {}

  base::Result<Plan> Run();

 private:
  // A device kind that can be had.
  struct Chosen {
    const driver::DeviceFacts* device = nullptr;
    std::vector<driver::ChannelUse> channels;
    const driver::Capability* capability = nullptr;
    std::string mode;
    driver::Period period;
    size_t kind_index = 0;
    std::vector<pid_t> gives_way;  // as of ChannelStart
  };

  base::Status CheckTargets();
  base::Status ResolveKinds();
  base::Status ResolveDevices();
  base::Status CheckDeviceRequest(const KindRequest& request) const;
  base::Status PlanDeviceKind(const KindRequest& request);
  base::Status PlanHostKind(const KindRequest& request, const format::KindTraits& kind);
  base::Status PlanAgentKind(const KindRequest& request);
  // `levels`: of agent::Arm::call_levels.
  void StartAgentKind(format::Kind kind, pid_t pid, Verdict verdict, std::string reason, uint32_t levels,
                      agent::Reported reports);
  agent::Reported WantedReports() const;
  agent::Reported ReportsOf(const AgentFacts& agent, std::string* instead) const;
  base::Status CheckSteps() const;
  base::Status CheckDomains() const;
  // Which data stay in a flight recorder's memory.
  base::Status CheckMemory();
  bool StaysInMemory(format::Kind kind) const;
  uint32_t BufferOf(format::Kind kind) const;
  base::Status CheckBuffers() const;
  void LeaveTasksToAgents();
  void LeaveFilesToSamples();
  void LeaveSharedSystems();
  void BuildChannels();
  void AddChannel(const Chosen& chosen, const driver::ChannelUse& use, driver::StartPara para);
  void AddToProcess(const Chosen& chosen, ChannelStart& start);
  void SettleProcess(const ChannelStart& start);
  void EstimateChannels();
  void Estimate(KindState& state, double sample_bytes, double hz);
  base::Status NothingToCollect() const;

  // Why a device kind cannot be had where no device is to be looked at.
  std::string NoDeviceReason() const {
    return facts_.library_error.empty() ? "this node has no NPU device that profd can see"
                                        : facts_.library_error;
  }
  bool DeviceAllowed(uint32_t device) const {
    return facts_.device_kinds_allowed ||
           std::find(facts_.leased_devices.begin(), facts_.leased_devices.end(), device) !=
               facts_.leased_devices.end();
  }
  void Skip(format::Kind kind, std::string unit, double requested_hz, std::string reason) {
    KindState state;
    state.kind = kind;
    state.unit = std::move(unit);
    state.requested_hz = requested_hz;
    state.reason = std::move(reason);
    plan_.kinds.push_back(std::move(state));
  }

  const SessionSpec& spec_;
  const NodeFacts& facts_;
  std::vector<pid_t> targets_;
  std::vector<uint32_t> open_devices_;  // of the targets
  bool only_open_devices_ = false;
  std::vector<KindRequest> wanted_;
  std::vector<const driver::DeviceFacts*> devices_;
  std::vector<Chosen> chosen_;
  bool denied_ = false;  // … because the caller may not have it
  Plan plan_;
};

}  // namespace profd::session
