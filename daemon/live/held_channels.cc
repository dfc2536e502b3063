#include "daemon/live/held_channels.h"

#include <algorithm>
#include <limits>

#include "base/clock.h"
#include "daemon/base/after.h"
#include "daemon/base/log.h"
#include "daemon/session/node/node.h"
#include "daemon/session/plan/plan.h"

namespace profd::live {

namespace {

constexpr uint64_t kAgainNs = 10'000'000'000;
constexpr char kHolder[] = "live.channels";

}  // namespace

// No trace of a session has this number.
format::StreamKey HeldChannels::KeyOf(Id id) {
  return {std::numeric_limits<uint32_t>::max(), id.first * driver::kMaxChannels + id.second};
}

void HeldChannels::Hold() {
  if (kinds_.empty() || manager_.node().hub() == nullptr) return;
  for (const driver::DeviceFacts& facts : manager_.node().devices()) HoldOf(facts);
}

void HeldChannels::HoldOf(const driver::DeviceFacts& facts) {
  session::SessionSpec spec;
  spec.devices = {facts.id};
  for (const session::KindOffer& offer :
       session::DeviceKinds(facts, manager_.node().driver()->api_version())) {
    const bool wanted = std::ranges::find(kinds_, NameOf(offer.kind)) != kinds_.end();
    if (wanted && offer.available) spec.kinds.push_back({offer.kind, "", offer.min_hz});
  }
  if (spec.kinds.empty()) return;
  const auto plan = session::MakePlan(spec, manager_.node().Facts());
  if (!plan.ok()) return;
  for (const session::ChannelStart& start : plan->channels) {
    if (!start.late && start.format != nullptr) Start(facts, *plan, start);
  }
}

void HeldChannels::Start(const driver::DeviceFacts& facts, const session::Plan& plan,
                         const session::ChannelStart& start) {
  const Id id = {start.device, start.channel};
  Channel& channel = channels_[id];
  if (channel.state != State::kAway || base::MonotonicNs() < channel.again_ns) return;
  channel.state = State::kStarting;
  device::ChannelRequest request;
  request.device = start.device;
  request.channel = start.channel;
  request.para = start.para;
  request.format = start.format;
  request.kind = NameOf(plan.kinds[start.kind_index].kind);
  request.holder = kHolder;
  request.counter_mhz = facts.counter_mhz;
  request.key = KeyOf(id);
  request.yields = true;
  request.on_event = [this, alive = std::weak_ptr(alive_), id](const device::ChannelEvent& event) {
    if (!alive.expired() && event.what == device::ChannelEvent::What::kYielded) OnAway(id, "");
  };
  manager_.node().hub()->Start(std::move(request), [this, alive = std::weak_ptr(alive_),
                                                    id](const base::Result<device::Started>& started) {
    if (alive.expired()) return;
    Channel& channel = channels_[id];
    if (!started.ok()) return OnAway(id, started.status().message());
    if (channel.state == State::kStarting) channel.state = State::kHeld;
  });
}

void HeldChannels::OnAway(Id id, const std::string& why) {
  Channel& channel = channels_[id];
  channel.state = State::kAway;
  channel.again_ns = base::MonotonicNs() + kAgainNs;
  // That a session has it is no trouble.
  if (!why.empty() && !std::exchange(channel.told, true)) {
    base::LogInfo("live.channels: " + why + "; tried again every 10 s");
  }
}

void HeldChannels::Release(std::function<void()> done) {
  std::vector<Id> held;
  for (const auto& [id, channel] : channels_) {
    if (channel.state != State::kAway) held.push_back(id);
  }
  channels_.clear();
  const auto one_done = base::After(held.size(), std::move(done));
  for (const Id& id : held) {
    manager_.node().hub()->Stop(KeyOf(id), [one_done](const base::Status&) { one_done(); });
  }
}

}  // namespace profd::live
