#include "remote/etcd.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <sstream>

#include "base/host_port.h"
#include "etcd/rpc.grpc.pb.h"

namespace profd::remote {

namespace etcd = etcdserverpb;
using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr std::chrono::seconds kPatience{3};  // of one endpoint
constexpr int64_t kPage = 1000;
constexpr char kTls[] = "https://", kPlain[] = "http://";

// The least text that is greater than all that begin with `prefix`.
std::string EndOf(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  if (prefix.empty()) return std::string(1, '\0');  // etcd's word for: to the last key
  ++prefix.back();
  return prefix;
}

struct Address {
  std::string name;  // HOST:PORT
  bool has_tls = false;
};

Result<std::vector<Address>> Addresses(const std::string& endpoints) {
  std::vector<Address> addresses;
  std::istringstream items(endpoints);
  for (std::string item; std::getline(items, item, ',');) {
    const size_t begin = item.find_first_not_of(' ');
    std::string name =
        begin == std::string::npos ? "" : item.substr(begin, item.find_last_not_of(' ') + 1 - begin);
    const bool has_tls = name.starts_with(kTls);
    for (const std::string scheme : {kTls, kPlain}) {
      if (name.starts_with(scheme)) name = name.substr(scheme.size());
    }
    PROFD_RETURN_IF_ERROR(base::ParseHostPort(name).status().In("etcd"));
    addresses.push_back({std::move(name), has_tls});
  }
  if (addresses.empty()) return Status(Code::kInvalidArgument, "etcd: no HOST:PORT");
  return addresses;
}

}  // namespace

class Etcd::Impl {
 public:
  struct Endpoint {
    std::string name;
    std::shared_ptr<grpc::Channel> channel;
  };

  // Asks the endpoint that answered last, else the others; the error is that of the last one.
  Status Ask(
      const std::function<grpc::Status(const std::shared_ptr<grpc::Channel>&, grpc::ClientContext*)>& call) {
    Status status;
    for (size_t i = 0; i < endpoints.size(); ++i) {
      const Endpoint& endpoint = endpoints[current];
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + kPatience);
      {
        const std::lock_guard lock(mutex);
        under_way = &context;
      }
      const grpc::Status said = call(endpoint.channel, &context);
      {
        const std::lock_guard lock(mutex);
        under_way = nullptr;
      }
      if (said.ok()) return {};
      status = {static_cast<Code>(said.error_code()),
                "etcd at " + endpoint.name + ": " + said.error_message()};
      if (status.code() != Code::kUnavailable && status.code() != Code::kDeadlineExceeded) return status;
      current = (current + 1) % endpoints.size();
    }
    return status;
  }

  std::vector<Endpoint> endpoints;
  size_t current = 0;

  std::mutex mutex;  // all below
  grpc::ClientContext* under_way = nullptr;
};

Etcd::Etcd(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Etcd::~Etcd() = default;

Status Etcd::Check(const std::string& endpoints) { return Addresses(endpoints).status(); }

Result<std::unique_ptr<Etcd>> Etcd::Open(const std::string& endpoints, const Credentials& credentials) {
  PROFD_ASSIGN_OR_RETURN(const std::vector<Address> addresses, Addresses(endpoints));
  auto impl = std::make_unique<Impl>();
  for (const Address& address : addresses) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
    impl->endpoints.push_back(
        {address.name,
         grpc::CreateCustomChannel(
             "dns:///" + address.name,
             address.has_tls ? credentials.credentials_ : grpc::InsecureChannelCredentials(), arguments)});
  }
  return std::unique_ptr<Etcd>(new Etcd(std::move(impl)));
}

Result<std::vector<std::pair<std::string, std::string>>> Etcd::List(const std::string& prefix) {
  std::vector<std::pair<std::string, std::string>> all;
  etcd::RangeRequest request;
  request.set_key(prefix.empty() ? std::string(1, '\0') : prefix);
  request.set_range_end(EndOf(prefix));
  request.set_limit(kPage);
  for (bool more = true; more;) {
    etcd::RangeResponse reply;
    PROFD_RETURN_IF_ERROR(impl_->Ask([&](const auto& channel, grpc::ClientContext* context) {
      return etcd::KV::NewStub(channel)->Range(context, request, &reply);
    }));
    for (const etcd::KeyValue& entry : reply.kvs()) all.emplace_back(entry.key(), entry.value());
    more = reply.more() && reply.kvs_size() > 0;
    if (more) request.set_key(all.back().first + '\0');
  }
  return all;
}

Result<int64_t> Etcd::Grant(uint64_t ttl_s) {
  etcd::LeaseGrantRequest request;
  request.set_ttl(static_cast<int64_t>(ttl_s));
  etcd::LeaseGrantResponse reply;
  PROFD_RETURN_IF_ERROR(impl_->Ask([&](const auto& channel, grpc::ClientContext* context) {
    return etcd::Lease::NewStub(channel)->LeaseGrant(context, request, &reply);
  }));
  if (!reply.error().empty()) return Status(Code::kInternal, "etcd grants no lease: " + reply.error());
  return reply.id();
}

Status Etcd::Put(const std::string& key, const std::string& value, int64_t lease) {
  etcd::PutRequest request;
  request.set_key(key);
  request.set_value(value);
  request.set_lease(lease);
  return impl_->Ask([&](const auto& channel, grpc::ClientContext* context) {
    etcd::PutResponse reply;
    return etcd::KV::NewStub(channel)->Put(context, request, &reply);
  });
}

Status Etcd::Keep(int64_t lease) {
  etcd::LeaseKeepAliveRequest request;
  request.set_id(lease);
  etcd::LeaseKeepAliveResponse reply;
  PROFD_RETURN_IF_ERROR(impl_->Ask([&](const auto& channel, grpc::ClientContext* context) -> grpc::Status {
    const auto stream = etcd::Lease::NewStub(channel)->LeaseKeepAlive(context);
    const bool answered = stream->Write(request) && stream->WritesDone() && stream->Read(&reply);
    const grpc::Status status = stream->Finish();
    return answered      ? grpc::Status::OK
           : status.ok() ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "no answer")
                         : status;
  }));
  return reply.ttl() > 0 ? Status::Ok() : Status(Code::kNotFound, "the lease is over");
}

Status Etcd::Revoke(int64_t lease) {
  etcd::LeaseRevokeRequest request;
  request.set_id(lease);
  return impl_->Ask([&](const auto& channel, grpc::ClientContext* context) {
    etcd::LeaseRevokeResponse reply;
    return etcd::Lease::NewStub(channel)->LeaseRevoke(context, request, &reply);
  });
}

void Etcd::Cancel() {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->under_way != nullptr) impl_->under_way->TryCancel();
}

}  // namespace profd::remote
