// File-system work that may block for as long as a stuck mount likes: on a thread of its own, answered on
// ctl, forgotten when profd stops first.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "base/status.h"
#include "daemon/base/executor.h"

namespace profd::base {

// **Thread:** ctl only.
class Aside {
 public:
  // Runs aside and must own what it touches; what it returns runs on ctl.
  using Work = std::function<std::function<void()>()>;
  using GivenUp = std::function<void(const Status&)>;

  static constexpr uint64_t kPatienceNs = 10'000'000'000;
  explicit Aside(Executor& ctl, uint64_t patience_ns = kPatienceNs);
  ~Aside();
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  // What waits for nothing but profd's own files and the kernel's.
  void Run(Work work);
  // As Run(), of work that has several answers: each runs on ctl, in their order.
  using Answer = std::function<void(std::function<void()>)>;
  void RunInParts(std::function<void(const Answer& answer)> work);
  // What may have to wait for files of `user`'s: so many at once, further ones take turns. Where there is no
  // answer in time `given_up` runs on ctl instead of what the work returns. The work itself cannot be taken
  // back; what it holds goes with it.
  // `patience_ns`: 0 is this one's own.
  void RunFor(uid_t user, Work work, GivenUp given_up, uint64_t patience_ns = 0);
  // So much waits for files of this user's already that RunFor() would do nothing more.
  bool IsStuck(uid_t user) const;

 private:
  struct Box;
  struct Errand;
  static void Serve(const std::shared_ptr<Box>& box, uid_t user, std::shared_ptr<Errand> errand);

  Executor& ctl_;
  const uint64_t patience_ns_;
  const std::shared_ptr<Box> box_;
};

}  // namespace profd::base
