#include "daemon/host/sampler.h"

#include <algorithm>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/threads/thread.h"
#include "daemon/base/memory/slack.h"
#include "daemon/host/probes/probe.h"
#include "daemon/host/sample_loop.h"

namespace profd::host {

namespace {

constexpr size_t kMaxTraces = 512;  // of a thread
constexpr size_t kMostUsers = 32;   // with a thread of their own
constexpr unsigned long kTimerSlackNs = 1000;

base::Status Validate(const SampleRequest& request) {
  for (const ProbeRequest& probe : request.probes) {
    if (!KnownKind(probe.kind)) {
      return {base::Code::kInvalidArgument, "sample " + probe.kind + ": no such host kind"};
    }
    if (const uint32_t max_hz = KindMaxHz(probe.kind); max_hz != 0 && (probe.hz < 1 || probe.hz > max_hz)) {
      return {base::Code::kOutOfRange, "sample " + probe.kind + " at " + std::to_string(probe.hz) +
                                           " Hz: it takes 1 to " + std::to_string(max_hz) + " Hz"};
    }
    if (KindNeedsTargets(probe.kind) && request.pids.empty()) {
      return {base::Code::kInvalidArgument,
              "sample " + probe.kind + ": it needs a process, give one with --pid"};
    }
  }
  return base::Status::Ok();
}

// A thread "sample", while there is something to do for it.
class SampleThread {
 public:
  explicit SampleThread(Post post) : post_(std::move(post)) {}
  ~SampleThread() { EndThread(); }
  SampleThread(const SampleThread&) = delete;
  SampleThread& operator=(const SampleThread&) = delete;

  bool idle() const { return traces_.empty() && stopping_ == 0; }
  bool Has(uint32_t trace) const { return traces_.contains(trace); }

  void Start(SampleRequest request, std::function<void(base::Status)> done) {
    base::Status status = Validate(request);
    if (status.ok() && traces_.contains(request.trace)) {
      status = {base::Code::kAlreadyExists,
                "sample trace " + std::to_string(request.trace) + ": it is sampled already"};
    }
    // Of a thread that does not come to obey no more is asked.
    if (status.ok() && (traces_.size() == kMaxTraces || mailbox_.commands.size() > 2 * kMaxTraces)) {
      status = {base::Code::kResourceExhausted, "sample the host: too many sessions do, try again later"};
    }
    if (!status.ok()) {
      post_([done = std::move(done), status = std::move(status)] { done(status); });
      return;
    }
    traces_.insert(request.trace);
    BeginThread();
    auto command = std::make_unique<SampleCommand>(
        SampleCommand::What::kStart,
        [this, done = std::move(done)] { post_([done] { done(base::Status::Ok()); }); });
    command->request = std::move(request);
    Send(std::move(command));
  }

  void Stop(uint32_t trace, std::function<void()> done) {
    if (traces_.erase(trace) == 0) {
      post_(std::move(done));
      return;
    }
    auto command =
        std::make_unique<SampleCommand>(SampleCommand::What::kStop, [this, done = std::move(done)] {
          post_([this, alive = std::weak_ptr(alive_), done] {
            if (!alive.expired() && --stopping_ == 0 && traces_.empty() && !keep_thread_) EndThread();
            done();
          });
        });
    command->trace = trace;
    ++stopping_;
    Send(std::move(command));
  }

  void Read(ReadingRequest request, std::function<void(const HostReading&)> done) {
    if (std::exchange(reading_, true)) return;  // the thread is busy: the next beat asks again
    BeginThread();
    keep_thread_ = true;
    const auto result = std::make_shared<HostReading>();
    auto command =
        std::make_unique<SampleCommand>(SampleCommand::What::kRead, [this, result, done = std::move(done)] {
          post_([this, alive = std::weak_ptr(alive_), result, done] {
            if (alive.expired()) return;
            reading_ = false;
            done(*result);
          });
        });
    command->reading_request = std::move(request);
    command->reading = result;
    Send(std::move(command));
  }

  void Thin(uint32_t one_in) { mailbox_.one_in.store(one_in, std::memory_order_relaxed); }

