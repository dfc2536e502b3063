#include "daemon/device/control_queue.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "daemon/driver/host_mounts.h"

namespace profd::device {

namespace {
// How long the destructor waits for calls that still run.
constexpr std::chrono::milliseconds kFarewell{200};
// So many times its time-out a call may wait for its turn at most, besides its own …
constexpr uint64_t kMostTurns = 3;
// … while others return within half of its time-out: those that take longer wait for something in the driver.
constexpr uint64_t kSoonShare = 2;
}  // namespace

struct ControlQueue::Job {
  Call call;  // `work` is the thread's, the rest ctl's: what callbacks own must not die on another thread
  bool answered = false;
  const uint64_t submitted_ns = base::MonotonicNs();
  uint64_t since_ns = 0;  // that the driver owes it a word; 0: it waits; by the mutex
  Timer::Id patience = 0;
  Timer::Id timeout = 0;
};

// Shared with the threads: it stays as long as one of them hangs in a call.
struct ControlQueue::State : std::enable_shared_from_this<State> {
  struct Worker {
    std::thread thread;
    bool ended = false;
  };

  State(std::string name, Options options, Timer& timer, Post post)
      : name(std::move(name)), options(options), timer(timer), post(std::move(post)) {}

  // -- ctl --
  void Submit(Call call);
  Timer::Id Alarm(const std::shared_ptr<Job>& job, uint64_t delay_ns,
                  void (State::*run)(const std::shared_ptr<Job>&));
  void OnImpatient(const std::shared_ptr<Job>& job);
  void OnTimeout(const std::shared_ptr<Job>& job);
  void OnReturned(const std::shared_ptr<Job>& job);
  void Answer(Job& job, Outcome outcome);
  void Close();

  // -- holding the mutex --
  bool IsRunnable(const Job& job) const;
  std::deque<std::shared_ptr<Job>>::iterator Runnable();
  uint64_t SilentSince(const Job& job) const;
  size_t Threads() const;
  void StartWorker(bool spare);

  // -- worker --
  void Work(Worker& worker, bool spare);
  void RunCalls(std::unique_lock<std::mutex>& lock, bool spare);

