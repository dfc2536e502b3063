#include "remote/peer.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/version.h"
#include "profd/v1/control.pb.h"
#include "remote/clock_labels.h"
#include "remote/ways.h"

namespace profd::remote {

namespace {

constexpr int kClockLooks = 5;
constexpr std::chrono::seconds kKeptPatience{2};

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
  Impl(const std::string& host, const Credentials& credentials) { Take(Ways::Make(host, credentials)); }
  Impl(std::string host, std::shared_ptr<Ways> ways) : host_(std::move(host)), ways_(std::move(ways)) {
    std::shared_ptr<grpc::Channel> kept = ways_->Find(host_);
    is_kept_ = kept != nullptr;
    Take(is_kept_ ? std::move(kept) : ways_->Make(host_));
  }

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
  using Deadline = std::chrono::system_clock::time_point;

  void Take(std::shared_ptr<grpc::Channel> channel) {
    channel_ = std::move(channel);
    stub_.emplace(channel_);
  }

  void Next() {
    if (looks_left_ > 0) return Look();
    if (uncertainty_ns_ != UINT64_MAX) SetInstant();
    Call(method_, request_, deadline_, [this](const grpc::Status& status) { Answer(status); });
  }

  void Call(const std::string& method, const std::string& request, Deadline deadline,
            std::function<void(const grpc::Status&)> then) {
    {
      const std::lock_guard lock(mutex_);
      context_ = std::make_unique<grpc::ClientContext>();
      context_->set_deadline(deadline);
      if (cancelled_) context_->TryCancel();
    }
    sent_ = BufferOf(request);
    got_.Clear();
    stub_->UnaryCall(context_.get(), "/profd.v1.Control/" + method, {}, &sent_, &got_, std::move(then));
  }

  void Look() {
    v1::HelloRequest hello;
    hello.set_protocol(base::kProtocolVersion);
    hello.set_client_version(std::string("profd ") + base::kVersion);
    const uint64_t begin_wall_ns = base::WallNs(), begin_ns = base::MonotonicNs();
    const Deadline deadline =
        is_kept_ ? std::min(deadline_, std::chrono::system_clock::now() + kKeptPatience) : deadline_;
    Call("Hello", hello.SerializeAsString(), deadline,
         [this, begin_wall_ns, begin_ns](const grpc::Status& status) {
           const uint64_t half_ns = (base::MonotonicNs() - begin_ns) / 2;
           if (!status.ok() && is_kept_ && !IsOfNode(status)) return LookAgain();
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

  // The node may have begun anew since it was asked last, or the way there.
  void LookAgain() {
    ways_->Drop(host_, channel_);
    is_kept_ = false;
    lost_ = channel_;
    Take(ways_->Make(host_));
    Look();
  }

  static bool IsOfNode(const grpc::Status& status) { return status.ok() || !status.error_details().empty(); }

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
    reply.from_node = IsOfNode(status);
    if (status.ok()) reply.bytes = TextOf(got_);
    if (ways_ != nullptr && reply.from_node) ways_->Keep(host_, channel_);
    if (ways_ != nullptr && !reply.from_node) ways_->Drop(host_, channel_);
    const Done done = std::exchange(done_, nullptr);
    // Before the answer, so that who waits for it has the last reference: with the last channel gRPC ends its
    // threads, and this is one of them. Nothing of this peer may be touched any more.
    std::exchange(self_, nullptr).reset();
    done(std::move(reply));
  }

  const std::string host_;
  const std::shared_ptr<Ways> ways_;
  std::shared_ptr<grpc::Channel> channel_;
  std::optional<grpc::GenericStub> stub_;  // of channel_
  bool is_known_ = false;                  // has said hello
  bool is_kept_ = false;                   // channel_ was there before
  std::shared_ptr<grpc::Channel> lost_;    // as long as this: it may be gRPC's last one that was used

  // Of the call under way.
  std::shared_ptr<Peer> self_;
  std::string method_, request_;
  Done done_;
  Deadline deadline_;
  grpc::ByteBuffer sent_, got_;
  int looks_left_ = 0;
  int64_t ahead_ns_ = 0;
  uint64_t uncertainty_ns_ = UINT64_MAX;

  std::mutex mutex_;  // all below
  bool cancelled_ = false;
  std::unique_ptr<grpc::ClientContext> context_;
};

Peer::Peer(const std::string& host, const Credentials& credentials)
    : impl_(std::make_unique<Impl>(host, credentials)) {}
Peer::Peer(const std::string& host, std::shared_ptr<Ways> ways)
    : impl_(std::make_unique<Impl>(host, std::move(ways))) {}
Peer::~Peer() = default;

void Peer::Ask(const std::string& method, const std::string& request, uint64_t deadline_ns, Done done) {
  impl_->Ask(shared_from_this(), method, request, deadline_ns, std::move(done));
}

void Peer::Cancel() { impl_->Cancel(); }

}  // namespace profd::remote
