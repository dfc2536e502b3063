// What this node has: the driver library, the hub over it and the devices' facts, cached so that a start
// never waits for the driver.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/executor.h"
#include "daemon/config/config.h"
#include "daemon/device/channel_hub.h"
#include "daemon/driver/driver.h"
#include "daemon/driver/versions.h"
#include "daemon/session/plan/plan.h"
#include "format/directory/prof_dir.h"

namespace profd::session {

// **Thread:** ctl only. Owns the hub.
class Node {
 public:
  Node(base::Executor& ctl, const config::Config& config, std::shared_ptr<driver::Driver> driver,
       std::string driver_error);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  driver::Driver* driver() const { return driver_.get(); }  // nullptr: no library
  const std::shared_ptr<driver::Driver>& shared_driver() const { return driver_; }
  device::ChannelHub* hub() const { return hub_.get(); }
  // Of the machine, with the host counter's frequency as the driver measured it; as they are now.
  format::HostFacts HostNow() const;
  // Of driver, firmware and CANN, as they were when profd started.
  const driver::Versions& versions() const { return versions_; }
  const std::string& library_error() const { return library_error_; }
  const std::vector<driver::DeviceFacts>& devices() const { return devices_; }
  const driver::DeviceFacts* Find(uint32_t device) const;

  // Whether the facts of every device were read (or given up on) at least once. Until then there seem to be
  // none.
  bool is_known() const { return known_; }
  // Runs `done` once they are; at once when they are there.
  void WhenKnown(std::function<void()> done);
  // Reads all facts again; a device that does not answer in time keeps its old facts with `error` set.
  void Refresh(std::function<void()> done);

  // Everything a plan may look at but the processes and the caller's rights.
  NodeFacts Facts() const;

 private:
  void ReadDevices(const std::vector<uint32_t>& ids, std::function<void()> done);

  base::Executor& ctl_;
  std::shared_ptr<driver::Driver> driver_;
  std::string library_error_;
  const driver::Versions versions_;
  std::unique_ptr<device::ChannelHub> hub_;
  std::vector<driver::DeviceFacts> devices_;
  format::HostFacts host_;  // as they were at the start: to read all of them takes long on many cores
  bool known_ = false;
  bool refreshing_ = false;
  std::vector<std::function<void()>> waiting_;
};

}  // namespace profd::session
