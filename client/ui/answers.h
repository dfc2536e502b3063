// What the page of `profctl ui` may ask: sessions and live values of this node's profd, and what the recorded
// directories say, all with the rights of the user who started it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.h"
#include "client/node/connection.h"
#include "client/ui/server.h"

namespace profd::ui {

// **Thread:** any. **Owns:** the connection to profd, made anew when profd has been away.
class Answers {
 public:
  explicit Answers(client::Context context) : context_(std::move(context)) {}

  Answer To(const Question& question);

 private:
  using Control = std::shared_ptr<client::Connection>;
  base::Result<Control> Connected();
  // What `ask` answers; a connection that is gone is made anew, once.
  template <typename Reply>
  base::Result<Reply> Ask(const std::function<base::Result<Reply>(client::ControlClient&)>& ask);

  base::Result<std::string> Read(const std::string& path);                         // GET api/…
  base::Result<std::string> Do(const std::string& path, const std::string& body);  // POST api/…
  base::Result<std::string> Node();
  base::Result<std::string> Live();
  base::Result<std::string> Start(const std::string& body);
  base::Result<std::string> Stop(const std::string& body);
  base::Result<v1::SessionInfo> Session(const std::string& session);
  base::Result<std::string> Findings(const std::string& session);
  // `before`: the session that it is put beside, or "".
  base::Result<std::string> Report(const std::string& session, const std::string& before);
  base::Result<std::string> Timeline(const std::string& session);

  const client::Context context_;
  std::mutex mutex_;
  Control connection_;
  std::map<std::string, std::string> findings_;  // of sessions that have ended
  std::mutex heavy_;                             // one analysis at a time: each may take memory
};

}  // namespace profd::ui
