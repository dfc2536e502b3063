// A cluster of etcd, as far as a register of nodes needs it. No gRPC in this header. Its own .proto, since
// etcd publishes no client for C++, Debian has none, and gRPC is here already.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "remote/peer.h"

namespace profd::remote {

// **Thread:** one at a time; calls block for a few seconds at most.
class Etcd {
 public:
  // `endpoints`: "etcd1:2379,etcd2:2379", or each with https:// in front, which takes `credentials`.
  static base::Status Check(const std::string& endpoints);
  static base::Result<std::unique_ptr<Etcd>> Open(const std::string& endpoints,
                                                  const Credentials& credentials);
  ~Etcd();
  Etcd(const Etcd&) = delete;
  Etcd& operator=(const Etcd&) = delete;

  // Every key that begins with `prefix`, and its value, in the order of the keys.
  base::Result<std::vector<std::pair<std::string, std::string>>> List(const std::string& prefix);
  // A lease that ends `ttl_s` after it was last kept; the keys put with it go then.
  base::Result<int64_t> Grant(uint64_t ttl_s);
  base::Status Put(const std::string& key, const std::string& value, int64_t lease);
  // kNotFound: it is over.
  base::Status Keep(int64_t lease);
  base::Status Revoke(int64_t lease);
  // Any thread: the call under way ends now.
  void Cancel();

 private:
  class Impl;
  explicit Etcd(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace profd::remote
