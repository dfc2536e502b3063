// ctl: the one thread that owns all control state. Asio's io_context behind the few calls the rest needs, so
// that only this file's implementation compiles Asio.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "daemon/base/timers.h"

namespace profd::base {

class Executor : public Timers {
 public:
  using TimerId = Id;

  Executor();
  ~Executor() override;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Runs until Stop(), on the calling thread, which is ctl from then on.
  void Run();
  void Stop();  // any thread

  // Any thread: `work` runs on ctl, in the order posted.
  void Post(std::function<void()> work);
  Id After(uint64_t delay_ns, std::function<void()> work) override;
  void Cancel(Id id) override;
  uint64_t WallNs() const override;
  uint64_t RawNs() const override;
  // ctl only. Calls `ready` once when `fd` (not owned, e.g. a pidfd) becomes readable; Unwatch before closing
  // it.
  using WatchId = uint64_t;
  WatchId WatchReadable(int fd, std::function<void()> ready);
  // The same for room to write.
  WatchId WatchWritable(int fd, std::function<void()> ready);
  void Unwatch(WatchId id);
  // ctl only, once per process: SIGTERM and SIGINT call `on_stop`, SIGHUP calls `on_reload`.
  void HandleSignals(std::function<void(int)> on_stop, std::function<void()> on_reload);

  bool OnCtl() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace profd::base
