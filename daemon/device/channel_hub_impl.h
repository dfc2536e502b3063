// The hub's inside: channels with those who take part (channel_hub.cc), the driver's calls that begin and end
// them (channel_life.cc).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/device/channel_hub.h"
#include "daemon/device/channel_pump.h"
#include "daemon/device/channel_rules.h"
#include "daemon/device/control_queue.h"
#include "daemon/device/device_calls.h"
#include "daemon/device/device_watch.h"
#include "daemon/device/read_watch.h"
#include "daemon/device/timer.h"

namespace profd::device {

// **Thread:** ctl.
class ChannelHub::Impl {
 public:
  Impl(std::shared_ptr<driver::Driver> driver, HubOptions options, base::Timers& timers, Post post);

  size_t pump_count() const { return pumps_.size(); }
  size_t PumpOf(uint32_t device) const { return device % pumps_.size(); }

  void Start(ChannelRequest request, std::function<void(base::Result<Started>)> done);
  void Stop(format::StreamKey key, std::function<void(base::Status)> done,
            std::optional<format::StreamKey> heir = {});
  void EndTrace(uint32_t trace, uint32_t device, chunk::Pipe* pipe);
  void Call(uint32_t device, std::function<void()> work, std::function<void(bool)> done, bool ends);
  void Peek(std::function<void(std::vector<Peeked>)> done);
  std::vector<Holding> Holdings() const;

 private:
  using StartDone = std::function<void(base::Result<Started>)>;
  using StopDone = std::function<void(base::Status)>;

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
  void Refuse(StartDone& done, base::Code code, const ChannelRequest& request, const std::string& why) {
    Answer(done, base::Result<Started>(base::Status(code, "cannot start " + Name(request) + ": " + why)));
  }

  ChannelPump& PumpFor(ChannelId id) { return *pumps_[PumpOf(id.device)]; }
  void Submit(ChannelId id, bool ends, std::function<void()> work,
              std::function<void(ControlQueue::Outcome)> done, std::function<void()> late);
  const std::string& StopsHang(uint32_t device);
  base::Status Late(const char* doing, const ChannelRequest& request, uint64_t timeout_ns) const;

  void Yield(Channel& channel);
  void Enter(Channel& channel, Subscription& subscription);
  void StartNow(const ChannelPtr& channel);
  void OpenProcess(const ChannelPtr& channel);
  void OnProcess(const ChannelPtr& channel);
  void CloseProcess(const ChannelPtr& channel, const std::function<void()>& done);
  void OnStarted(const ChannelPtr& channel, const StartCall& call);
  void OnRefused(const ChannelPtr& channel, int code);
  void GiveUp(const ChannelPtr& channel, base::Status status, bool stuck);
  void StopNow(const ChannelPtr& channel);
  void OnStopped(const ChannelPtr& channel, std::optional<int> code);
  void Forget(const ChannelPtr& channel);
  void Restart(const ChannelPtr& channel);
  void SetStopping(uint32_t device, int change);
  void Leave(const ChannelPtr& channel, const Subscription& leaving, std::optional<format::StreamKey> heir,
             StopDone done);

  void Tell(const Channel& channel, ChannelEvent::What what, const std::string& reason);
  void OnPumpEvent(ChannelId id, const ChannelEvent& event);

  std::set<uint32_t> DevicesWith(State state) const;
  void OnHealth(uint32_t device, const std::string& trouble);
  void TellDevice(uint32_t device, ChannelEvent::What what, const std::string& reason);
  void OnListed(uint32_t device, const std::vector<uint32_t>& listed);

  const std::shared_ptr<driver::Driver> driver_;  // calls have it, too: they may outlive the hub
  const HubOptions options_;
  const Post post_;
  const std::shared_ptr<Impl*> self_;  // what posted closures hold weakly
  Timer timer_;
  DeviceCalls calls_;
  DeviceWatch watch_;
  std::map<uint32_t, uint32_t> stopping_;       // prof_stop calls under way, by device
  std::map<uint32_t, std::string> stops_hang_;  // by device: what is said of it while a stop has not returned
  std::vector<std::unique_ptr<ChannelPump>> pumps_;
  std::map<ChannelId, ChannelPtr> channels_;
  ReadWatch reads_;
};

}  // namespace profd::device
