// How a channel begins and ends: calls to the driver, what it answers, what becomes of who waits.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/calendar.h"
#include "base/clock.h"
#include "daemon/device/channel_hub_impl.h"

namespace profd::device {

using base::Code;
using base::Result;
using base::Status;
using Outcome = ControlQueue::Outcome;
using What = ChannelEvent::What;

// The device lists the channel once its process has registered it.
void ChannelHub::Impl::OpenProcess(const ChannelPtr& channel) {
  const ChannelId id = channel->id;
  const auto opened = std::make_shared<Result<int>>(0);
  Submit(
      id, false,
      [driver = driver_, id, para = *channel->first.process, opened] {
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

void ChannelHub::Impl::CloseProcess(const ChannelPtr& channel, const std::function<void()>& done) {
  if (!channel->process) return done();
  const ChannelId id = channel->id;
  // Whatever it answers, nobody can do more.
  Submit(
      id, true,
      [driver = driver_, id, process = *std::exchange(channel->process, std::nullopt)] {
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
      [driver = driver_, id, para = first.para, call] {
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

void ChannelHub::Impl::StopNow(const ChannelPtr& channel) {
  const ChannelId id = channel->id;
  channel->state = State::kEnding;
  SetStopping(id.device, +1);
  const auto code = std::make_shared<int>(driver::kOk);
  Submit(
      id, true,
      [driver = driver_, id, code, stop = channel->stop] {
        stop->began_ns = base::MonotonicNs();
        *code = driver->Stop(id.device, id.channel);
        stop->returned_ns = base::MonotonicNs();
      },
      [this, channel, code](Outcome outcome) {
        OnStopped(channel, outcome == Outcome::kReturned ? std::optional(*code) : std::nullopt);
      },
      [this, channel] {  // after all
        stops_hang_.erase(channel->id.device);
        Forget(channel);
      });
}

// `code` is the driver's; nothing when it did not answer in time. What a device as a whole does is said in
// the same words of each of its channels.
void ChannelHub::Impl::OnStopped(const ChannelPtr& channel, std::optional<int> code) {
  const bool stuck = !code.has_value();
  Status status;
  if (stuck) {
    reads_.LookAtOnce();
    const std::string* hung = reads_.Hung(channel->id.device);
    status = Status(Code::kDeadlineExceeded, hung != nullptr ? *hung : StopsHang(channel->id.device));
  } else if (*code != driver::kOk) {
    status = Status(*code == driver::kBiuLoss ? Code::kDataLoss : CodeOf(*code),
                    "stopping " + Name(channel->first) + ": " + driver::DescribeCode(*code));
  } else if (const std::string* hung = reads_.Hung(channel->id.device)) {
    // Nobody has read what the driver has waited for.
    status = Status(Code::kDataLoss, *hung);
  }
  PumpFor(channel->id).Remove(channel->id, !stuck, Guard([this, channel, status = std::move(status), stuck] {
                                SetStopping(channel->id.device, -1);
                                Answer(channel->stop_done, status);
                                if (!stuck) return Forget(channel);
                                channel->state = State::kStuck;
                                Restart(channel);
                              }));
}

const std::string& ChannelHub::Impl::StopsHang(uint32_t device) {
  std::string& why = stops_hang_[device];
  if (why.empty()) {
    const uint64_t waited_ns = std::min(options_.stop_timeout_ns, options_.driver_timeout_ns);
    why = "device " + std::to_string(device) + " hangs: a stop has not returned since " +
          base::TimeOfDay(base::WallNs() - waited_ns);
  }
  return why;
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
  if ((stopping != 0) == before) return;
  pumps_[PumpOf(device)]->SetStopping(device, stopping != 0);
  reads_.Watch();
}

void ChannelHub::Impl::Submit(ChannelId id, bool ends, std::function<void()> work,
                              std::function<void(Outcome)> done, std::function<void()> late) {
  calls_.Submit(id.device, id.channel, ends, std::move(work), std::move(done), std::move(late));
}

Status ChannelHub::Impl::Late(const char* doing, const ChannelRequest& request, uint64_t timeout_ns) const {
  return Status(Code::kDeadlineExceeded, std::string(doing) + " " + Name(request) +
                                             ": the driver did not answer within " +
                                             std::to_string(timeout_ns / 1'000'000) + " ms");
}

}  // namespace profd::device
