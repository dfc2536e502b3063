#include "client/node/control_client.h"

#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/files/whole_file.h"
#include "base/version.h"
#include "client/words/text.h"
#include "profd/v1/control.grpc.pb.h"
#include "profd/v1/relay.grpc.pb.h"

namespace profd::client {

using base::Code;
using base::Status;

namespace {

using std::chrono::seconds;
constexpr int kMaxReplyBytes = 64 << 20;  // all targets of a full node
constexpr int kClockLooks = 5;
constexpr seconds kQuick{10};              // answered from memory
constexpr seconds kDriver{90};             // asks the driver, which may take a minute
constexpr seconds kCopy{24 * 3600};        // as much as a disk holds, slowly
constexpr seconds kEver{365 * 24 * 3600};  // until somebody ends it
constexpr seconds kSession{300};           // starts and stops wait for drivers and disks

// gRPC names the address again that we name anyway, differently for every node.
std::string WithoutAddress(const std::string& message) {
  const size_t address = message.find("ipv");
  const size_t reason = address == std::string::npos ? address : message.find(": ", address);
  return reason == std::string::npos ? message : message.substr(reason + 2);
}

std::shared_ptr<grpc::Channel> MakeChannel(const Endpoint& endpoint) {
  // gRPC's own log would add lines of its own to our one; GRPC_VERBOSITY brings it back.
  if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetMaxReceiveMessageSize(kMaxReplyBytes);
  std::string target = "unix:" + endpoint.socket;
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (!endpoint.host.empty()) {
    target = "dns:///" + endpoint.host;
    if (!endpoint.plain) {
      // What cannot be read the handshake misses, and says so.
      credentials = grpc::SslCredentials({.pem_root_certs = base::ReadWholeOrNothing(endpoint.ca),
                                          .pem_private_key = base::ReadWholeOrNothing(endpoint.key),
                                          .pem_cert_chain = base::ReadWholeOrNothing(endpoint.cert)});
    }
  }
  return grpc::CreateCustomChannel(target, credentials, arguments);
}

// Requests are called after their method.
std::string MethodOf(const google::protobuf::Message& request) {
  const std::string& type = request.GetDescriptor()->name();
  return type.substr(0, type.rfind("Request"));
}

seconds SecondsOf(ControlClient::Patience patience) {
  switch (patience) {
    case ControlClient::Patience::kQuick:
      return kQuick;
    case ControlClient::Patience::kDriver:
      return kDriver;
    case ControlClient::Patience::kSession:
      return kSession;
    case ControlClient::Patience::kCopy:
      return kCopy;
  }
  return kQuick;
}

}  // namespace

class ControlClient::Impl {
 public:
  Impl(const Endpoint& endpoint, std::string ticket_text)
      : name(endpoint.name()),
        ticket(std::move(ticket_text)),
        deadline_ns(endpoint.deadline_ns),
        is_far(!endpoint.host.empty()),
        channel(MakeChannel(endpoint)),
        stub(v1::Control::NewStub(channel)) {}
  Impl(std::string host, Exchange* others)
      : name(std::move(host)), deadline_ns(0), is_far(true), exchange(others) {}

  // A context that CancelAll() finds. **Owns:** its place in the list.
  class Call {
   public:
    explicit Call(Impl& impl) : impl_(impl) {
      if (!impl.ticket.empty()) context.AddMetadata("profd-ticket", impl.ticket);
      const std::lock_guard lock(impl_.mutex);
      impl_.open.insert(&context);
      if (impl_.cancelled) context.TryCancel();
    }
    ~Call() {
      const std::lock_guard lock(impl_.mutex);
      impl_.open.erase(&context);
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    grpc::ClientContext context;

   private:
    Impl& impl_;
  };

  Status CallNow(const google::protobuf::Message& request, google::protobuf::MessageLite* reply,
                 seconds patience) {
    Call call(*this);
    call.context.set_deadline(Deadline(patience));
    const std::string path = "/profd.v1.Control/" + MethodOf(request);
    // As generated code does it, for any message.
    using google::protobuf::MessageLite;
    const grpc::Status status = grpc::internal::BlockingUnaryCall<MessageLite, MessageLite>(
        channel.get(), {path.c_str(), grpc::internal::RpcMethod::NORMAL_RPC}, &call.context, request, reply);
    if (!status.ok()) return Explain(status);
    is_met = true;
    return {};
  }

  std::chrono::system_clock::time_point Deadline(seconds patience) const {
    std::chrono::nanoseconds left = patience;
    if (deadline_ns != 0) {
      const uint64_t now_ns = base::MonotonicNs();
      left = std::min(left, std::chrono::nanoseconds(deadline_ns > now_ns ? deadline_ns - now_ns : 0));
    }
    return std::chrono::system_clock::now() +
           std::chrono::duration_cast<std::chrono::system_clock::duration>(left);
  }

