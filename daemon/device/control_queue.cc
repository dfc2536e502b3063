#include "daemon/device/control_queue.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/driver/host_mounts.h"

namespace profd::device {

namespace {
// How long the destructor waits for calls that still run.
constexpr std::chrono::milliseconds kFarewell{200};
}  // namespace

struct ControlQueue::Job {
  Call call;  // `work` is the thread's, the rest ctl's: what callbacks own must not die on another thread
  bool answered = false;
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
  void OnImpatient(const std::shared_ptr<Job>& job);
  void OnTimeout(const std::shared_ptr<Job>& job);
  void OnReturned(const std::shared_ptr<Job>& job);
  void Answer(Job& job, Outcome outcome);
  void Close();

  // -- holding the mutex --
  std::deque<std::shared_ptr<Job>>::iterator Runnable();
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
  bool closed = false;
};

ControlQueue::ControlQueue(std::string name, Options options, Timer& timer, Post post)
    : state_(std::make_shared<State>(std::move(name), options, timer, std::move(post))) {}

ControlQueue::~ControlQueue() { state_->Close(); }

void ControlQueue::Submit(Call call) { state_->Submit(std::move(call)); }

void ControlQueue::State::Submit(Call call) {
  auto job = std::make_shared<Job>();
  job->call = std::move(call);
  // The alarms die with the timer's entry; `weak` because the queue may go first.
  const auto alarm = [this, &job](uint64_t delay_ns, void (State::*run)(const std::shared_ptr<Job>&)) {
    return timer.After(delay_ns, [weak = weak_from_this(), job, run] {
      const std::shared_ptr<State> state = weak.lock();
      if (state != nullptr && !state->closed) (state.get()->*run)(job);
    });
  };
  job->patience = alarm(options.patience_ns, &State::OnImpatient);
  job->timeout = alarm(job->call.timeout_ns, &State::OnTimeout);

  const std::lock_guard lock(mutex);
  waiting.push_back(std::move(job));
  if (Threads() == 0) StartWorker(false);
  changed.notify_one();
}

void ControlQueue::State::OnImpatient(const std::shared_ptr<Job>& job) {
  const std::lock_guard lock(mutex);
  const bool waits = std::find(waiting.begin(), waiting.end(), job) != waiting.end();
  if (waits && Threads() < 1 + options.spares) StartWorker(true);
}

void ControlQueue::State::OnTimeout(const std::shared_ptr<Job>& job) {
  if (job->answered) return;
  bool withdrawn = false;
  if (!job->call.must_run) {
    const std::lock_guard lock(mutex);
    withdrawn = std::erase(waiting, job) != 0;
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

std::deque<std::shared_ptr<ControlQueue::Job>>::iterator ControlQueue::State::Runnable() {
  return std::find_if(waiting.begin(), waiting.end(), [this](const std::shared_ptr<Job>& job) {
    return job->call.lane == kNoLane ||
           std::none_of(running.begin(), running.end(), [&job](const std::shared_ptr<Job>& other) {
             return other->call.lane == job->call.lane;
           });
  });
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
    running.push_back(job);
    lock.unlock();
    job->call.work();
    lock.lock();
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
