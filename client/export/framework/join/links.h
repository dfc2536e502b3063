// Operators and what they launched on the device; steps and when the device was at them.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "client/export/framework/input/calls.h"
#include "client/export/framework/input/cann.h"
#include "client/export/framework/join/tree.h"

namespace profd::client::framework {

// An operator and a kernel that it is the innermost one around.
struct Link {
  Ref op = 0, kernel = 0;
};
// Of kernels.
struct DeviceTime {
  double us = 0, core_us = 0;
  bool has_any = false, has_core = false;

  void Add(const Kernel& kernel);
  void Add(const DeviceTime& other);
};
struct Step {
  int64_t number = 0;
  int64_t begin = 0, end = 0;  // on the host
  int64_t device_begin = 0, device_end = 0;
};

struct Links {
  std::vector<Link> links;                         // by the begins of operators
  std::unordered_map<Ref, DeviceTime> own, total;  // by operator: its own kernels; and those of all in it
  std::vector<Step> steps;                         // by begin
};

// Steps as the program marked them, by their begins; when the device was at them is not known then.
// `as_vendor`: those inside of another operator are none.
std::vector<Step> HostSteps(const Calls& calls, const Tree& tree, bool as_vendor);

// From an operator to a kernel it goes by the queue (enqueue, dequeue with the same number, launch in the
// dequeue), or the launch is on the operator's own thread. `tree` comes out, too. `as_vendor`: thread-blind;
// where there is a queue, by it alone; steps without a launch are none.
Links Connect(const Calls& calls, const DeviceSide& device, bool as_vendor, Tree& tree);

}  // namespace profd::client::framework
