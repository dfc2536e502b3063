// Starts that may be asked for twice, because an answer got lost on its way: StartRequest.once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/session/plan/types.h"

namespace profd::rpc {

// **Thread:** ctl.
class Once {
 public:
  using Done = std::function<void(const base::Result<session::SessionInfo>&)>;

  // Calls `start` unless one with this id is under way or has started a session: then `done` gets that, of
  // what is long over its id alone. One that failed is forgotten.
  void Start(const std::string& id, Done done, const std::function<void(Done)>& start) {
    Forget();
    const auto [at, is_new] = known_->try_emplace(id);
    Known& known = at->second;
    if (known.session) return done(*known.session);
    known.waiting.push_back(std::move(done));
    if (!is_new) return;
    start([all = known_, id](const base::Result<session::SessionInfo>& result) {
      Known& mine = (*all)[id];
      const std::vector<Done> waiting = std::exchange(mine.waiting, {});
      mine.at_ns = base::MonotonicNs();
      if (result.ok()) {
        session::SessionInfo kept;
        kept.id = result->id;
        mine.session = std::make_unique<base::Result<session::SessionInfo>>(std::move(kept));
      } else {
        all->erase(id);
      }
      for (const Done& one : waiting) one(result);
    });
  }

 private:
  static constexpr uint64_t kKeepNs = 600'000'000'000;
  struct Known {
    std::vector<Done> waiting;
    std::unique_ptr<base::Result<session::SessionInfo>> session;
    uint64_t at_ns = 0;
  };
  using All = std::map<std::string, Known>;

  void Forget() {
    const uint64_t now_ns = base::MonotonicNs();
    std::erase_if(*known_, [now_ns](const All::value_type& one) {
      return one.second.session != nullptr && now_ns - one.second.at_ns > kKeepNs;
    });
  }

  // Shared: a start that ends with the manager may end after the service.
  const std::shared_ptr<All> known_ = std::make_shared<All>();
};

}  // namespace profd::rpc
