#include "daemon/session/node/node.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "daemon/base/log.h"
#include "daemon/driver/starts.h"

namespace profd::session {

namespace {
constexpr uint64_t kMs = 1'000'000;
constexpr char kInstallInfo[] = "/etc/ascend_install.info";
}  // namespace

Node::Node(base::Executor& ctl, const config::Config& config, std::shared_ptr<driver::Driver> driver,
           std::string driver_error)
    : ctl_(ctl),
      driver_(std::move(driver)),
      library_error_(std::move(driver_error)),
      versions_(driver::ReadVersions(kInstallInfo, driver::Toolkits(config.driver.toolkit))),
      host_(format::ReadHostFacts()) {
  if (!driver_) {
    known_ = true;
    return;
  }
  device::HubOptions options;
  options.sweep_ns = config.driver.sweep_ms * kMs;
  options.driver_timeout_ns = config.driver.timeout_ms * kMs;
  options.pump_per_device = config.driver.pump_per_device;
  options.keep_tails = config.live.hz > 0;
  hub_ = std::make_unique<device::ChannelHub>(
      driver_, options, ctl_, [this](std::function<void()> work) { ctl_.Post(std::move(work)); });
}

Node::~Node() = default;

format::HostFacts Node::HostNow() const {
  format::HostFacts facts = host_;
  facts.up_time = format::ReadUpTime();
  return facts;
}

const driver::DeviceFacts* Node::Find(uint32_t device) const {
  const auto it =
      std::find_if(devices_.begin(), devices_.end(), [&](const auto& facts) { return facts.id == device; });
  return it == devices_.end() ? nullptr : &*it;
}

void Node::WhenKnown(std::function<void()> done) {
  if (known_) {
    done();
    return;
  }
  Refresh(std::move(done));
}

void Node::Refresh(std::function<void()> done) {
  if (!driver_) {
    done();
    return;
  }
  waiting_.push_back(std::move(done));
  if (std::exchange(refreshing_, true)) return;
  const auto finish = [this] {
    known_ = true;
    refreshing_ = false;
    for (auto& waiter : std::exchange(waiting_, {})) waiter();
  };
  struct Ids {
    base::Result<std::vector<uint32_t>> ids{std::vector<uint32_t>{}};
    std::optional<double> host_counter_mhz;
  };
  auto ids = std::make_shared<Ids>();
  hub_->Call(
      0,
      [driver = driver_, ids] {
        ids->ids = driver->DeviceIds();
        // Any can say; there may be no device 0.
        if (ids->ids.ok() && !ids->ids->empty())
          ids->host_counter_mhz = driver->HostCounterMhz(ids->ids->front());
      },
      [this, ids, finish](bool in_time) {
        if (!in_time || !ids->ids.ok()) {
          library_error_ =
              in_time ? ids->ids.status().message() : "the driver did not list its devices in time";
          base::LogWarn("devices unknown: " + library_error_);
          finish();
          return;
        }
        library_error_.clear();
        // Without it the vendor's reader takes host stamps for nanoseconds, which they then are.
        host_.cpu_mhz.clear();
        if (const auto mhz = ids->host_counter_mhz) {
          char text[32];
          std::snprintf(text, sizeof text, "%.6f", *mhz);
          host_.cpu_mhz = text;
        }
        ReadDevices(*ids->ids, finish);
      });
}

void Node::ReadDevices(const std::vector<uint32_t>& ids, std::function<void()> done) {
  std::erase_if(devices_,
                [&](const auto& facts) { return std::find(ids.begin(), ids.end(), facts.id) == ids.end(); });
  auto left = std::make_shared<size_t>(ids.size());
  if (ids.empty()) {
    done();
    return;
  }
  for (const uint32_t id : ids) {
    auto facts = std::make_shared<driver::DeviceFacts>();
    hub_->Call(
        id, [driver = driver_, id, facts] { *facts = driver->ReadFacts(id); },
        [this, id, facts, left, done](bool in_time) {
          auto known =
              std::find_if(devices_.begin(), devices_.end(), [&](const auto& f) { return f.id == id; });
          if (in_time) {
            if (known == devices_.end()) {
              devices_.push_back(*facts);
            } else {
              *known = *facts;
            }
          } else if (known != devices_.end()) {
            known->error = "the driver did not answer in time; what is shown is older";
          } else {
            driver::DeviceFacts unknown;
            unknown.id = id;
            unknown.error = "the driver did not answer in time";
            devices_.push_back(unknown);
          }
          std::sort(devices_.begin(), devices_.end(),
                    [](const auto& a, const auto& b) { return a.id < b.id; });
          if (--*left == 0) done();
        });
  }
}

NodeFacts Node::Facts() const {
  NodeFacts facts;
  facts.library_loaded = driver_ != nullptr;
  facts.library_error = library_error_;
  facts.api_version = driver_ ? driver_->api_version() : 0;
  facts.host_counter_known = !host_.cpu_mhz.empty();
  const auto cann = versions_.of.find("cann");
  facts.main_memory_anew = cann != versions_.of.end() && driver::CountsMainMemoryAnew(cann->second);
  facts.devices = devices_;
  return facts;
}

}  // namespace profd::session
