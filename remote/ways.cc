#include "remote/ways.h"

#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include "base/clock.h"

namespace profd::remote {

namespace {

constexpr int kMaxReplyBytes = 64 << 20;  // all targets of a full node
constexpr int kIdleMs = 300'000;          // as profd, which lets go of connections then
constexpr uint64_t kKeptNs = uint64_t{kIdleMs} * 1'000'000;

}  // namespace

std::shared_ptr<grpc::Channel> Ways::Make(const std::string& host, const Credentials& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_CLIENT_IDLE_TIMEOUT_MS, kIdleMs);
  // Else gRPC would give it the connection of another channel to the node, and how long that one waits.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(kMaxReplyBytes);
  return grpc::CreateCustomChannel("dns:///" + host, credentials.credentials_, arguments);
}

std::shared_ptr<grpc::Channel> Ways::Find(const std::string& host) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(host);
  return found == kept_.end() ? nullptr : found->second.channel;
}

void Ways::Keep(const std::string& host, const std::shared_ptr<grpc::Channel>& channel) {
  const uint64_t now_ns = base::MonotonicNs();
  const std::lock_guard lock(mutex_);
  if (kept_.size() >= most_ && !kept_.contains(host)) {
    std::erase_if(kept_, [now_ns](const auto& way) { return now_ns - way.second.used_ns > kKeptNs; });
    if (kept_.size() >= most_) return;
  }
  Way& way = kept_[host];
  if (way.channel == nullptr) way.channel = channel;
  way.used_ns = now_ns;
}

void Ways::Drop(const std::string& host, const std::shared_ptr<grpc::Channel>& channel) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(host);
  if (found != kept_.end() && found->second.channel == channel) kept_.erase(found);
}

}  // namespace profd::remote
