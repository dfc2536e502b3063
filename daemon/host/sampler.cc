#include "daemon/host/sampler.h"

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "base/thread.h"
#include "daemon/host/probes/probe.h"
#include "daemon/host/sample_loop.h"

namespace profd::host {

namespace {

constexpr size_t kMaxTraces = 512;
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

}  // namespace

class Sampler::Impl {
 public:
  explicit Impl(Post post) : post_(std::move(post)) {}
  ~Impl() { EndThread(); }

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
        "sample", [this] { SampleLoop(mailbox_).Run(); }, kTimerSlackNs);
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

Sampler::Sampler(Post post) : impl_(std::make_unique<Impl>(std::move(post))) {}
Sampler::~Sampler() = default;

void Sampler::Start(SampleRequest request, std::function<void(base::Status)> done) {
  impl_->Start(std::move(request), std::move(done));
}

void Sampler::Stop(uint32_t trace, std::function<void()> done) { impl_->Stop(trace, std::move(done)); }

void Sampler::Read(ReadingRequest request, std::function<void(const HostReading&)> done) {
  impl_->Read(std::move(request), std::move(done));
}

void Sampler::Thin(uint32_t one_in) { impl_->Thin(one_in); }

SamplerStats Sampler::stats() const { return impl_->stats(); }

}  // namespace profd::host
