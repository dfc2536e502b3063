#include "daemon/rpc/agents/agent_service.h"

#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "daemon/rpc/calls/call_status.h"
#include "daemon/rpc/calls/convert_agent.h"

namespace profd::rpc {

using base::Code;
using base::Status;

namespace {

constexpr uint64_t kHelloTimeoutNs = 10'000'000'000;
constexpr size_t kMaxQueuedCommands = 64;
constexpr size_t kMaxMessageBytes = 64 << 10;  // an agent of today stays below 20 KiB

// One process's stream. The next message is read when ctl has dealt with the one before, so a process that
// talks too much only fills its own socket; one that doesn't read is closed when its queue is full.
// **Thread:** Send() and Close() on ctl, reactions on gRPC's. **Owns:** itself until gRPC says OnDone().
class AgentStream : public grpc::ServerBidiReactor<v1::AgentMessage, v1::AgentCommand>,
                    public agent::Link,
                    public OpenCall,
                    public std::enable_shared_from_this<AgentStream> {
 public:
  AgentStream(grpc::CallbackServerContext* context, agent::Registry& registry, base::Executor& ctl,
              std::shared_ptr<OpenCalls> open)
      : context_(context), registry_(registry), ctl_(ctl), open_(std::move(open)) {}

  void Begin(auth::Tickets::Agent agent) {
    self_ = shared_from_this();
    agent_ = std::move(agent);
    open_->Add(self_);
    ctl_.Post([self = self_] { self->AwaitHello(); });
    ReadNext();
  }
  void Refuse(const Status& status) {
    self_ = shared_from_this();
    Close(status);
  }

  void Send(const agent::Command& command) override {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    if (queue_.size() >= kMaxQueuedCommands) {
      return FinishLocked({Code::kResourceExhausted, "the agent does not read its commands"});
    }
    Encode(command, &queue_.emplace_back());
    if (!writing_) WriteLocked();
  }
  void Close(const Status& why) override {
    const std::lock_guard lock(mutex_);
    FinishLocked(why);
  }
  void Abort() override { Close(Stopping()); }

  void OnReadDone(bool ok) override {
    if (!ok) return Close(Status::Ok());
    ctl_.Post([self = shared_from_this()] { self->Hear(); });
  }
  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    queue_.pop_front();
    if (!ok) return FinishLocked({Code::kCancelled, "the agent has gone"});
    if (!finished_ && !queue_.empty()) WriteLocked();
  }
  void OnCancel() override { Close({Code::kCancelled, "the agent has gone"}); }
  void OnDone() override {
    open_->Remove(this);
    ctl_.Post([self = std::move(self_)] { self->Leave(); });
  }

 private:
  // **Thread:** ctl.
  void AwaitHello() {
    hello_timer_ = ctl_.After(kHelloTimeoutNs, [weak = weak_from_this()] {
      if (const auto self = weak.lock(); self != nullptr && !self->registered_) {
        self->Close({Code::kDeadlineExceeded, "the agent did not say hello within 10 s"});
      }
    });
  }
  void Hear() {
    if (const Status status = Take(); !status.ok()) return Close(status);
    ReadNext();
  }
  Status Take() {
    {
      const std::lock_guard lock(mutex_);
      if (finished_) return Stopping();
    }
    if (message_.ByteSizeLong() > kMaxMessageBytes) {
      return {Code::kInvalidArgument, "the agent's message is longer than 64 KiB"};
    }
    switch (message_.message_case()) {
      case v1::AgentMessage::kHello:
        return Register();
      case v1::AgentMessage::kAck:
        if (registered_) registry_.OnAck(agent_.seat, DecodeAck(message_.ack()));
        break;
      case v1::AgentMessage::kStepWindow:
        if (registered_) registry_.OnStepWindow(agent_.seat, DecodeStepWindow(message_.step_window()));
        break;
      case v1::AgentMessage::kCapabilities:
        if (registered_) {
          PROFD_ASSIGN_OR_RETURN(std::vector<agent::Capability> capabilities,
                                 DecodeCapabilities(message_.capabilities().capabilities()));
          PROFD_ASSIGN_OR_RETURN(std::vector<uint32_t> devices,
                                 DecodeDevices(message_.capabilities().devices()));
          registry_.OnCapabilities(agent_.seat, std::move(capabilities), std::move(devices));
        }
        break;
      case v1::AgentMessage::MESSAGE_NOT_SET:  // or of a younger agent
        break;
    }
    return registered_ ? Status::Ok()
                       : Status{Code::kInvalidArgument, "the agent's first message is not a hello"};
  }
  Status Register() {
    ctl_.Cancel(std::exchange(hello_timer_, 0));
    if (registered_) return {Code::kInvalidArgument, "a second hello on one stream"};
    PROFD_ASSIGN_OR_RETURN(agent::Hello hello, DecodeHello(message_.hello()));
    PROFD_RETURN_IF_ERROR(
        registry_.Register(agent_.seat, agent_.caller.user, std::move(hello), shared_from_this()).status());
    registered_ = true;
    return Status::Ok();
  }
  void Leave() {
    ctl_.Cancel(std::exchange(hello_timer_, 0));
    if (std::exchange(registered_, false)) registry_.Disconnect(agent_.seat);
  }

  // **Thread:** any.
  void ReadNext() {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    message_.Clear();
    StartRead(&message_);
  }
  void WriteLocked() {
    writing_ = true;
    StartWrite(&queue_.front());
  }
  void FinishLocked(const Status& status) {
    if (std::exchange(finished_, true)) return;
    // The status would wait for ever behind a command that nobody reads.
    if (writing_) context_->TryCancel();
    Finish(ToGrpc(status));
  }

  grpc::CallbackServerContext* const context_;  // until gRPC says OnDone()
  agent::Registry& registry_;
  base::Executor& ctl_;
  const std::shared_ptr<OpenCalls> open_;
  std::shared_ptr<AgentStream> self_;
  auth::Tickets::Agent agent_;
  v1::AgentMessage message_;  // gRPC's while it reads, then ctl's until the next read

  // ctl's.
  base::Executor::TimerId hello_timer_ = 0;
  bool registered_ = false;

  std::mutex mutex_;  // all below
  bool finished_ = false;
  bool writing_ = false;
  std::deque<v1::AgentCommand> queue_;  // the first is being written
};

}  // namespace

grpc::ServerBidiReactor<v1::AgentMessage, v1::AgentCommand>* AgentService::Register(
    grpc::CallbackServerContext* context) {
  const auto stream = std::make_shared<AgentStream>(context, registry_, ctl_, open_);
  const base::Result<std::string> ticket = TicketOf(*context, tickets_);
  base::Result<auth::Tickets::Agent> agent = ticket.ok() ? tickets_.FindAgent(*ticket) : ticket.status();
  audit_.Note(agent.ok() ? agent->caller : auth::Caller(), "register", "", agent.status());
  if (agent.ok()) {
    stream->Begin(std::move(agent).value());
  } else {
    stream->Refuse(agent.status());
  }
  return stream.get();
}

}  // namespace profd::rpc
