// What disturbs the figures of a session: looked for when it begins, with every pair of clocks and at its
// end.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/auth/policy.h"
#include "daemon/base/aside.h"
#include "daemon/base/timers.h"
#include "daemon/driver/driver.h"
#include "daemon/host/files/cgroups.h"
#include "daemon/host/files/sys_tree.h"
#include "daemon/session/node/node.h"
#include "daemon/session/node/perturbation_log.h"

namespace profd::session {

// What the host is asked, and what earlier answers found.
struct HostQuestion {
  auth::Caller owner;
  std::vector<pid_t> pids;  // targets
  // Of a session in which agents record kernels: the processes that have one.
  std::optional<std::vector<pid_t>> agents;
  host::SysTree tree{};
  // Those of the targets, at most kMostCgroups: they count on after their processes have gone.
  static constexpr size_t kMostCgroups = 64;
  std::vector<host::Cgroup> cpu, memory;
  bool environment_read = false;
  std::vector<Sight::Condition> environment;  // as the targets were when first looked at
};
// Blocks: reads a file or two of every process, and more of every CPU. **Thread:** aside.
void LookAtHost(HostQuestion& question, Sight& sight);
// What only grows with the targets: a few files.
void LookAtTargets(HostQuestion& question, Sight& sight);

// Their children that use a device and have no agent, such as those that a process with CANN has forked.
void LookAtChildren(const HostQuestion& question, Sight& sight);

// Why a variable that a process was started with disturbs it; "" it does not.
std::string_view WhyDisturbing(std::string_view variable, std::string_view value);

void LookAtDevice(const driver::DeviceFacts& facts, const driver::DeviceReading& reading, Sight& sight);

// **Thread:** ctl only; callbacks run on ctl.
class Perturbations : public std::enable_shared_from_this<Perturbations> {
 public:
  // `aside` answers nobody any more once this may go with whatever ctl has left to do.
  Perturbations(base::Timers& timers, base::Aside& aside, Node& node, auth::Caller owner,
                std::vector<pid_t> pids, std::vector<uint32_t> devices);

  // Children of the targets are to have an agent if they use a device; `agents`: who has.
  void ExpectAgents(std::function<std::vector<pid_t>()> agents) { agents_ = std::move(agents); }
  // `done` when what is there now is noted, or has not been found out within a second.
  void Look(std::function<void()> done);
  // Of the end: what is quickly found, since everybody waits for it.
  void LookLast(std::function<void()> done);
  std::vector<format::ManifestPerturbation> Since(uint64_t raw_ns) const { return log_.Since(raw_ns); }

 private:
  // `done` once, when the answer is called or a second is over.
  std::function<void()> WithPatience(std::function<void()> done);
  Sight Now() const;
  void Begin();
  void TakeDevice(uint32_t device, const driver::DeviceReading& reading, bool in_time);
  void OnAnswered();

  base::Timers& timers_;
  base::Aside& aside_;
  Node& node_;
  const std::vector<uint32_t> devices_;
  std::function<std::vector<pid_t>()> agents_;
  HostQuestion question_;
  PerturbationLog log_;
  std::shared_ptr<Sight> sight_;               // that is being made
  std::vector<std::function<void()>> asking_;  // wait for it …
  std::vector<std::function<void()>> next_;    // … and for the one after
};

}  // namespace profd::session
