#include "daemon/device/channel_hub.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.h"
#include "daemon/device/channel_pump.h"
#include "daemon/device/channel_rules.h"
#include "daemon/device/control_queue.h"
#include "daemon/device/device_calls.h"
#include "daemon/device/device_watch.h"
#include "daemon/device/read_watch.h"
#include "daemon/device/streams/subscriber.h"
#include "daemon/device/timer.h"

namespace profd::device {

using base::Code;
using base::Result;
using base::Status;
using Outcome = ControlQueue::Outcome;
using What = ChannelEvent::What;

class ChannelHub::Impl {
 public:
  Impl(driver::Driver& driver, HubOptions options, base::Timers& timers, Post post);

  size_t pump_count() const { return pumps_.size(); }
  size_t PumpOf(uint32_t device) const { return device % pumps_.size(); }

  void Start(ChannelRequest request, std::function<void(Result<Started>)> done);
  void Stop(format::StreamKey key, std::function<void(Status)> done);
  void EndTrace(uint32_t trace, uint32_t device, chunk::Pipe* pipe);
  void Call(uint32_t device, std::function<void()> work, std::function<void(bool)> done, bool ends);
  void Peek(std::function<void(std::vector<Peeked>)> done);
  std::vector<Holding> Holdings() const;

 private:
  using StartDone = std::function<void(Result<Started>)>;
  using StopDone = std::function<void(Status)>;

  struct Subscription {
    ChannelRequest request;
    StartDone done;        // empty once answered
    bool in_pump = false;  // gets data
  };
  struct Channel {
    enum class State : uint8_t {
      kPending,   // late: the device does not list it yet, or would not start it
      kStarting,  // prof_drv_start is under way
      kRunning,
      kEnding,  // prof_stop or the drain after it is under way
      kStuck,   // a call did not answer in time; the channel is forgotten when it does
    };
    ChannelId id;
    State state = State::kStarting;
    ChannelRequest first;         // the one it is started for
    uint64_t start_ns = 0;        // device raw ns: what T1 stamps count from …
    uint64_t start_error_ns = 0;  // … and how far off that may be
    std::vector<Subscription> subscriptions;
    std::vector<Subscription> waiting;  // for the end, to start anew
    StopDone stop_done;                 // of the last one to leave
    std::optional<int> process;         // runs on the device for it
    std::shared_ptr<StopCall> stop = std::make_shared<StopCall>();
    int told_code = driver::kOk;  // why a late channel does not start, as last told
  };
  using ChannelPtr = std::shared_ptr<Channel>;
  // The driver's call that starts a channel; host raw.
  struct StartCall {
    int code = driver::kOk;
    uint64_t began_ns = 0, returned_ns = 0;
  };
  using State = Channel::State;

  // A closure for ctl that does nothing when the hub is gone by then.
  std::function<void()> Guard(std::function<void()> work) const;
  // Answers go through post so that the caller's code never runs inside ours.
  template <typename Value>
  void Answer(std::function<void(Value)>& done, Value value) {
    if (!done) return;
    post_(Guard([done = std::exchange(done, nullptr), value = std::move(value)] { done(value); }));
  }
  void Refuse(StartDone& done, Code code, const ChannelRequest& request, const std::string& why) {
    Answer(done, Result<Started>(Status(code, "cannot start " + Name(request) + ": " + why)));
  }

  ChannelPump& PumpFor(ChannelId id) { return *pumps_[PumpOf(id.device)]; }
  void Submit(ChannelId id, bool ends, std::function<void()> work, std::function<void(Outcome)> done,
              std::function<void()> late);
  Status Late(const char* doing, const ChannelRequest& request, uint64_t timeout_ns) const;

  void Yield(Channel& channel);
  void Enter(Channel& channel, Subscription& subscription);
  void StartNow(const ChannelPtr& channel);
  void OpenProcess(const ChannelPtr& channel);
  void OnProcess(const ChannelPtr& channel);
  void CloseProcess(const ChannelPtr& channel, std::function<void()> done);
  void OnStarted(const ChannelPtr& channel, const StartCall& call);
  void OnRefused(const ChannelPtr& channel, int code);
  void GiveUp(const ChannelPtr& channel, Status status, bool stuck);
  void StopNow(const ChannelPtr& channel);
  void OnStopped(const ChannelPtr& channel, std::optional<int> code);
  void Forget(const ChannelPtr& channel);
  void Restart(const ChannelPtr& channel);
  void SetStopping(uint32_t device, int change);
  void Leave(const ChannelPtr& channel, const Subscription& leaving, StopDone done);