  const std::string name;
  const Options options;
  Timer& timer;     // ctl's, not after Close()
  const Post post;  // not after Close()

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<Job>> waiting;
  std::vector<std::shared_ptr<Job>> running;
  std::vector<std::shared_ptr<Worker>> workers;
  uint64_t returned_ns = 0;  // when a call last did, soon
  bool closed = false;
};

ControlQueue::ControlQueue(std::string name, Options options, Timer& timer, Post post)
    : state_(std::make_shared<State>(std::move(name), options, timer, std::move(post))) {}

ControlQueue::~ControlQueue() { state_->Close(); }

void ControlQueue::Submit(Call call) { state_->Submit(std::move(call)); }

void ControlQueue::State::Submit(Call call) {
  auto job = std::make_shared<Job>();
  job->call = std::move(call);
  const uint64_t patience_ns = job->call.patience_ns != 0 ? job->call.patience_ns : options.patience_ns;
  job->patience = Alarm(job, patience_ns, &State::OnImpatient);
  job->timeout = Alarm(job, job->call.timeout_ns, &State::OnTimeout);

  const std::lock_guard lock(mutex);
  waiting.push_back(std::move(job));
  if (Threads() == 0) StartWorker(false);
  changed.notify_one();
}

// It dies with the timer's entry; `weak` because the queue may go first.
Timer::Id ControlQueue::State::Alarm(const std::shared_ptr<Job>& job, uint64_t delay_ns,
                                     void (State::*run)(const std::shared_ptr<Job>&)) {
  return timer.After(delay_ns, [weak = weak_from_this(), job, run] {
    const std::shared_ptr<State> state = weak.lock();
    if (state != nullptr && !state->closed) (state.get()->*run)(job);
  });
}

void ControlQueue::State::OnImpatient(const std::shared_ptr<Job>& job) {
  const std::lock_guard lock(mutex);
  const bool waits = std::find(waiting.begin(), waiting.end(), job) != waiting.end();
  const uint32_t spares = job->call.spares != 0 ? job->call.spares : options.spares;
  if (waits && Threads() < 1 + spares) StartWorker(true);
}

void ControlQueue::State::OnTimeout(const std::shared_ptr<Job>& job) {
  if (job->answered) return;
  bool withdrawn = false;
  {
    const std::lock_guard lock(mutex);
    const uint64_t end_ns = SilentSince(*job) + job->call.timeout_ns, now_ns = base::MonotonicNs();
    if (now_ns < end_ns) {
      job->timeout = Alarm(job, end_ns - now_ns, &State::OnTimeout);
      return;
    }
    if (!job->call.must_run) withdrawn = std::erase(waiting, job) != 0;
  }
  Answer(*job, withdrawn ? Outcome::kNeverRan : Outcome::kTimedOut);
}

void ControlQueue::State::OnReturned(const std::shared_ptr<Job>& job) {
  const auto late = std::exchange(job->call.late, nullptr);
  if (!job->answered) {
    Answer(*job, Outcome::kReturned);
  } else if (late) {
    late();
  }
}

void ControlQueue::State::Answer(Job& job, Outcome outcome) {
  job.answered = true;
  timer.Cancel(job.patience);
  timer.Cancel(job.timeout);
  const auto done = std::exchange(job.call.done, nullptr);
  done(outcome);
}

void ControlQueue::State::Close() {
  std::unique_lock lock(mutex);
  closed = true;
  for (const std::shared_ptr<Job>& job : running) {
    job->call.done = nullptr;
    job->call.late = nullptr;
  }
  waiting.clear();
  changed.notify_all();
  changed.wait_for(lock, kFarewell, [this] { return Threads() == 0; });
  for (const std::shared_ptr<Worker>& worker : workers) {
    if (worker->ended) {
      worker->thread.join();
    } else {
      worker->thread.detach();
    }
  }
  workers.clear();
}

bool ControlQueue::State::IsRunnable(const Job& job) const {
  return job.call.lane == kNoLane ||
         std::none_of(running.begin(), running.end(), [&job](const std::shared_ptr<Job>& other) {
           return other->call.lane == job.call.lane;
         });
}

std::deque<std::shared_ptr<ControlQueue::Job>>::iterator ControlQueue::State::Runnable() {
  return std::find_if(waiting.begin(), waiting.end(),
                      [this](const std::shared_ptr<Job>& job) { return IsRunnable(*job); });
}

// Since when the driver has owed it a word: since it was submitted, or one before it returned soon. A call
// that waits for its turn while others return waits for no driver that is stuck: a busy node may take long
// for many.
uint64_t ControlQueue::State::SilentSince(const Job& job) const {
  if (job.since_ns != 0) return job.since_ns;
  if (!IsRunnable(job)) return job.submitted_ns;
  return std::clamp(returned_ns, job.submitted_ns, job.submitted_ns + kMostTurns * job.call.timeout_ns);
}

size_t ControlQueue::State::Threads() const {
  return static_cast<size_t>(std::count_if(
      workers.begin(), workers.end(), [](const std::shared_ptr<Worker>& worker) { return !worker->ended; }));
}

void ControlQueue::State::StartWorker(bool spare) {
  std::erase_if(workers, [](const std::shared_ptr<Worker>& worker) {
    if (worker->ended) worker->thread.join();
    return worker->ended;
  });
  const auto worker = std::make_shared<Worker>();
  worker->thread = driver::StartDriverThread(
      name, [state = shared_from_this(), worker, spare] { state->Work(*worker, spare); });
  workers.push_back(worker);
}

void ControlQueue::State::Work(Worker& worker, bool spare) {
  std::unique_lock lock(mutex);
  RunCalls(lock, spare);
  // Under the lock of the last look at the queue, so that Submit() never counts on a thread that is leaving.
  worker.ended = true;
  changed.notify_all();
}

void ControlQueue::State::RunCalls(std::unique_lock<std::mutex>& lock, bool spare) {
  while (!closed) {
    const auto next = Runnable();
    if (next == waiting.end()) {
      if (spare) return;
      const bool more = changed.wait_for(lock, std::chrono::nanoseconds(options.idle_ns),
                                         [this] { return closed || Runnable() != waiting.end(); });
      if (!more) return;
      continue;
    }
    const std::shared_ptr<Job> job = *next;
    waiting.erase(next);
    job->since_ns = SilentSince(*job);
    running.push_back(job);
    lock.unlock();
    const uint64_t began_ns = base::MonotonicNs();
    job->call.work();
    lock.lock();
    if (const uint64_t now_ns = base::MonotonicNs(); now_ns - began_ns < job->call.timeout_ns / kSoonShare)
      returned_ns = now_ns;
    std::erase(running, job);
    changed.notify_all();
    // Still under the lock: nothing is posted once Close() has returned.
    if (closed) return;
    post([state = shared_from_this(), job] {
      if (!state->closed) state->OnReturned(job);
    });
  }
}

}  // namespace profd::device