  SamplerStats stats() const {
    return {.ticks = mailbox_.ticks.load(std::memory_order_relaxed),
            .missed_ticks = mailbox_.missed_ticks.load(std::memory_order_relaxed),
            .max_late_ns = mailbox_.max_late_ns.load(std::memory_order_relaxed)};
  }

 private:
  void BeginThread() {
    if (thread_.joinable()) return;
    thread_ = base::StartThread(
        "sample",
        [this] {
          SampleLoop(mailbox_).Run();
          base::Slack::Comes();  // it may have looked at very much, and the next user begins with little
        },
        kTimerSlackNs);
  }

  void Send(std::unique_ptr<SampleCommand> command) {
    mailbox_.commands.Send(std::move(command));
    mailbox_.bell.Ring();
  }

  void EndThread() {
    if (!thread_.joinable()) return;
    Send(std::make_unique<SampleCommand>(SampleCommand::What::kQuit, nullptr));
    thread_.join();
  }

  const Post post_;
  SampleMailbox mailbox_;
  std::set<uint32_t> traces_;  // started and not asked to stop
  size_t stopping_ = 0;
  bool reading_ = false;
  bool keep_thread_ = false;
  std::thread thread_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace

class Sampler::Impl {
 public:
  explicit Impl(Post post) : post_(std::move(post)) { slots_.push_back(MakeSlot()); }

  size_t ThreadOf(uid_t user) {
    size_t free = 0;
    for (size_t i = 1; i < slots_.size(); ++i) {
      if (slots_[i].user == user && !slots_[i].thread->idle()) return i;
      if (free == 0 && slots_[i].thread->idle()) free = i;
    }
    if (free == 0 && slots_.size() > kMostUsers) return 0;
    if (free == 0) {
      free = slots_.size();
      slots_.push_back(MakeSlot());
    }
    slots_[free].user = user;
    return free;
  }

  SampleThread& At(size_t thread) { return *slots_[thread].thread; }
  // Any, where none has it.
  SampleThread& With(uint32_t trace) {
    const auto found =
        std::ranges::find_if(slots_, [trace](const Slot& slot) { return slot.thread->Has(trace); });
    return *(found == slots_.end() ? slots_.front() : *found).thread;
  }

  void Thin(uint32_t one_in) {
    one_in_ = one_in;
    for (const Slot& slot : slots_) slot.thread->Thin(one_in);
  }

  SamplerStats stats() const {
    SamplerStats sum;
    for (const Slot& slot : slots_) {
      const SamplerStats of = slot.thread->stats();
      sum.ticks += of.ticks;
      sum.missed_ticks += of.missed_ticks;
      sum.max_late_ns = std::max(sum.max_late_ns, of.max_late_ns);
    }
    return sum;
  }

 private:
  struct Slot {
    std::unique_ptr<SampleThread> thread;
    uid_t user = 0;
  };

  Slot MakeSlot() const {
    Slot slot{.thread = std::make_unique<SampleThread>(post_)};
    slot.thread->Thin(one_in_);
    return slot;
  }

  const Post post_;
  uint32_t one_in_ = 1;
  std::vector<Slot> slots_;  // the first is profd's own
};

Sampler::Sampler(Post post) : impl_(std::make_unique<Impl>(std::move(post))) {}
Sampler::~Sampler() = default;

size_t Sampler::ThreadOf(uid_t user) { return impl_->ThreadOf(user); }

void Sampler::Start(SampleRequest request, std::function<void(base::Status)> done) {
  SampleThread& known = impl_->With(request.trace);
  SampleThread& thread = known.Has(request.trace) ? known : impl_->At(request.thread);
  thread.Start(std::move(request), std::move(done));
}

void Sampler::Stop(uint32_t trace, std::function<void()> done) {
  impl_->With(trace).Stop(trace, std::move(done));
}

void Sampler::Read(ReadingRequest request, std::function<void(const HostReading&)> done) {
  impl_->At(0).Read(std::move(request), std::move(done));
}

void Sampler::Thin(uint32_t one_in) { impl_->Thin(one_in); }

SamplerStats Sampler::stats() const { return impl_->stats(); }

}  // namespace profd::host
