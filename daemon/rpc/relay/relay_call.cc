#include "daemon/rpc/relay/relay_call.h"

#include <atomic>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "daemon/rpc/calls/call_status.h"

namespace profd::rpc {

using base::Code;
using base::Status;

namespace {

std::atomic<int> under_way{0};

// How long an answer waits for others: a message is a wake-up of the caller's, and each node takes longer.
constexpr std::chrono::milliseconds kPatience{4};
constexpr size_t kEnoughBytes = 256 << 10;

}  // namespace

int RelayCall::UnderWay() { return under_way; }

void RelayCall::Begin(const v1::RelayRequest& request, const std::shared_ptr<remote::Ways>& ways,
                      uint64_t deadline_ns) {
  self_ = shared_from_this();
  is_counted_ = true;
  together_ = request.together();
  ++under_way;
  std::vector<std::shared_ptr<remote::Peer>> peers;
  for (const v1::RelayCall& call : request.calls())
    peers.push_back(std::make_shared<remote::Peer>(call.host(), ways));
  {
    const std::lock_guard lock(mutex_);
    missing_ = peers.size();
    peers_ = peers;
  }
  open_->Add(self_);
  if (peers.empty()) return FinishOnce(Status::Ok());
  for (size_t i = 0; i < peers.size(); ++i) {
    const v1::RelayCall& call = request.calls(static_cast<int>(i));
    peers[i]->Ask(request.method(), call.request().empty() ? request.request() : call.request(), deadline_ns,
                  [self = shared_from_this(), host = call.host()](remote::Reply reply) {
                    self->OnReply(host, std::move(reply));
                  });
  }
}

void RelayCall::Refuse(const Status& status) {
  self_ = shared_from_this();
  FinishOnce(status);
}

void RelayCall::OnReply(const std::string& host, remote::Reply reply) {
  v1::RelayAnswer answer;
  answer.set_host(host);
  answer.set_code(reply.code);
  answer.set_message(base::OneLine(reply.message));
  answer.set_from_node(reply.from_node);
  answer.set_reply(std::move(reply.bytes));
  const std::lock_guard lock(mutex_);
  --missing_;
  if (finished_) return;
  waiting_bytes_ += answer.reply().size();
  answers_.push_back(std::move(answer));
  OfferLocked();
}

void RelayCall::OnWriteDone(bool ok) {
  if (!ok) return FinishOnce({Code::kCancelled, "the caller is gone"});
  bool is_last = false;
  {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (finished_) return;
    if (!answers_.empty()) return OfferLocked();
    is_last = missing_ == 0;
  }
  if (is_last) FinishOnce(Status::Ok());
}

void RelayCall::OfferLocked() {
  if (writing_) return;
  if (!together_ || missing_ == 0 || waiting_bytes_ >= kEnoughBytes) return WriteLocked();
  if (patience_ != nullptr) return;
  patience_ = std::make_unique<grpc::Alarm>();
  patience_->Set(std::chrono::system_clock::now() + kPatience,
                 [self = shared_from_this()](bool) { self->OnPatienceOver(); });
}

void RelayCall::OnPatienceOver() {
  const std::lock_guard lock(mutex_);
  patience_.reset();
  if (!finished_ && !writing_ && !answers_.empty()) WriteLocked();
}

void RelayCall::WriteLocked() {
  writing_ = true;
  written_ = std::move(answers_.front());
  answers_.pop_front();
  size_t bytes = written_.reply().size();
  while (together_ && !answers_.empty() && bytes + answers_.front().reply().size() <= kEnoughBytes) {
    bytes += answers_.front().reply().size();
    *written_.add_others() = std::move(answers_.front());
    answers_.pop_front();
  }
  waiting_bytes_ -= bytes;
  StartWrite(&written_);
}

void RelayCall::Abort() { FinishOnce(Stopping()); }
void RelayCall::OnCancel() { FinishOnce({Code::kCancelled, "the caller is gone"}); }

void RelayCall::OnDone() {
  if (is_counted_) --under_way;
  open_->Remove(this);
  self_.reset();
}

void RelayCall::FinishOnce(const Status& status) {
  std::vector<std::shared_ptr<remote::Peer>> peers;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(finished_, true)) return;
    peers.swap(peers_);
    Finish(ToGrpc(status));
  }
  for (const auto& peer : peers) peer->Cancel();
}

}  // namespace profd::rpc
