// Another node's profd, asked without waiting: many at once cost no threads. No gRPC in this header.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace grpc {
class ChannelCredentials;
}

namespace profd::remote {

class Etcd;
class Peer;
class Ways;

// What both sides show; texts of PEM files.
class Credentials {
 public:
  static Credentials Tls(const std::string& ca, const std::string& cert, const std::string& key);
  static Credentials None();  // loopback

 private:
  friend class Etcd;
  friend class Peer;
  friend class Ways;
  std::shared_ptr<grpc::ChannelCredentials> credentials_;
};

struct Reply {
  uint32_t code = 0;  // gRPC's
  std::string message = {};
  bool from_node = false;  // the status is profd's own word; else of the way to it
  std::string bytes = {};  // the method's reply
};

// **Thread:** any; one call at a time. **Owns:** the connection; itself while a call is under way.
class Peer : public std::enable_shared_from_this<Peer> {
 public:
  Peer(const std::string& host, const Credentials& credentials);
  // By a connection of `ways` where one is there. Whether it still leads to the node shows the look at the
  // protocol, which then has two seconds: else a new one is made.
  Peer(const std::string& host, std::shared_ptr<Ways> ways);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Calls a method of Control with a serialized request; `done` runs on a thread of gRPC's. The first call
  // looks whether the two speak the same protocol. A Start's instant is by this node's clock: a few looks at
  // the peer's turn it into one by that, and the labels clock_ahead_ns and clock_uncertainty_ns grow by what
  // they found.
  using Done = std::function<void(Reply)>;
  void Ask(const std::string& method, const std::string& request, uint64_t deadline_ns, Done done);
  // Ends the call under way, and every later one, soon.
  void Cancel();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace profd::remote
