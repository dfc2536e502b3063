// profctl's only user of gRPC: one channel, blocking calls with deadlines.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "client/endpoint.h"
#include "client/exchange.h"
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

// **Thread:** any; calls may overlap.
class ControlClient {
 public:
  // Connects on the first call. A `ticket` is for this node's profd. A file that cannot be read fails the
  // first call.
  ControlClient(Endpoint endpoint, std::string ticket);
  ControlClient(std::string socket, std::string ticket)
      : ControlClient(Endpoint{.socket = std::move(socket)}, std::move(ticket)) {}
  // Makes no calls: `exchange`, which must outlive it, has the answers of `host`, or notes what is to be
  // asked.
  ControlClient(std::string host, Exchange* exchange);
  ~ControlClient();
  ControlClient(const ControlClient&) = delete;
  ControlClient& operator=(const ControlClient&) = delete;

  // Fails with kUnavailable when the daemon speaks another protocol.
  base::Result<v1::HelloReply> Hello();
  // The best of a few looks.
  base::Result<ClockDistance> MeasureClock();
  // Between two looks.
  void Pause(uint64_t ns);
  base::Result<v1::SessionInfo> Plan(const v1::SessionSpec& spec);
  base::Result<v1::SessionInfo> Start(const v1::SessionSpec& spec, uint64_t wait_ns = 0,
                                      const std::string& once = "");
  base::Result<v1::StopReply> Stop(const v1::StopRequest& request);
  // `last_ns` 0 = all that is in memory.
  base::Result<v1::SessionInfo> SetPaused(const std::string& session, bool paused);
  base::Result<v1::SessionInfo> Snapshot(const std::string& session, uint64_t last_ns);
  base::Result<v1::SessionInfo> Pin(const std::string& session, bool pinned);
  base::Result<v1::SessionInfo> Remove(const std::string& session);
  // Into the directory that went through the door.
  base::Result<v1::SessionInfo> Move(const std::string& session, const std::string& output);
  // Ends early with the status that `on_piece` answers, if it is not ok.
  base::Status Fetch(const v1::FetchRequest& request,
                     const std::function<base::Status(const v1::FetchPiece&)>& on_piece);
  base::Result<v1::SessionInfo> Get(const std::string& session);
  base::Result<v1::ListReply> List();
  base::Result<v1::DevicesReply> Devices();
  base::Result<v1::TargetsReply> Targets();
  base::Result<v1::Lease> AddLease(const v1::AddLeaseRequest& request);
  base::Result<v1::Lease> RemoveLease(const std::string& lease);
  base::Result<v1::ListLeasesReply> ListLeases();
  base::Result<v1::DoctorReply> Doctor(int32_t pid);
  // Calls `on_value` for every value until the session has ended; the last one is its result.
  base::Result<v1::SessionInfo> Watch(const std::string& session, uint32_t period_ms,
                                      const std::function<void(const v1::SessionInfo&)>& on_value);

  // Calls `on_values` for every set of values until it says false (then ok), or profd ends.
  base::Status Live(const std::vector<std::string>& kinds, uint32_t period_ms,
                    const std::function<bool(const v1::LiveValues&)>& on_values);

  // Lets this node ask others; `on_answer` gets each one's answer as it comes, and may take what is in it.
  base::Status Relay(const v1::RelayRequest& request, uint64_t deadline_ns,
                     const std::function<void(v1::RelayAnswer&)>& on_answer);

  // Every call under way fails with kCancelled, now and from now on.
  void CancelAll();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace profd::client
