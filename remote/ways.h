// Connections to nodes, kept for whoever asks them next: making one costs forty times what a call does. No
// gRPC in this header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "remote/peer.h"

namespace grpc {
class Channel;
}

namespace profd::remote {

// **Thread:** any. **Owns:** the connections it keeps, of `most` nodes, until they have been unused for five
// minutes; calls share them.
class Ways {
 public:
  Ways(Credentials credentials, size_t most) : credentials_(std::move(credentials)), most_(most) {}
  Ways(const Ways&) = delete;
  Ways& operator=(const Ways&) = delete;

  // Connects with its first call. Never one of those that are kept.
  static std::shared_ptr<grpc::Channel> Make(const std::string& host, const Credentials& credentials);
  std::shared_ptr<grpc::Channel> Make(const std::string& host) const { return Make(host, credentials_); }

  // nullptr: none is kept.
  std::shared_ptr<grpc::Channel> Find(const std::string& host);
  // The node has answered by it just now.
  void Keep(const std::string& host, const std::shared_ptr<grpc::Channel>& channel);
  // It leads nowhere.
  void Drop(const std::string& host, const std::shared_ptr<grpc::Channel>& channel);

 private:
  struct Way {
    std::shared_ptr<grpc::Channel> channel;
    uint64_t used_ns = 0;
  };

  const Credentials credentials_;
  const size_t most_;
  std::mutex mutex_;
  std::unordered_map<std::string, Way> kept_;  // under mutex_
};

}  // namespace profd::remote
