// HTTP for one user on loopback. Whoever reaches the port is on this machine, but need not be that user:
// other users' connections are closed, as far as the kernel tells whose they are, and every address begins
// with a secret that only he was told.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"

namespace profd::ui {

struct Question {
  bool is_post = false;
  std::string path = {};  // behind the secret, without "/" in front: "", "ui.js", "api/sessions"
  std::string body;       // of a POST: JSON
};

struct Answer {
  unsigned status = 200;
  std::string type = "application/json";
  std::string body = {};
  std::string file_name = {};  // not empty: it is saved under this name
  bool foreign = false;        // a page that is not ours: it gets no way to ours
};

// **Thread:** Run() on one, Stop() on any; `answer` is called on many. **Owns:** the port, a thread for each
// connection.
class Server {
 public:
  using Handler = std::function<Answer(const Question&)>;

  // On 127.0.0.1; `port` 0: one that is free.
  static base::Result<std::unique_ptr<Server>> Listen(uint16_t port, Handler answer);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  uint16_t port() const;
  // "http://127.0.0.1:PORT/SECRET/"
  std::string address() const;
  // Until Stop().
  void Run();
  void Stop();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace profd::ui
