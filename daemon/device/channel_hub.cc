#include "daemon/device/channel_hub.h"

#include <algorithm>
#include <utility>

#include "daemon/device/channel_hub_impl.h"
#include "daemon/device/streams/subscriber.h"

namespace profd::device {

using base::Code;
using base::Result;
using base::Status;
using What = ChannelEvent::What;

ChannelHub::Impl::Impl(std::shared_ptr<driver::Driver> driver, HubOptions options, base::Timers& timers,
                       Post post)
    : driver_(std::move(driver)),
      options_(options),
      post_(std::move(post)),
      self_(std::make_shared<Impl*>(this)),
      timer_(timers),
      calls_(options, timer_, post_),
      watch_(driver_, calls_, timer_,
             {.in_use = [this] { return DevicesWith(State::kRunning); },
              .on_health = [this](uint32_t device, const std::string& trouble) { OnHealth(device, trouble); },
              .expecting = [this] { return DevicesWith(State::kPending); },
              .on_channels = [this](uint32_t device,
                                    const std::vector<uint32_t>& listed) { OnListed(device, listed); }}),
      reads_(pumps_, {.read_ns = options.read_timeout_ns, .stopping_ns = options.stop_read_timeout_ns},
             timer_, post_,
             {.in_use = [this] { return !channels_.empty(); },
              .stopping =
                  [this] {
                    return std::ranges::any_of(stopping_, [](const auto& of) { return of.second != 0; });
                  },
              .kind =
                  [this](ChannelId id) {
                    const auto found = channels_.find(id);
                    return found == channels_.end() ? "a channel" : found->second->first.kind;
                  },
              .on_hung = [this](uint32_t device,
                                const std::string& why) { TellDevice(device, What::kFailed, why); },
              .on_returned =
                  [this](uint32_t device) {
                    TellDevice(device, What::kRecovered,
                               "device " + std::to_string(device) + " answers again");
                  }}) {
  const ChannelPump::Options pump{.sweep_ns = options.sweep_ns, .stop_sweep_ns = options.stop_sweep_ns};
  const uint32_t count = options.pump_per_device ? driver::kMaxDevices : 1;
  for (uint32_t i = 0; i < count; ++i) {
    const std::string name = options.pump_per_device ? "pump-" + std::to_string(i) : "pump";
    pumps_.push_back(std::make_unique<ChannelPump>(driver_, pump, name, post_));
  }
}

std::function<void()> ChannelHub::Impl::Guard(std::function<void()> work) const {
  return [weak = std::weak_ptr(self_), work = std::move(work)] {
    if (weak.lock() != nullptr) work();
  };
}

// -- starting --

void ChannelHub::Impl::Start(ChannelRequest request, StartDone done) {
  const ChannelId id{request.device, request.channel};
  if (id.device >= driver::kMaxDevices || id.channel >= driver::kMaxChannels) {
    return Refuse(done, Code::kInvalidArgument, request, "there is no such channel");
  }
  if (request.format == nullptr) {
    return Refuse(done, Code::kUnimplemented, request, "this build of profd does not know its records");
  }
  PROFD_CHECK(request.yields || (request.pipe != nullptr && request.stats != nullptr));
  if (const std::string* hung = reads_.Hung(id.device)) {
    return Refuse(done, Code::kUnavailable, request, *hung);
  }
  const auto found = channels_.find(id);
  if (found == channels_.end()) {
    const auto twin = request.twin ? channels_.find({*request.twin, id.channel}) : channels_.end();
    if (twin != channels_.end()) {
      return Refuse(done, Code::kAlreadyExists, request,
                    "device " + std::to_string(*request.twin) + " is run by the same system, and there " +
                        twin->second->first.holder + " has it");
    }
    const auto channel = std::make_shared<Channel>();
    channel->id = id;
    channel->first = request;
    channel->subscriptions.push_back({std::move(request), std::move(done)});
    channels_.emplace(id, channel);
    if (channel->first.process) return OpenProcess(channel);
    if (!channel->first.late) return StartNow(channel);
    channel->state = State::kPending;
    Enter(*channel, channel->subscriptions.front());
    return watch_.LookForChannels();
  }
  Channel& channel = *found->second;
  if (channel.state == State::kStuck) {
    return Refuse(done, Code::kUnavailable, request,
                  "an earlier call for it, by " + channel.first.holder +
                      ", still hangs in the driver; try again later or reset the device");
  }
  if (request.yields) {
    return Refuse(done, Code::kAlreadyExists, request, channel.first.holder + " has it");
  }
  if (!channel.subscriptions.empty() && channel.subscriptions.front().request.yields) Yield(channel);
  if (channel.state == State::kEnding || channel.stop_done) {
    channel.waiting.push_back({std::move(request), std::move(done)});
    return;
  }
  if (!Serves(channel.first, request)) {
    return Refuse(done, Code::kAlreadyExists, request,
                  "it runs with other settings for " + channel.subscriptions.front().request.holder +
                      "; ask for the same, or stop that one first");
  }
  channel.subscriptions.push_back({std::move(request), std::move(done)});
  Enter(channel, channel.subscriptions.back());
}

// Ends the part of who holds the channel for nobody's data but the newest.
void ChannelHub::Impl::Yield(Channel& channel) {
  const ChannelRequest& holder = channel.subscriptions.front().request;
  Tell(channel, What::kYielded, "");
  Stop(holder.key, [](const Status&) {});
}

// Takes part in a channel that is there already, as far as its state allows.
void ChannelHub::Impl::Enter(Channel& channel, Subscription& subscription) {
  const ChannelRequest& request = subscription.request;
  const uint32_t running_ms = channel.first.para.period_ms;
  if (channel.state == State::kPending) {
    return Answer(subscription.done, Result<Started>(Started{.period_ms = running_ms, .pending = true}));
  }
  if (channel.state != State::kRunning) return;  // OnStarted() goes on
  const bool joins = !std::exchange(subscription.in_pump, true);
  const device::Join join{.channel_start_ns = channel.start_ns,
                          .session_start_ns = request.device_start_ns,
                          .periods = joins ? PeriodsFor(request, running_ms) : 1};
  Started started{.period_ms = running_ms * join.periods,
                  .shared = joins && request.key != channel.first.key,
                  .pending = false,
                  .shift = {}};
  if (format::CountsFromStart(request.format->stamp))
    started.shift = {.us = -join.LessUs(), .error_ns = channel.start_error_ns};
  std::function<void()> tell;
  if (subscription.done) {
    tell = [done = std::exchange(subscription.done, nullptr), started] { done(started); };
  } else {  // it was answered "pending"
    tell = [on_event = request.on_event] { on_event({What::kStarted, ""}); };
  }
  if (!joins) return post_(Guard(std::move(tell)));
  PumpFor(channel.id)
      .Join(channel.id,
            std::make_shared<Subscriber>(*request.format, request.key, request.stats, *request.pipe, &join,
                                         request.files),
            Guard(std::move(tell)));
}

// -- stopping --

void ChannelHub::Impl::Stop(format::StreamKey key, StopDone done, std::optional<format::StreamKey> heir) {
  for (const auto& [id, channel] : channels_) {
    const auto is_it = [key](const Subscription& subscription) { return subscription.request.key == key; };
    const auto waits = std::find_if(channel->waiting.begin(), channel->waiting.end(), is_it);
    if (waits != channel->waiting.end()) {
      Refuse(waits->done, Code::kCancelled, waits->request, "it was stopped before it began");
      channel->waiting.erase(waits);
      return Answer(done, Status::Ok());
    }
    const auto found = std::find_if(channel->subscriptions.begin(), channel->subscriptions.end(), is_it);
    if (found != channel->subscriptions.end()) {
      Subscription leaving = std::move(*found);
      channel->subscriptions.erase(found);
      Refuse(leaving.done, Code::kCancelled, leaving.request, "it was stopped before it began");
      return Leave(ChannelPtr(channel), leaving, heir, std::move(done));
    }
  }
  Answer(done, Status(Code::kNotFound, "cannot stop a stream that takes part in no channel"));
}

void ChannelHub::Impl::Leave(const ChannelPtr& channel, const Subscription& leaving,
                             std::optional<format::StreamKey> heir, StopDone done) {
  if (channel->state == State::kPending && !channel->subscriptions.empty()) {
    Answer(done, Status::Ok());
  } else if (channel->state == State::kPending) {
    channel->state = State::kEnding;
    CloseProcess(channel, [this, channel, done = std::move(done)]() mutable {
      Answer(done, Status::Ok());
      Forget(channel);
    });
  } else if (channel->state == State::kEnding) {
    // A start that failed: GiveUp() waits for the pump.
    channel->stop_done = std::move(done);
  } else if (channel->subscriptions.empty()) {
    channel->stop_done = std::move(done);
    if (channel->state == State::kRunning) StopNow(channel);
  } else if (leaving.in_pump) {
    PumpFor(channel->id)
        .Leave(channel->id, leaving.request.key,
               leaving.request.format->combine == format::Combine::kNone ? std::nullopt : heir,
               Guard([this, done = std::move(done)]() mutable { Answer(done, Status::Ok()); }));
  } else {
    Answer(done, Status::Ok());
  }
}

void ChannelHub::Impl::EndTrace(uint32_t trace, uint32_t device, chunk::Pipe* pipe) {
  pumps_[PumpOf(device)]->EndTrace(trace, pipe);
}

void ChannelHub::Impl::Call(uint32_t device, std::function<void()> work, std::function<void(bool)> done,
                            bool ends) {
  calls_.Call(device, std::move(work), std::move(done), ends);
}

// -- what happens to channels by themselves --

void ChannelHub::Impl::Tell(const Channel& channel, What what, const std::string& reason) {
  for (const Subscription& subscription : channel.subscriptions) {
    post_(Guard([tell = subscription.request.on_event, event = ChannelEvent{what, reason}] { tell(event); }));
  }
}

void ChannelHub::Impl::OnPumpEvent(ChannelId id, const ChannelEvent& event) {
  const auto found = channels_.find(id);
  if (found != channels_.end()) Tell(*found->second, event.what, event.reason);
}

std::set<uint32_t> ChannelHub::Impl::DevicesWith(State state) const {
  std::set<uint32_t> devices;
  for (const auto& [id, channel] : channels_) {
    if (channel->state == state) devices.insert(id.device);
  }
  return devices;
}

void ChannelHub::Impl::OnHealth(uint32_t device, const std::string& trouble) {
  const std::string name = "device " + std::to_string(device);
  if (trouble.empty()) {
    TellDevice(device, What::kRecovered, name + " works again");
  } else {
    TellDevice(device, What::kFailed, name + " is lost: " + trouble);
  }
}

void ChannelHub::Impl::TellDevice(uint32_t device, What what, const std::string& reason) {
  for (const auto& [id, channel] : channels_) {
    if (id.device == device && channel->state == State::kRunning) Tell(*channel, what, reason);
  }
}

// Devices list a late channel only once its process on the device has registered it.
void ChannelHub::Impl::OnListed(uint32_t device, const std::vector<uint32_t>& listed) {
  for (const auto& [id, channel] : channels_) {
    const bool wanted = id.device == device && channel->state == State::kPending;
    if (wanted && std::find(listed.begin(), listed.end(), id.channel) != listed.end()) StartNow(channel);
  }
}

void ChannelHub::Impl::Peek(std::function<void(std::vector<Peeked>)> done) {
  struct Gathered {
    size_t left;
    std::vector<Peeked> peeked;
  };
  const auto gathered = std::make_shared<Gathered>(Gathered{pumps_.size(), {}});
  for (const auto& pump : pumps_) {
    pump->Peek([weak = std::weak_ptr(self_), this, gathered, done](std::vector<ChannelTail> tails) {
      if (weak.lock() == nullptr) return;
      for (ChannelTail& tail : tails) {
        const auto found = channels_.find(tail.id);
        if (found == channels_.end() || found->second->state != State::kRunning || tail.bytes.empty())
          continue;
        const ChannelRequest& first = found->second->first;
        gathered->peeked.push_back({.device = tail.id.device,
                                    .channel = tail.id.channel,
                                    .kind = first.kind,
                                    .para = first.para,
                                    .format = first.format,
                                    .counter_mhz = first.counter_mhz,
                                    .records = std::move(tail.bytes),
                                    .read_ns = tail.read_ns});
      }
      if (--gathered->left == 0) done(std::move(gathered->peeked));
    });
  }
}

std::vector<Holding> ChannelHub::Impl::Holdings() const {
  std::vector<Holding> holdings;
  for (const auto& [id, channel] : channels_) {
    for (const Subscription& subscription : channel->subscriptions) {
      holdings.push_back({id.device, id.channel, subscription.request.kind, subscription.request.holder});
    }
    if (!channel->subscriptions.empty()) continue;
    const char* what = channel->state == State::kStuck ? " (stuck in the driver)" : " (stopping)";
    holdings.push_back({id.device, id.channel, channel->first.kind, channel->first.holder + what});
  }
  return HeldOnce(std::move(holdings));
}

// -- the public face --

ChannelHub::ChannelHub(std::shared_ptr<driver::Driver> driver, HubOptions options, base::Timers& timers,
                       Post post)
    : impl_(std::make_unique<Impl>(std::move(driver), options, timers, std::move(post))) {}
ChannelHub::~ChannelHub() = default;
size_t ChannelHub::pump_count() const { return impl_->pump_count(); }
size_t ChannelHub::PumpOf(uint32_t device) const { return impl_->PumpOf(device); }
void ChannelHub::Start(ChannelRequest request, std::function<void(Result<Started>)> done) {
  impl_->Start(std::move(request), std::move(done));
}
void ChannelHub::Stop(format::StreamKey key, std::function<void(Status)> done,
                      std::optional<format::StreamKey> heir) {
  impl_->Stop(key, std::move(done), heir);
}
void ChannelHub::EndTrace(uint32_t trace, uint32_t device, chunk::Pipe* pipe) {
  impl_->EndTrace(trace, device, pipe);
}
void ChannelHub::Call(uint32_t device, std::function<void()> work, std::function<void(bool)> done,
                      bool ends) {
  impl_->Call(device, std::move(work), std::move(done), ends);
}
void ChannelHub::Peek(std::function<void(std::vector<Peeked>)> done) { impl_->Peek(std::move(done)); }
std::vector<Holding> ChannelHub::Holdings() const { return impl_->Holdings(); }

}  // namespace profd::device
