// What users want, in turns: of each user one thing after the other, and between two of one user's one of
// every other's. Whoever wants much waits for himself.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <unordered_map>
#include <utility>

namespace profd::base {

// **Thread:** one at a time.
template <typename Thing>
class Turns {
 public:
  void Add(uid_t user, Thing thing) {
    std::deque<Thing>& own = waiting_[user];
    if (own.empty()) order_.push_back(user);
    own.push_back(std::move(thing));
  }

  bool empty() const { return order_.empty(); }
  size_t users() const { return order_.size(); }  // that wait
  size_t Of(uid_t user) const {
    const auto found = waiting_.find(user);
    return found == waiting_.end() ? 0 : found->second.size();
  }

  // There is one.
  Thing Next() {
    const uid_t user = order_.front();
    order_.pop_front();
    const auto own = waiting_.find(user);
    Thing thing = std::move(own->second.front());
    own->second.pop_front();
    if (own->second.empty()) {
      waiting_.erase(own);
    } else {
      order_.push_back(user);
    }
    return thing;
  }

 private:
  std::unordered_map<uid_t, std::deque<Thing>> waiting_;  // none is empty
  std::deque<uid_t> order_;                               // each of those once, the next first
};

}  // namespace profd::base
