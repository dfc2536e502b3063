#include "daemon/rpc/relay_call.h"

#include <atomic>
#include <utility>

#include "base/text.h"
#include "daemon/rpc/call_status.h"

namespace profd::rpc {

using base::Code;
using base::Status;

namespace {

std::atomic<int> under_way{0};

}  // namespace

int RelayCall::UnderWay() { return under_way; }

void RelayCall::Begin(const v1::RelayRequest& request, const node::Credentials& credentials,
                      uint64_t deadline_ns) {
  self_ = shared_from_this();
  is_counted_ = true;
  ++under_way;
  std::vector<std::shared_ptr<node::Peer>> peers;
  for (const v1::RelayCall& call : request.calls())
    peers.push_back(std::make_shared<node::Peer>(call.host(), credentials));
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
                  [self = shared_from_this(), host = call.host()](node::Reply reply) {
                    self->OnReply(host, std::move(reply));
                  });
  }
}

void RelayCall::Refuse(const Status& status) {
  self_ = shared_from_this();
  FinishOnce(status);
}

void RelayCall::OnReply(const std::string& host, node::Reply reply) {
  v1::RelayAnswer answer;
  answer.set_host(host);
  answer.set_code(reply.code);
  answer.set_message(base::OneLine(reply.message));
  answer.set_from_node(reply.from_node);
  answer.set_reply(std::move(reply.bytes));
  const std::lock_guard lock(mutex_);
  --missing_;
  if (finished_) return;
  answers_.push_back(std::move(answer));
  if (!writing_) WriteLocked();
}

void RelayCall::OnWriteDone(bool ok) {
  if (!ok) return FinishOnce({Code::kCancelled, "the caller is gone"});
  bool is_last = false;
  {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    answers_.pop_front();
    if (finished_) return;
    if (!answers_.empty()) return WriteLocked();
    is_last = missing_ == 0;
  }
  if (is_last) FinishOnce(Status::Ok());
}

void RelayCall::WriteLocked() {
  writing_ = true;
  StartWrite(&answers_.front());
}

void RelayCall::Abort() { FinishOnce(Stopping()); }
void RelayCall::OnCancel() { FinishOnce({Code::kCancelled, "the caller is gone"}); }

void RelayCall::OnDone() {
  if (is_counted_) --under_way;
  open_->Remove(this);
  self_.reset();
}

void RelayCall::FinishOnce(const Status& status) {
  std::vector<std::shared_ptr<node::Peer>> peers;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(finished_, true)) return;
    peers.swap(peers_);
    Finish(ToGrpc(status));
  }
  for (const auto& peer : peers) peer->Cancel();
}

}  // namespace profd::rpc
