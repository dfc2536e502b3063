// One Relay.Ask: every node is asked at once, and answers go out as they come, those of a few milliseconds
// together where the caller takes them so.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "base/status.h"
#include "daemon/rpc/calls/open_calls.h"
#include "profd/v1/relay.pb.h"
#include "remote/peer.h"
#include "remote/ways.h"

namespace profd::rpc {

// **Thread:** any. **Owns:** itself until gRPC says OnDone() and every node has answered or was given up.
class RelayCall : public grpc::ServerWriteReactor<v1::RelayAnswer>,
                  public OpenCall,
                  public std::enable_shared_from_this<RelayCall> {
 public:
  explicit RelayCall(std::shared_ptr<OpenCalls> open) : open_(std::move(open)) {}

  void Begin(const v1::RelayRequest& request, const std::shared_ptr<remote::Ways>& ways,
             uint64_t deadline_ns);
  void Refuse(const base::Status& status);

  void Abort() override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  // How many there are; each costs a connection per node.
  static int UnderWay();

 private:
  void OnReply(const std::string& host, remote::Reply reply);
  // Writes what waits, unless more is worth a moment.
  void OfferLocked();
  void WriteLocked();
  void OnPatienceOver();
  void FinishOnce(const base::Status& status);

  const std::shared_ptr<OpenCalls> open_;
  std::shared_ptr<RelayCall> self_;
  bool is_counted_ = false;
  bool together_ = false;

  std::mutex mutex_;  // all below
  bool finished_ = false;
  bool writing_ = false;
  size_t missing_ = 0;
  std::deque<v1::RelayAnswer> answers_;    // not written yet
  size_t waiting_bytes_ = 0;               // of their replies
  v1::RelayAnswer written_;                // gRPC's while it writes
  std::unique_ptr<grpc::Alarm> patience_;  // while answers wait for others
  std::vector<std::shared_ptr<remote::Peer>> peers_;
};

}  // namespace profd::rpc
