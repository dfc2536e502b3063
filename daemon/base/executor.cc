#include "daemon/base/executor.h"

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "base/threads/thread.h"

namespace profd::base {

namespace asio = boost::asio;

namespace {
// What runs on ctl may be long, at a start and an end, and the jobs that are recorded wait for the same
// cores.
constexpr uint64_t kSliceNs = 200'000;
}  // namespace

class Executor::Impl {
 public:
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{asio::make_work_guard(context)};
  std::unordered_map<TimerId, asio::steady_timer> timers;
  std::unordered_map<WatchId, asio::posix::stream_descriptor> watches;
  asio::signal_set stop_signals{context};
  asio::signal_set reload_signals{context};
  uint64_t next_id = 1;
  std::atomic<std::thread::id> ctl{};

  WatchId Watch(Executor& executor, int fd, asio::posix::stream_descriptor::wait_type what,
                std::function<void()> ready) {
    const WatchId id = next_id++;
    auto [it, inserted] = watches.try_emplace(id, context, fd);
    it->second.async_wait(what,
                          [this, &executor, id, ready = std::move(ready)](boost::system::error_code error) {
                            if (error || !watches.contains(id)) return;
                            executor.Unwatch(id);
                            ready();
                          });
    return id;
  }
  void AwaitStop(std::function<void(int)> on_stop) {
    stop_signals.async_wait([this, on_stop](boost::system::error_code error, int signal) {
      if (error) return;
      on_stop(signal);
      AwaitStop(on_stop);
    });
  }
  void AwaitReload(std::function<void()> on_reload) {
    reload_signals.async_wait([this, on_reload](boost::system::error_code error, int) {
      if (error) return;
      on_reload();
      AwaitReload(on_reload);
    });
  }
};

Executor::Executor() : impl_(std::make_unique<Impl>()) {}
Executor::~Executor() = default;

void Executor::Run() {
  base::PreferShortSlices(kSliceNs);
  impl_->ctl.store(std::this_thread::get_id());
  impl_->context.run();
}

void Executor::Stop() { impl_->context.stop(); }

void Executor::Post(std::function<void()> work) { asio::post(impl_->context, std::move(work)); }

Timers::Id Executor::After(uint64_t delay_ns, std::function<void()> work) {
  const Id id = impl_->next_id++;
  auto [it, inserted] = impl_->timers.try_emplace(id, impl_->context, std::chrono::nanoseconds(delay_ns));
  it->second.async_wait([this, id, work = std::move(work)](boost::system::error_code error) {
    // Cancelled after it had expired: its completion was on its way already.
    if (impl_->timers.erase(id) != 0 && !error) work();
  });
  return id;
}

void Executor::Cancel(Id id) {
  // Erasing destroys the timer, which completes its wait with operation_aborted.
  impl_->timers.erase(id);
}

uint64_t Executor::WallNs() const { return base::WallNs(); }
uint64_t Executor::RawNs() const { return base::RawNs(); }

Executor::WatchId Executor::WatchReadable(int fd, std::function<void()> ready) {
  return impl_->Watch(*this, fd, asio::posix::stream_descriptor::wait_read, std::move(ready));
}

Executor::WatchId Executor::WatchWritable(int fd, std::function<void()> ready) {
  return impl_->Watch(*this, fd, asio::posix::stream_descriptor::wait_write, std::move(ready));
}

void Executor::Unwatch(WatchId id) {
  const auto it = impl_->watches.find(id);
  if (it == impl_->watches.end()) return;
  it->second.release();  // the descriptor is the caller's
  impl_->watches.erase(it);
}

void Executor::HandleSignals(std::function<void(int)> on_stop, std::function<void()> on_reload) {
  impl_->stop_signals.add(SIGTERM);
  impl_->stop_signals.add(SIGINT);
  impl_->reload_signals.add(SIGHUP);
  impl_->AwaitStop(std::move(on_stop));
  impl_->AwaitReload(std::move(on_reload));
}

bool Executor::OnCtl() const { return impl_->ctl.load() == std::this_thread::get_id(); }

}  // namespace profd::base