  void Tell(const Channel& channel, What what, const std::string& reason);
  void OnPumpEvent(ChannelId id, const ChannelEvent& event);

  std::set<uint32_t> DevicesWith(State state) const;
  void OnHealth(uint32_t device, const std::string& trouble);
  void TellDevice(uint32_t device, What what, const std::string& reason);
  void OnListed(uint32_t device, const std::vector<uint32_t>& listed);

  driver::Driver& driver_;
  const HubOptions options_;
  const Post post_;
  const std::shared_ptr<Impl*> self_;  // what posted closures hold weakly
  Timer timer_;
  DeviceCalls calls_;
  DeviceWatch watch_;
  std::map<uint32_t, uint32_t> stopping_;  // prof_stop calls under way, by device
  std::vector<std::unique_ptr<ChannelPump>> pumps_;
  std::map<ChannelId, ChannelPtr> channels_;
  ReadWatch reads_;
};

ChannelHub::Impl::Impl(driver::Driver& driver, HubOptions options, base::Timers& timers, Post post)
    : driver_(driver),
      options_(options),
      post_(std::move(post)),
      self_(std::make_shared<Impl*>(this)),
      timer_(timers),
      calls_(options, timer_, post_),
      watch_(driver, calls_, timer_,
             {.in_use = [this] { return DevicesWith(State::kRunning); },
              .on_health = [this](uint32_t device, const std::string& trouble) { OnHealth(device, trouble); },
              .expecting = [this] { return DevicesWith(State::kPending); },
              .on_channels = [this](uint32_t device,
                                    const std::vector<uint32_t>& listed) { OnListed(device, listed); }}),
      reads_(pumps_, options.read_timeout_ns, timer_, post_,
             {.in_use = [this] { return !channels_.empty(); },
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
    pumps_.push_back(std::make_unique<ChannelPump>(driver, pump, name, post_));
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

// The device lists the channel once its process has registered it.
void ChannelHub::Impl::OpenProcess(const ChannelPtr& channel) {
  const ChannelId id = channel->id;
  const auto opened = std::make_shared<Result<int>>(0);
  Submit(
      id, false,
      [driver = &driver_, id, para = *channel->first.process, opened] {
        *opened = driver->OpenProcess(id.device, para);
      },
      [this, channel, opened](Outcome outcome) {
        if (outcome != Outcome::kReturned) {
          return GiveUp(channel, Late("starting", channel->first, options_.driver_timeout_ns),
                        outcome == Outcome::kTimedOut);
        }
        if (!opened->ok())
          return GiveUp(channel, opened->status().In("starting " + Name(channel->first)), false);
        channel->process = **opened;
        OnProcess(channel);
      },
      [this, channel, opened] {  // after all, but nobody waits for it any more
        if (opened->ok()) channel->process = **opened;
        Forget(channel);
      });
}

void ChannelHub::Impl::OnProcess(const ChannelPtr& channel) {
  if (channel->stop_done) {
    channel->state = State::kEnding;
    return CloseProcess(channel, [this, channel] {
      Answer(channel->stop_done, Status::Ok());
      Forget(channel);
    });
  }
  channel->state = State::kPending;
  for (Subscription& subscription : channel->subscriptions) Enter(*channel, subscription);
  watch_.LookForChannels();
}

void ChannelHub::Impl::CloseProcess(const ChannelPtr& channel, std::function<void()> done) {
  if (!channel->process) return done();
  const ChannelId id = channel->id;
  // Whatever it answers, nobody can do more.
  Submit(
      id, true,
      [driver = &driver_, id, process = *std::exchange(channel->process, std::nullopt)] {
        static_cast<void>(driver->CloseProcess(id.device, process));
      },
      [done](Outcome) { done(); }, [] {});
}

void ChannelHub::Impl::StartNow(const ChannelPtr& channel) {
  const ChannelId id = channel->id;
  Subscription& subscription = channel->subscriptions.front();
  channel->state = State::kStarting;
  channel->first = subscription.request;
  const ChannelRequest& first = channel->first;
  reads_.Watch();
  // Until the start is known its stamps are not, and it is Enter() that joins.
  const bool waits = first.pipe != nullptr && format::CountsFromStart(first.format->stamp);
  subscription.in_pump = !waits;
  // The reader first: data may come before the driver's start returns.
  PumpFor(id).Add({.id = id,
                   .format = first.format,
                   .period_ms = first.para.period_ms,
                   .counter_mhz = first.counter_mhz,
                   .stop = channel->stop,
                   .report =
                       [weak = std::weak_ptr(self_), id](const ChannelEvent& event) {
                         if (const auto self = weak.lock()) (*self)->OnPumpEvent(id, event);
                       },
                   .keep_tail = options_.keep_tails,
                   .waits = waits},
                  first.pipe == nullptr || waits
                      ? nullptr
                      : std::make_shared<Subscriber>(*first.format, first.key, first.stats, *first.pipe,
                                                     nullptr, first.files));

  const auto call = std::make_shared<StartCall>();
  Submit(
      id, false,
      [driver = &driver_, id, para = first.para, call] {
        call->began_ns = base::RawNs();
        call->code = driver->Start(id.device, id.channel, para);
        call->returned_ns = base::RawNs();
      },
      [this, channel, call](Outcome outcome) {
        if (outcome == Outcome::kReturned) return OnStarted(channel, *call);
        GiveUp(channel, Late("starting", channel->first, options_.driver_timeout_ns),
               outcome == Outcome::kTimedOut);
      },
      [this, channel, call] {  // after all, but nobody waits for it any more
        if (call->code == driver::kOk) {
          StopNow(channel);
        } else {
          Forget(channel);
        }
      });
}

void ChannelHub::Impl::OnStarted(const ChannelPtr& channel, const StartCall& call) {
  if (call.code != driver::kOk) return OnRefused(channel, call.code);
  channel->state = State::kRunning;
  // The device began at some time of the call: half of it for the way there, half for the way back.
  const ChannelRequest& first = channel->first;
  channel->start_ns = first.device_start_ns;
  if (first.host_start_ns != 0) {
    channel->start_error_ns = (call.returned_ns - call.began_ns + 1) / 2;
    channel->start_ns += call.began_ns + channel->start_error_ns - first.host_start_ns;
  }
  channel->told_code = driver::kOk;
  watch_.WatchHealth();
  if (channel->stop_done) return StopNow(channel);
  for (Subscription& subscription : channel->subscriptions) Enter(*channel, subscription);
}

void ChannelHub::Impl::OnRefused(const ChannelPtr& channel, int code) {
  const Status status(CodeOf(code), "starting " + Name(channel->first) + ": " + driver::DescribeCode(code));
  const bool again = channel->first.late || (channel->first.needs_job && code == driver::kNoComputeProcess);
  if (!again || channel->stop_done) return GiveUp(channel, status, false);
  // It is tried again as long as it is wanted.
  PumpFor(channel->id).Remove(channel->id, false, [] {});
  channel->state = State::kPending;
  for (Subscription& subscription : channel->subscriptions) {
    subscription.in_pump = false;
    Enter(*channel, subscription);
  }
  if (std::exchange(channel->told_code, code) != code) {
    Tell(*channel, What::kFailed, status.message() + "; tried again every second");
  }
  watch_.LookForChannelsLater();
}

// The start has failed for everyone; `stuck`: its call has not returned.
void ChannelHub::Impl::GiveUp(const ChannelPtr& channel, Status status, bool stuck) {
  channel->state = State::kEnding;
  PumpFor(channel->id).Remove(channel->id, false, Guard([this, channel, status = std::move(status), stuck] {
                                for (Subscription& subscription : channel->subscriptions) {
                                  if (!subscription.done) Tell(*channel, What::kFailed, status.message());
                                  Answer(subscription.done, Result<Started>(status));
                                }
                                channel->subscriptions.clear();
                                Answer(channel->stop_done, stuck ? status : Status::Ok());
                                if (!stuck) return Forget(channel);
                                channel->state = State::kStuck;
                                Restart(channel);
                              }));
}

// -- stopping --

void ChannelHub::Impl::Stop(format::StreamKey key, StopDone done) {
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
      return Leave(ChannelPtr(channel), leaving, std::move(done));
    }
  }
  Answer(done, Status(Code::kNotFound, "cannot stop a stream that takes part in no channel"));
}

void ChannelHub::Impl::Leave(const ChannelPtr& channel, const Subscription& leaving, StopDone done) {
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
               Guard([this, done = std::move(done)]() mutable { Answer(done, Status::Ok()); }));
  } else {
    Answer(done, Status::Ok());
  }
}