  // A stream goes on as long as --timeout lets it, or for `patience`.
  void LimitStream(Call& call, seconds patience) const {
    if (deadline_ns != 0 || patience != kEver) call.context.set_deadline(Deadline(patience));
  }
  // `answered`: something came before the end.
  Status ExplainStream(const grpc::Status& status, bool answered) {
    if (status.ok()) return Status::Ok();
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED && answered) {
      return {Code::kDeadlineExceeded,
              "profd at " + name + " did not finish in time: give a longer --timeout"};
    }
    return Explain(status);
  }

  // The daemon's own words as they are; what gRPC says of a lost connection in ours.
  Status Explain(const grpc::Status& status) {
    const auto code = static_cast<Code>(status.error_code());
    const std::string message = OneLine(status.error_message());
    // A server that goes away cancels what it has not answered.
    const bool is_cut_off = code == Code::kCancelled && !IsCancelled();
    if (code == Code::kUnavailable && message.starts_with("DNS resolution failed")) {
      return {Code::kUnavailable, "cannot find the host of " + name + ": is its name right?"};
    }
    if (is_far && !is_met && code == Code::kUnavailable && status.error_details().empty())
      return NotMet(message);
    // The door let it in before, so profd was there.
    if (!is_far && code == Code::kUnavailable && status.error_details().empty() && IsTurnedAway(message)) {
      return {Code::kUnavailable,
              "profd at " + name +
                  " closed the connection at once: it has no room for more connections (its log says whose "
                  "they are), or has just ended; ask again, or close some"};
    }
    if (is_cut_off || (code == Code::kUnavailable && status.error_details().empty())) {
      return {Code::kUnavailable, "lost the connection to profd at " + name + " (" + WithoutAddress(message) +
                                      "): see its log, or run profctl doctor"};
    }
    if (code == Code::kDeadlineExceeded && status.error_details().empty()) {
      return {code, "profd at " + name + " does not answer in time: run profctl doctor"};
    }
    if (code == Code::kUnimplemented) {
      return {code, "profd at " + name + " lacks the call: it is older than this profctl (" + base::kVersion +
                        "), or no profd: install the same release on both sides, or check the address"};
    }
    return {code, message};
  }

  static bool IsTurnedAway(const std::string& message) {
    const auto says = [&message](const char* words) { return message.find(words) != std::string::npos; };
    return says("failed to connect") &&
           (says("Socket closed") || says("reset by peer") || says("Broken pipe"));
  }

  // Nobody has answered there yet, and gRPC's words do not say what is to be done.
  Status NotMet(const std::string& message) const {
    const auto says = [&message](auto... words) {
      return ((message.find(words) != std::string::npos) || ...);
    };
    if (says("Connection refused")) {
      return {Code::kUnavailable,
              "nothing listens at " + name +
                  " (Connection refused): does profd run there, with this remote.listen?"};
    }
    std::string text = "profd at " + name + " cannot be reached (" + WithoutAddress(message) + "): ";
    if (says("wrong version number")) {
      text += "it does not speak TLS there: it listens without certificates (--plain), or it is not profd";
    } else if (says("Socket closed", "reset by peer", "Broken pipe", " alert ")) {
      text +=
          "it ended the connection: is --tls-cert signed by its remote.client_ca, and does it listen as it "
          "was asked, with certificates or --plain?";
    } else if (says("andshake", "ertificate")) {
      text += "is its certificate signed by --tls-ca, in date and of this name?";
    } else {
      text += "is it on, and are connections to it let through?";
    }
    return {Code::kUnavailable, text};
  }

  bool IsCancelled() {
    const std::lock_guard lock(mutex);
    return cancelled;
  }

