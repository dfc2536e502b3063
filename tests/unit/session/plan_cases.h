// Nodes, requests and plans, as the tests of plans need them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "daemon/session/plan/kinds.h"
#include "daemon/session/plan/plan.h"
#include "tests/unit/driver/chips.h"

namespace profd::session {

using driver::Chip;
using driver::MakeDevice;
using format::Kind;

inline NodeFacts TwoDevices(Chip chip_number = Chip::k910B) {
  NodeFacts facts;
  facts.library_loaded = true;
  facts.api_version = 0x072418;
  facts.host_counter_known = true;
  facts.devices = {MakeDevice(chip_number, 0), MakeDevice(chip_number, 1)};
  facts.processes = {{.pid = 42, .uid = 1000, .exists = true, .is_thread = false, .open_devices = {1}},
                     {.pid = 43, .uid = 1000, .exists = true, .is_thread = false, .open_devices = {}},
                     {.pid = 44, .uid = 1000, .exists = true, .is_thread = true, .open_devices = {}},
                     {.pid = 45, .uid = 0, .exists = false, .is_thread = false, .open_devices = {}}};
  return facts;
}

inline NodeFacts HostOnly() {
  NodeFacts facts = TwoDevices();
  facts.devices.clear();
  facts.library_loaded = false;
  facts.library_error = "cannot load the driver library; install the driver";
  return facts;
}

inline SessionSpec Ask(std::vector<KindRequest> kinds) {
  SessionSpec spec;
  spec.kinds = std::move(kinds);
  return spec;
}

inline SessionSpec AskPreset(std::string preset, std::vector<pid_t> pids = {}) {
  SessionSpec spec;
  spec.preset = std::move(preset);
  spec.pids = std::move(pids);
  return spec;
}

// "hbm@device:0" of every kind with this verdict.
// Agent kinds, which have tests of their own, aside.
inline std::vector<std::string> With(const Plan& plan, Verdict verdict) {
  std::vector<std::string> kinds;
  for (const KindState& state : plan.kinds) {
    if (state.verdict == verdict && !IsAgentKind(state.kind))
      kinds.push_back(std::string(NameOf(state.kind)) + "@" + state.unit);
  }
  return kinds;
}

inline const KindState& Find(const Plan& plan, const std::string& kind, const std::string& unit) {
  static const KindState kNone;
  for (const KindState& state : plan.kinds) {
    if (NameOf(state.kind) == kind && state.unit == unit) return state;
  }
  ADD_FAILURE() << "no " << kind << " on " << unit;
  return kNone;
}

inline Plan Good(const SessionSpec& spec, const NodeFacts& facts) {
  auto plan = MakePlan(spec, facts);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return plan.ok() ? std::move(plan).value() : Plan{};
}

inline base::Status Bad(const SessionSpec& spec, const NodeFacts& facts) {
  const auto plan = MakePlan(spec, facts);
  EXPECT_FALSE(plan.ok());
  EXPECT_THAT(plan.status().message(), testing::Not(testing::HasSubstr("\n")));
  return plan.status();
}

}  // namespace profd::session