void ChannelHub::Impl::StopNow(const ChannelPtr& channel) {
  const ChannelId id = channel->id;
  channel->state = State::kEnding;
  SetStopping(id.device, +1);
  const auto code = std::make_shared<int>(driver::kOk);
  Submit(
      id, true,
      [driver = &driver_, id, code, stop = channel->stop] {
        stop->began_ns = base::MonotonicNs();
        *code = driver->Stop(id.device, id.channel);
        stop->returned_ns = base::MonotonicNs();
      },
      [this, channel, code](Outcome outcome) {
        OnStopped(channel, outcome == Outcome::kReturned ? std::optional(*code) : std::nullopt);
      },
      [this, channel] { Forget(channel); });
}

// `code` is the driver's; nothing when it did not answer in time.
void ChannelHub::Impl::OnStopped(const ChannelPtr& channel, std::optional<int> code) {
  SetStopping(channel->id.device, -1);
  const bool stuck = !code.has_value();
  Status status;
  if (stuck) {
    status = Late("stopping", channel->first, std::min(options_.stop_timeout_ns, options_.driver_timeout_ns));
  } else if (*code != driver::kOk) {
    status = Status(*code == driver::kBiuLoss ? Code::kDataLoss : CodeOf(*code),
                    "stopping " + Name(channel->first) + ": " + driver::DescribeCode(*code));
  }
  PumpFor(channel->id).Remove(channel->id, !stuck, Guard([this, channel, status = std::move(status), stuck] {
                                Answer(channel->stop_done, status);
                                if (!stuck) return Forget(channel);
                                channel->state = State::kStuck;
                                Restart(channel);
                              }));
}

