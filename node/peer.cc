#include "node/peer.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/version.h"
#include "node/clock_labels.h"
#include "profd/v1/control.pb.h"

namespace profd::node {

namespace {

constexpr int kClockLooks = 5;
constexpr int kMaxReplyBytes = 64 << 20;  // all targets of a full node

grpc::ByteBuffer BufferOf(const std::string& text) {
  const grpc::Slice slice(text);
  return {&slice, 1};
}

std::string TextOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!buffer.Dump(&slices).ok()) return text;
  for (const grpc::Slice& slice : slices)
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& host,
                                         const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetMaxReceiveMessageSize(kMaxReplyBytes);
  return grpc::CreateCustomChannel("dns:///" + host, credentials, arguments);
}

// What the label says already, and `more`.
void AddTo(google::protobuf::Map<std::string, std::string>* labels, const char* key, int64_t more) {
  std::string& value = (*labels)[key];
  value = std::to_string(std::strtoll(value.c_str(), nullptr, 10) + more);
}

}  // namespace

Credentials Credentials::Tls(const std::string& ca, const std::string& cert, const std::string& key) {
  Credentials made;
  made.credentials_ =
      grpc::SslCredentials({.pem_root_certs = ca, .pem_private_key = key, .pem_cert_chain = cert});
  return made;
}

Credentials Credentials::None() {
  Credentials made;
  made.credentials_ = grpc::InsecureChannelCredentials();
  return made;
}

class Peer::Impl {
 public:
  Impl(const std::string& host, const std::shared_ptr<grpc::ChannelCredentials>& credentials)
      : stub_(ChannelTo(host, credentials)) {}

  void Ask(std::shared_ptr<Peer> self, const std::string& method, const std::string& request,
           uint64_t deadline_ns, Done done) {
    self_ = std::move(self);
    method_ = method;
    request_ = request;
    done_ = std::move(done);
    const uint64_t now_ns = base::MonotonicNs();
    deadline_ = std::chrono::system_clock::now() +
                std::chrono::nanoseconds(deadline_ns > now_ns ? deadline_ns - now_ns : 0);
    v1::StartRequest start;
    looks_left_ = is_known_ ? 0 : 1;
    if (method == "Start" && start.ParseFromString(request) && start.spec().at_wall_ns() != 0) {
      looks_left_ = kClockLooks;
      uncertainty_ns_ = UINT64_MAX;
    }
    Next();
  }

  void Cancel() {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    if (context_ != nullptr) context_->TryCancel();
  }

 private:
  void Next() {
    if (looks_left_ > 0) return Look();
    if (uncertainty_ns_ != UINT64_MAX) SetInstant();
    Call(method_, request_, [this](const grpc::Status& status) { Answer(status); });
  }

  void Call(const std::string& method, const std::string& request,
            std::function<void(const grpc::Status&)> then) {
    {
      const std::lock_guard lock(mutex_);
      context_ = std::make_unique<grpc::ClientContext>();
      context_->set_deadline(deadline_);
      if (cancelled_) context_->TryCancel();
    }
    sent_ = BufferOf(request);
    got_.Clear();
    stub_.UnaryCall(context_.get(), "/profd.v1.Control/" + method, {}, &sent_, &got_, std::move(then));
  }

  void Look() {
    v1::HelloRequest hello;
    hello.set_protocol(base::kProtocolVersion);
    hello.set_client_version(std::string("profd ") + base::kVersion);
    const uint64_t begin_wall_ns = base::WallNs(), begin_ns = base::MonotonicNs();
    Call("Hello", hello.SerializeAsString(), [this, begin_wall_ns, begin_ns](const grpc::Status& status) {
      const uint64_t half_ns = (base::MonotonicNs() - begin_ns) / 2;
      v1::HelloReply reply;
      if (!status.ok()) return Answer(status);
      if (!reply.ParseFromString(TextOf(got_)) || reply.protocol() != base::kProtocolVersion) {
        return Answer({grpc::StatusCode::UNAVAILABLE,
                       "profd there speaks protocol " + std::to_string(reply.protocol()) + ", profd " +
                           base::kVersion + " protocol " + std::to_string(base::kProtocolVersion) +
                           ": install the same release on all nodes",
                       "its own"});
      }
      is_known_ = true;
      if (half_ns < uncertainty_ns_ && method_ == "Start") {
        uncertainty_ns_ = half_ns;
        ahead_ns_ = static_cast<int64_t>(reply.wall_ns() - (begin_wall_ns + half_ns));
      }
      --looks_left_;
      Next();
    });
  }

  void SetInstant() {
    v1::StartRequest start;
    start.ParseFromString(request_);
    v1::SessionSpec& spec = *start.mutable_spec();
    if (spec.at_wall_ns() != 0) {
      spec.set_at_wall_ns(spec.at_wall_ns() + static_cast<uint64_t>(ahead_ns_));
      AddTo(spec.mutable_labels(), kClockAhead, ahead_ns_);
      AddTo(spec.mutable_labels(), kClockUncertainty, static_cast<int64_t>(uncertainty_ns_));
    }
    uncertainty_ns_ = UINT64_MAX;
    request_ = start.SerializeAsString();
  }

  void Answer(const grpc::Status& status) {
    Reply reply;
    reply.code = static_cast<uint32_t>(status.error_code());
    reply.message = status.error_message();
    reply.from_node = status.ok() || !status.error_details().empty();
    if (status.ok()) reply.bytes = TextOf(got_);
    const Done done = std::exchange(done_, nullptr);
    // Before the answer, so that who waits for it has the last reference: with the last channel gRPC ends its
    // threads, and this is one of them. Nothing of this peer may be touched any more.
    std::exchange(self_, nullptr).reset();
    done(std::move(reply));
  }

  grpc::GenericStub stub_;
  bool is_known_ = false;  // has said hello

  // Of the call under way.
  std::shared_ptr<Peer> self_;
  std::string method_, request_;
  Done done_;
  std::chrono::system_clock::time_point deadline_;
  grpc::ByteBuffer sent_, got_;
  int looks_left_ = 0;
  int64_t ahead_ns_ = 0;
  uint64_t uncertainty_ns_ = UINT64_MAX;

  std::mutex mutex_;  // all below
  bool cancelled_ = false;
  std::unique_ptr<grpc::ClientContext> context_;
};

Peer::Peer(const std::string& host, const Credentials& credentials)
    : impl_(std::make_unique<Impl>(host, credentials.credentials_)) {}
Peer::~Peer() = default;

void Peer::Ask(const std::string& method, const std::string& request, uint64_t deadline_ns, Done done) {
  impl_->Ask(shared_from_this(), method, request, deadline_ns, std::move(done));
}

void Peer::Cancel() { impl_->Cancel(); }

}  // namespace profd::node
