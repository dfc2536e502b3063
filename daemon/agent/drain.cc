#include "daemon/agent/drain.h"

#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/status.h"
#include "base/threads/thread.h"
#include "daemon/agent/drain_loop.h"

namespace profd::agent {

class Drain::Impl {
 public:
  using Done = std::function<void()>;

  Impl(Options options, Reply reply) : options_(options), reply_(std::move(reply)) {}
  ~Impl() { EndThread(); }

  Id Start(std::shared_ptr<Region> region, RingMode mode, DrainTarget target, Done cut_off) {
    PROFD_CHECK(target.stats->lanes.size() == region->geometry().lanes);
    const Id id = ++last_id_;
    // Made here: when Start() returns, what is published belongs to the recording.
    auto recording = std::make_shared<Recording>(std::move(region), mode, std::move(target), base::RawNs());
    Send([this, id, recording = std::move(recording), cut_off = std::move(cut_off)](DrainLoop& loop) mutable {
      loop.Add(id, std::move(recording),
               {.cut_off = [this, cut_off = std::move(cut_off)]() mutable { Answer(std::move(cut_off)); },
                .dropped =
                    [this](std::shared_ptr<Recording> stopped) {
                      Answer([stopped = std::move(stopped)] {});  // its memory goes back on ctl
                    }});
    });
    return id;
  }

  void Retarget(Id id, DrainTarget target, Done done) {
    Ask(id, std::move(done), [target = std::move(target)](Recording& recording, Done then) {
      recording.Retarget(target, std::move(then));
    });
  }

  void Snapshot(Id id, uint64_t newest_ns, Done done) {
    Ask(id, std::move(done),
        [newest_ns](Recording& recording, Done then) { recording.Snapshot(newest_ns, std::move(then)); });
  }

  void Stop(Id id, Done done) {
    Ask(id, std::move(done), [](Recording& recording, Done then) { recording.Stop(std::move(then)); });
  }

  void EndTrace(uint32_t trace, chunk::Pipe& pipe) {
    Send([trace, &pipe](DrainLoop& loop) { loop.EndTrace(trace, pipe); });
  }

 private:
  // `done` is moved all the way, so that its last copy dies on ctl.
  void Ask(Id id, Done done, std::function<void(Recording&, Done)> what) {
    Send([this, id, done = std::move(done), what = std::move(what)](DrainLoop& loop) mutable {
      Recording* recording = loop.Find(id);
      if (recording == nullptr) return Answer(std::move(done));
      what(*recording, [this, done = std::move(done)]() mutable { Answer(std::move(done)); });
    });
  }

  // **Thread:** drain.
  void Answer(Done done) { reply_(std::move(done)); }

  void Send(DrainMailbox::Command command) {
    if (!thread_.joinable()) {
      thread_ = base::StartThread("drain", [this] { DrainLoop(mailbox_, options_.sweep_ns).Run(); });
    }
    mailbox_.Send(std::move(command));
  }

  void EndThread() {
    if (!thread_.joinable()) return;
    mailbox_.Send([](DrainLoop& loop) { loop.Quit(); });
    thread_.join();
  }

  const Options options_;
  const Reply reply_;
  DrainMailbox mailbox_;
  Id last_id_ = 0;
  std::thread thread_;
};

Drain::Drain(Options options, Reply reply) : impl_(std::make_unique<Impl>(options, std::move(reply))) {}
Drain::~Drain() = default;

Drain::Id Drain::Start(std::shared_ptr<Region> region, RingMode mode, DrainTarget target,
                       std::function<void()> cut_off) {
  return impl_->Start(std::move(region), mode, std::move(target), std::move(cut_off));
}
void Drain::Retarget(Id id, DrainTarget target, std::function<void()> done) {
  impl_->Retarget(id, std::move(target), std::move(done));
}
void Drain::Snapshot(Id id, uint64_t newest_ns, std::function<void()> done) {
  impl_->Snapshot(id, newest_ns, std::move(done));
}
void Drain::Stop(Id id, std::function<void()> done) { impl_->Stop(id, std::move(done)); }
void Drain::EndTrace(uint32_t trace, chunk::Pipe& pipe) { impl_->EndTrace(trace, pipe); }

}  // namespace profd::agent
