// The HTTP side of Prometheus: GET /metrics, one answer per connection. Small on purpose, since whoever
// reaches the address may send anything: bounded in connections, bytes and time, on ctl, without a thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/status.h"
#include "base/unique_fd.h"
#include "daemon/base/executor.h"

namespace profd::live {

// **Thread:** ctl.
class ScrapeServer {
 public:
  // `address` "127.0.0.1:9477", "[::1]:9477"; port 0: any. `text` makes the answer.
  static base::Result<std::unique_ptr<ScrapeServer>> Start(const std::string& address, base::Executor& ctl,
                                                           std::function<std::string()> text);
  ~ScrapeServer();
  ScrapeServer(const ScrapeServer&) = delete;
  ScrapeServer& operator=(const ScrapeServer&) = delete;

  const std::string& address() const { return address_; }  // with the port it has

 private:
  struct Connection {
    base::UniqueFd socket;
    std::string request, reply;
    size_t sent = 0;
    base::Executor::WatchId watch = 0;
    base::Executor::TimerId timer = 0;
  };

  ScrapeServer(base::UniqueFd listener, std::string address, base::Executor& ctl,
               std::function<std::string()> text);

  void Listen();
  bool Accept();
  void Receive(uint64_t id);
  void Send(uint64_t id);
  void Close(uint64_t id);
  std::string Answer(const std::string& request) const;

  const base::UniqueFd listener_;
  const std::string address_;
  base::Executor& ctl_;
  const std::function<std::string()> text_;
  base::Executor::WatchId watch_ = 0;
  base::Executor::TimerId retry_ = 0;
  bool listening_ = false;
  uint64_t next_id_ = 1;
  std::map<uint64_t, Connection> connections_;
};

}  // namespace profd::live