void ChannelHub::Impl::Forget(const ChannelPtr& channel) {
  if (channel->process) return CloseProcess(channel, [this, channel] { Forget(channel); });
  channels_.erase(channel->id);
  Restart(channel);
}

// Those that came while the channel was ending have their turn, or hear that it hangs.
void ChannelHub::Impl::Restart(const ChannelPtr& channel) {
  std::vector<Subscription> waiting;
  waiting.swap(channel->waiting);
  for (Subscription& subscription : waiting)
    Start(std::move(subscription.request), std::move(subscription.done));
}

void ChannelHub::Impl::SetStopping(uint32_t device, int change) {
  uint32_t& stopping = stopping_[device];
  const bool before = stopping != 0;
  stopping += static_cast<uint32_t>(change);
  if ((stopping != 0) != before) pumps_[PumpOf(device)]->SetStopping(device, stopping != 0);
}

void ChannelHub::Impl::EndTrace(uint32_t trace, uint32_t device, chunk::Pipe* pipe) {
  pumps_[PumpOf(device)]->EndTrace(trace, pipe);
}

// -- calls to the driver --

void ChannelHub::Impl::Submit(ChannelId id, bool ends, std::function<void()> work,
                              std::function<void(Outcome)> done, std::function<void()> late) {
  calls_.Submit(id.device, id.channel, ends, std::move(work), std::move(done), std::move(late));
}

void ChannelHub::Impl::Call(uint32_t device, std::function<void()> work, std::function<void(bool)> done,
                            bool ends) {
  calls_.Call(device, std::move(work), std::move(done), ends);
}

Status ChannelHub::Impl::Late(const char* doing, const ChannelRequest& request, uint64_t timeout_ns) const {
  return Status(Code::kDeadlineExceeded, std::string(doing) + " " + Name(request) +
                                             ": the driver did not answer within " +
                                             std::to_string(timeout_ns / 1'000'000) + " ms");
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
                                    .records = std::move(tail.bytes)});
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

ChannelHub::ChannelHub(driver::Driver& driver, HubOptions options, base::Timers& timers, Post post)
    : impl_(std::make_unique<Impl>(driver, options, timers, std::move(post))) {}
ChannelHub::~ChannelHub() = default;
size_t ChannelHub::pump_count() const { return impl_->pump_count(); }
size_t ChannelHub::PumpOf(uint32_t device) const { return impl_->PumpOf(device); }
void ChannelHub::Start(ChannelRequest request, std::function<void(Result<Started>)> done) {
  impl_->Start(std::move(request), std::move(done));
}
void ChannelHub::Stop(format::StreamKey key, std::function<void(Status)> done) {
  impl_->Stop(key, std::move(done));
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
