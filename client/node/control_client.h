// profctl's only user of gRPC: one channel, blocking calls with deadlines.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "client/node/asking.h"
#include "client/node/endpoint.h"
#include "client/node/exchange.h"
#include "profd/v1/control.pb.h"
#include "profd/v1/metrics.pb.h"
#include "profd/v1/relay.pb.h"
#include "profd/v1/session.pb.h"

namespace profd::client {

// How far a node's wall clock is ahead of ours, give or take half of a round trip.
struct ClockDistance {
  int64_t ahead_ns = 0;
  uint64_t uncertainty_ns = 0;
};

// **Thread:** any; calls may overlap. A call that is `Asked` is awaited in a conversation (asking.h), or
// `.Now()` says its answer where nobody else asks.
class ControlClient {
 public:
  // Connects on the first call. A `ticket` is for this node's profd. A file that cannot be read fails the
  // first call.
  ControlClient(const Endpoint& endpoint, std::string ticket);
  ControlClient(std::string socket, std::string ticket)
      : ControlClient(Endpoint{.socket = std::move(socket)}, std::move(ticket)) {}
  // Makes no calls: `exchange`, which must outlive it, gets them, one at a time, and the answers of `host`.
  ControlClient(std::string host, Exchange* exchange);
  ~ControlClient();
  ControlClient(const ControlClient&) = delete;
  ControlClient& operator=(const ControlClient&) = delete;

  // How long an answer may take.
  enum class Patience {
    kQuick,    // it is in memory
    kDriver,   // the driver is asked, which may take a minute
    kSession,  // starts and stops wait for drivers and disks
    kCopy,     // as much as a disk holds, slowly
  };
  // Any call with one answer; its method is called as `request` is, without "Request". What several verbs ask
  // has a function of its own below.
  template <typename Reply>
  Asked<Reply> Ask(const google::protobuf::Message& request, Patience patience, uint64_t more_ns = 0) {
    if (Exchange* const others = exchange()) {
      return Asked<Reply>(others, CallOf(request),
                          [this](const Exchange::Call& call, google::protobuf::MessageLite* reply) {
                            return Read(call, reply);
                          });
    }
    Reply reply;
    const base::Status status = CallNow(request, &reply, patience, more_ns);
    return status.ok() ? Asked<Reply>(std::move(reply)) : Asked<Reply>(status);
  }

  // Fails with kUnavailable when the daemon speaks another protocol.
  base::Result<v1::HelloReply> Hello();
  // The best of a few looks.
  base::Result<ClockDistance> MeasureClock();
  // Between two looks.
  void Pause(uint64_t ns);
  Asked<v1::SessionInfo> Plan(const v1::SessionSpec& spec);
  Asked<v1::SessionInfo> Start(const v1::SessionSpec& spec, uint64_t wait_ns = 0,
                               const std::string& once = "");
  Asked<v1::StopReply> Stop(const v1::StopRequest& request);
  // `last_ns` 0 = all that is in memory.
  Asked<v1::SessionInfo> SetPaused(const std::string& session, bool paused);
  Asked<v1::SessionInfo> Snapshot(const std::string& session, uint64_t last_ns);
  Asked<v1::SessionInfo> Pin(const std::string& session, bool pinned);
  Asked<v1::SessionInfo> Remove(const std::string& session);
  // Into the directory that went through the door.
  Asked<v1::SessionInfo> Move(const std::string& session, const std::string& output);
  // Ends early with the status that `on_piece` answers, if it is not ok.
  base::Status Fetch(const v1::FetchRequest& request,
                     const std::function<base::Status(const v1::FetchPiece&)>& on_piece);
  Asked<v1::SessionInfo> Get(const std::string& session);
  Asked<v1::ListReply> List();
  Asked<v1::DevicesReply> Devices();
  Asked<v1::TargetsReply> Targets();
  Asked<v1::StacksReply> Stacks(int32_t pid);
  Asked<v1::Lease> AddLease(const v1::AddLeaseRequest& request);
  Asked<v1::Lease> RemoveLease(const std::string& lease);
  Asked<v1::ListLeasesReply> ListLeases();
  Asked<v1::DoctorReply> Doctor(int32_t pid);
  // Calls `on_value` for every value until the session has ended; the last one is its result.
  base::Result<v1::SessionInfo> Watch(const std::string& session, uint32_t period_ms,
                                      const std::function<void(const v1::SessionInfo&)>& on_value);

  // Calls `on_values` for every set of values until it says false (then ok), or profd ends.
  base::Status Live(const v1::LiveRequest& request,
                    const std::function<bool(const v1::LiveValues&)>& on_values);

  // Lets this node ask others; `on_answer` gets each one's answer as it comes, and may take what is in it.
  base::Status Relay(const v1::RelayRequest& request, uint64_t deadline_ns,
                     const std::function<void(v1::RelayAnswer&)>& on_answer);

  // Every call under way fails with kCancelled, now and from now on.
  void CancelAll();

 private:
  Exchange* exchange() const;  // nullptr: calls are made here
  static Exchange::Call CallOf(const google::protobuf::Message& request);
  base::Status CallNow(const google::protobuf::Message& request, google::protobuf::MessageLite* reply,
                       Patience patience, uint64_t more_ns);
  // What others brought.
  base::Status Read(const Exchange::Call& call, google::protobuf::MessageLite* reply);

  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace profd::client