  const std::string name;
  const std::string ticket;
  const uint64_t deadline_ns;
  const bool is_far;                   // on another node
  std::atomic<bool> is_met{false};     // has answered
  Exchange* const exchange = nullptr;  // instead of a channel
  const std::shared_ptr<grpc::Channel> channel;
  const std::unique_ptr<v1::Control::Stub> stub;
  std::mutex mutex;
  bool cancelled = false;
  std::set<grpc::ClientContext*> open;
};

ControlClient::ControlClient(const Endpoint& endpoint, std::string ticket)
    : impl_(std::make_unique<Impl>(endpoint, std::move(ticket))) {}
ControlClient::ControlClient(std::string host, Exchange* exchange)
    : impl_(std::make_unique<Impl>(std::move(host), exchange)) {}
ControlClient::~ControlClient() = default;

Exchange* ControlClient::exchange() const { return impl_->exchange; }

Exchange::Call ControlClient::CallOf(const google::protobuf::Message& request) {
  return {.method = MethodOf(request), .request = request.SerializeAsString()};
}

Status ControlClient::CallNow(const google::protobuf::Message& request, google::protobuf::MessageLite* reply,
                              Patience patience, uint64_t more_ns) {
  return impl_->CallNow(request, reply, SecondsOf(patience) + seconds(more_ns / 1'000'000'000));
}

Status ControlClient::Read(const Exchange::Call& call, google::protobuf::MessageLite* reply) {
  impl_->is_met = impl_->is_met || call.from_node;
  if (call.code == 0 && reply->ParseFromString(call.reply)) return {};
  if (call.code == 0) return {Code::kInternal, "profd at " + impl_->name + ": the answer cannot be read"};
  return impl_->Explain(
      {static_cast<grpc::StatusCode>(call.code), call.message, call.from_node ? "its own" : ""});
}

base::Result<v1::HelloReply> ControlClient::Hello() {
  if (impl_->exchange != nullptr) return v1::HelloReply();
  v1::HelloRequest request;
  request.set_protocol(base::kProtocolVersion);
  request.set_client_version(std::string("profctl ") + base::kVersion);
  v1::HelloReply reply;
  PROFD_RETURN_IF_ERROR(CallNow(request, &reply, Patience::kQuick, 0));
  if (reply.protocol() != base::kProtocolVersion) {
    return Status(Code::kUnavailable, "profd " + OneLine(reply.profd_version()) + " speaks protocol " +
                                          std::to_string(reply.protocol()) + ", profctl " + base::kVersion +
                                          " protocol " + std::to_string(base::kProtocolVersion) +
                                          ": install the same release on both sides");
  }
  return reply;
}

base::Result<ClockDistance> ControlClient::MeasureClock() {
  if (impl_->exchange != nullptr) return ClockDistance();  // whoever asks it does
  ClockDistance best{.ahead_ns = 0, .uncertainty_ns = UINT64_MAX};
  for (int i = 0; i < kClockLooks; ++i) {
    const uint64_t begin_wall_ns = base::WallNs();
    const uint64_t begin_ns = base::MonotonicNs();
    PROFD_ASSIGN_OR_RETURN(const v1::HelloReply reply, Hello());
    const uint64_t half_ns = (base::MonotonicNs() - begin_ns) / 2;
    if (reply.wall_ns() == 0)
      return Status(Code::kUnimplemented, impl_->name + ": an older profd tells no time");
    if (half_ns >= best.uncertainty_ns) continue;
    best.uncertainty_ns = half_ns;
    best.ahead_ns = static_cast<int64_t>(reply.wall_ns() - (begin_wall_ns + half_ns));
  }
  return best;
}

void ControlClient::Pause(uint64_t ns) {
  Exchange* const exchange = impl_->exchange;
  if (exchange == nullptr) return std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
  exchange->pause_ns = ns;
}

Asked<v1::SessionInfo> ControlClient::Plan(const v1::SessionSpec& spec) {
  v1::PlanRequest request;
  *request.mutable_spec() = spec;
  return Ask<v1::SessionInfo>(request, Patience::kSession);
}

Asked<v1::SessionInfo> ControlClient::Start(const v1::SessionSpec& spec, uint64_t wait_ns,
                                            const std::string& once) {
  v1::StartRequest request;
  request.set_once(once);
  *request.mutable_spec() = spec;
  request.set_wait_ns(wait_ns);
  return Ask<v1::SessionInfo>(request, Patience::kSession, wait_ns);
}

Asked<v1::StopReply> ControlClient::Stop(const v1::StopRequest& request) {
  return Ask<v1::StopReply>(request, Patience::kSession);
}

Asked<v1::SessionInfo> ControlClient::SetPaused(const std::string& session, bool paused) {
  v1::PauseRequest request;
  request.set_session(session);
  request.set_paused(paused);
  return Ask<v1::SessionInfo>(request, Patience::kSession);
}

Asked<v1::SessionInfo> ControlClient::Snapshot(const std::string& session, uint64_t last_ns) {
  v1::SnapshotRequest request;
  request.set_session(session);
  request.set_last_ns(last_ns);
  return Ask<v1::SessionInfo>(request, Patience::kSession);
}

Asked<v1::SessionInfo> ControlClient::Pin(const std::string& session, bool pinned) {
  v1::PinRequest request;
  request.set_session(session);
  request.set_pinned(pinned);
  return Ask<v1::SessionInfo>(request, Patience::kSession);
}

Asked<v1::SessionInfo> ControlClient::Remove(const std::string& session) {
  v1::RemoveRequest request;
  request.set_session(session);
  return Ask<v1::SessionInfo>(request, Patience::kSession);
}

Asked<v1::SessionInfo> ControlClient::Move(const std::string& session, const std::string& output) {
  v1::MoveRequest request;
  request.set_session(session);
  request.set_output(output);
  return Ask<v1::SessionInfo>(request, Patience::kCopy);
}

Status ControlClient::Fetch(const v1::FetchRequest& request,
                            const std::function<Status(const v1::FetchPiece&)>& on_piece) {
  Impl::Call call(*impl_);
  impl_->LimitStream(call, kCopy);
  const auto reader = impl_->stub->Fetch(&call.context, request);
  Status taken;
  bool answered = false;
  for (v1::FetchPiece piece; taken.ok() && reader->Read(&piece); answered = true) taken = on_piece(piece);
  if (!taken.ok()) call.context.TryCancel();
  const grpc::Status status = reader->Finish();
  return taken.ok() ? impl_->ExplainStream(status, answered) : taken;
}

Asked<v1::SessionInfo> ControlClient::Get(const std::string& session) {
  v1::GetRequest request;
  request.set_session(session);
  return Ask<v1::SessionInfo>(request, Patience::kQuick);
}

Asked<v1::ListReply> ControlClient::List() { return Ask<v1::ListReply>(v1::ListRequest(), Patience::kQuick); }

Asked<v1::DevicesReply> ControlClient::Devices() {
  return Ask<v1::DevicesReply>(v1::DevicesRequest(), Patience::kDriver);
}

Asked<v1::TargetsReply> ControlClient::Targets() {
  return Ask<v1::TargetsReply>(v1::TargetsRequest(), Patience::kDriver);
}

Asked<v1::StacksReply> ControlClient::Stacks(int32_t pid) {
  v1::StacksRequest request;
  request.set_pid(pid);
  return Ask<v1::StacksReply>(request, Patience::kDriver);
}

Asked<v1::Lease> ControlClient::AddLease(const v1::AddLeaseRequest& request) {
  return Ask<v1::Lease>(request, Patience::kQuick);
}

Asked<v1::Lease> ControlClient::RemoveLease(const std::string& lease) {
  v1::RemoveLeaseRequest request;
  request.set_lease(lease);
  return Ask<v1::Lease>(request, Patience::kQuick);
}

Asked<v1::ListLeasesReply> ControlClient::ListLeases() {
  return Ask<v1::ListLeasesReply>(v1::ListLeasesRequest(), Patience::kQuick);
}

Asked<v1::DoctorReply> ControlClient::Doctor(int32_t pid) {
  v1::DoctorRequest request;
  request.set_pid(pid);
  return Ask<v1::DoctorReply>(request, Patience::kDriver);
}

base::Result<v1::SessionInfo> ControlClient::Watch(
    const std::string& session, uint32_t period_ms,
    const std::function<void(const v1::SessionInfo&)>& on_value) {
  v1::WatchRequest request;
  request.set_session(session);
  request.set_period_ms(period_ms);
  Impl::Call call(*impl_);
  impl_->LimitStream(call, kEver);
  const auto stream = impl_->stub->Watch(&call.context, request);
  v1::SessionInfo newest;
  bool answered = false;
  for (; stream->Read(&newest); answered = true) on_value(newest);
  PROFD_RETURN_IF_ERROR(impl_->ExplainStream(stream->Finish(), answered));
  return newest;
}

Status ControlClient::Live(const v1::LiveRequest& request,
                           const std::function<bool(const v1::LiveValues&)>& on_values) {
  Impl::Call call(*impl_);
  impl_->LimitStream(call, kEver);
  const auto stream = impl_->stub->Live(&call.context, request);
  bool answered = false;
  for (v1::LiveValues values; stream->Read(&values); answered = true) {
    if (on_values(values)) continue;
    call.context.TryCancel();
    static_cast<void>(stream->Finish());
    return Status::Ok();
  }
  return impl_->ExplainStream(stream->Finish(), answered);
}

Status ControlClient::Relay(const v1::RelayRequest& request, uint64_t deadline_ns,
                            const std::function<void(v1::RelayAnswer&)>& on_answer) {
  Impl::Call call(*impl_);
  const uint64_t now_ns = base::MonotonicNs();
  call.context.set_deadline(std::chrono::system_clock::now() +
                            std::chrono::nanoseconds(deadline_ns > now_ns ? deadline_ns - now_ns : 0));
  const auto stream = v1::Relay::NewStub(impl_->channel)->Ask(&call.context, request);
  for (v1::RelayAnswer answer; stream->Read(&answer);) {
    on_answer(answer);
    for (v1::RelayAnswer& other : *answer.mutable_others()) on_answer(other);
  }
  const grpc::Status status = stream->Finish();
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return {Code::kUnimplemented, "profd there asks no other nodes (remote.relay)"};
  }
  return status.ok() ? Status::Ok() : impl_->Explain(status);
}

void ControlClient::CancelAll() {
  const std::lock_guard lock(impl_->mutex);
  impl_->cancelled = true;
  for (grpc::ClientContext* context : impl_->open) context->TryCancel();
}

}  // namespace profd::client
