// Which program a process runs. A process that executes another one can keep whoever asks waiting, for as
// long as it has its memory locked: so a thread asks, and nobody waits for it for long.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "daemon/base/executor.h"

namespace profd::auth {

// **Thread:** ctl. **Owns:** the threads "programs", four while there is much to ask, more while some hang.
class Programs {
 public:
  using PathOf = std::function<std::string(pid_t)>;  // any thread; it may take its time
  explicit Programs(base::Executor& ctl, PathOf path_of = ExecutableOf);
  ~Programs();
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

  // `then` runs on ctl, with the path; with the name alone where there is no answer in a second, or while two
  // threads hang for this user. Of each user one process is asked for at a time. May be dropped with this.
  void Ask(uid_t user, pid_t pid, std::function<void(std::string)> then);

 private:
  struct Question;
  struct Shared;
  static std::string ExecutableOf(pid_t pid);
  static void Wake(const std::shared_ptr<Shared>& shared);
  static void GiveUp(const std::shared_ptr<Shared>& shared, Question& question);
  static void Serve(const std::shared_ptr<Shared>& shared);

  base::Executor& ctl_;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace profd::auth
