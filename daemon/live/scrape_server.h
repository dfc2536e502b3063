// The HTTP side of Prometheus: GET /metrics, one answer per connection. Small on purpose, since whoever
// reaches the address may send anything: bounded in connections, bytes and time, on ctl, without a thread.
// prometheus-cpp's own server (civetweb) has threads, and none of these bounds.
// Who comes is always let in: when there are too many, the oldest goes of the address that has most.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/unique_fd.h"
#include "daemon/auth/door/listener.h"
#include "daemon/base/executor.h"

namespace profd::live {

// What to answer to the head of a request (it has its empty line), whatever it is; `text` makes the values.
std::string AnswerToScrape(std::string_view request, const std::function<std::string()>& text);

// **Thread:** ctl.
class ScrapeServer {
 public:
  // `address`: metrics.listen; port 0: any. `text` makes the answer.
  static base::Result<std::unique_ptr<ScrapeServer>> Start(const std::string& address, base::Executor& ctl,
                                                           std::function<std::string()> text);
  ~ScrapeServer();
  ScrapeServer(const ScrapeServer&) = delete;
  ScrapeServer& operator=(const ScrapeServer&) = delete;

  const std::string& address() const { return address_; }  // with the port it has

 private:
  struct Connection {
    base::UniqueFd socket;
    std::string from;
    std::string request, reply;
    size_t sent = 0;
    base::Executor::WatchId watch = 0;
    base::Executor::TimerId timer = 0;
  };

  ScrapeServer(base::Executor& ctl, std::function<std::string()> text) : ctl_(ctl), text_(std::move(text)) {}

  void Admit(base::UniqueFd socket);
  void MakeRoom();
  void Receive(uint64_t id);
  void Send(uint64_t id);
  void Close(uint64_t id);

  std::string address_;
  base::Executor& ctl_;
  const std::function<std::string()> text_;
  std::unique_ptr<auth::Listener> listener_;
  uint64_t next_id_ = 1;
  std::map<uint64_t, Connection> connections_;
};

}  // namespace profd::live
