#include "daemon/host/stacks/profile_thread.h"

#include <chrono>
#include <map>
#include <mutex>
#include <optional>

#include "base/clock.h"
#include "base/thread.h"
#include "daemon/host/perf_records.h"
#include "daemon/host/process.h"

namespace profd::host {

namespace {

constexpr size_t kRingBytes = 256 << 10;  // a quarter of a second of whole stacks
constexpr size_t kQueued = 64;
constexpr uint64_t kMillisecondNs = 1'000'000, kSecondNs = 1'000'000'000;
constexpr uint64_t kPeriodNs = 50 * kMillisecondNs;
// What Python's functions were at a sample, or where a wait began, is read after it: twice as much later, at
// most.
constexpr uint64_t kPythonPeriodNs = 4 * kMillisecondNs;
// Waits are many, and their records large.
constexpr uint64_t kOffCpuPeriodNs = 10 * kMillisecondNs;
// What is looked at of a second at most: then the events rest until the next.
constexpr uint64_t kMostSwitchesPerSecond = 10'000;
// What a sample may cost on average, which is 1 % of a CPU at 99 Hz, and a switch; and what is needed to get
// going.
constexpr uint64_t kSampleBudgetNs = 100'000, kSwitchBudgetNs = 10'000;
constexpr uint64_t kFirstBudgetNs = 20 * kMillisecondNs;

// A sample has its time behind pid and tid, others have pid, tid, time, cpu at their end.
uint64_t TimeOf(PerfRecord record) {
  const bool sample = LoadAt<perf_event_header>(record, 0).type == PERF_RECORD_SAMPLE;
  return LoadAt<uint64_t>(record, sample ? 16 : record.size() - 16);
}

constexpr size_t kMostAbandoned = 2;

// Threads that were left behind, by whose processes they hang in. **Thread:** any.
struct AbandonedThreads {
  std::mutex mutex;
  std::map<uid_t, size_t> by_user;
};
AbandonedThreads& Abandoned() {
  static AbandonedThreads all;
  return all;
}

}  // namespace

struct ProfileThread::Shared {
  explicit Shared(ProfileBook::What what) : to(kQueued), from(kQueued), book(what) {}

  base::SpscQueue<std::vector<NamedPid>> to;
  base::SpscQueue<ProfileLines> from;
  base::WakeUp bell;
  std::atomic<bool> stop{false};
  std::binary_semaphore done{0};
  std::mutex rings_mutex;             // of the rings below; whoever hangs does not hold it
  std::optional<uid_t> abandoned_of;  // under the mutex of Abandoned()
  bool ended = false;                 // the same

  // The thread's own from its start on.
  std::vector<PerfRing> cpus;           // on-CPU
  std::optional<ThreadEvents> threads;  // off-CPU
  bool off_cpu = false;
  ProfileBook book;
  PerfRecords records;
  std::shared_ptr<const KernelNames> kernel;
  std::atomic<bool> kernel_loaded{false};
  uint64_t drained_at_ns = 0;
  uint64_t second_begin_ns = 0, second_cpu_ns = 0, second_samples = 0, second_switches = 0;
  uint64_t resting_since_ns = 0, counted_before = 0;  // 0: the events do not rest

  void Run() {
    std::thread loader = base::StartThread("kallsyms", [this] {
      kernel = KernelNames::Load();
      kernel_loaded.store(true, std::memory_order_release);
    });
    while (!stop.load(std::memory_order_acquire)) {
      bell.Prepare();
      if (stop.load(std::memory_order_acquire)) {
        bell.Cancel();
        break;
      }
      bell.Wait(base::MonotonicNs() + PeriodNs());
      TakeMembers();
      Drain(drained_at_ns);
      Hand();
    }
    Resume();
    Disable();
    loader.join();
    TakeMembers();
    Drain(UINT64_MAX);
    book.EndWaits(base::RawNs(), *kernel);
    if (book.spared() > 0) book.lines.names += "spared " + std::to_string(book.spared()) + '\n';
    Hand();
    done.release();
    const std::lock_guard lock(Abandoned().mutex);
    ended = true;
    if (!abandoned_of) return;
    const auto count = Abandoned().by_user.find(*abandoned_of);
    if (--count->second == 0) Abandoned().by_user.erase(count);
  }

  uint64_t PeriodNs() const {
    return book.has_python() ? kPythonPeriodNs : off_cpu ? kOffCpuPeriodNs : kPeriodNs;
  }
  std::vector<PerfRing>& Rings() { return threads ? threads->rings() : cpus; }
  void Disable() {
    const std::lock_guard lock(rings_mutex);
    if (threads) threads->Disable();
    for (PerfRing& ring : cpus) ring.Disable();
  }

  void TakeMembers() {
    std::vector<NamedPid> members;
    while (to.TryPop(members)) {
      for (const auto& [pid, name] : members) book.TakeIn(pid, name);
    }
  }

  void Drain(uint64_t until_ns) {
    const uint64_t begin_ns = base::RawNs();
    EmptyRings();
    if (kernel_loaded.load(std::memory_order_acquire)) {  // else they wait for the names
      Govern();
      const uint64_t lost = book.lines.lost;
      records.TakeUntil(until_ns, [this](PerfRecord record) { book.Take(record, *kernel); });
      // At the end nobody tells any more who goes on meanwhile.
      if (until_ns != UINT64_MAX) book.LookAtWaits(*kernel);
      if (book.lines.lost > lost) {
        if (lost == 0) book.lines.lost_from_ns = drained_at_ns;
        book.lines.lost_to_ns = begin_ns;
      }
      book.CloseMemories();
    }
    drained_at_ns = begin_ns;
  }

  void EmptyRings() {
    const std::lock_guard lock(rings_mutex);
    for (PerfRing& ring : Rings()) {
      ring.Drain([this](PerfRecord record) {
        const auto type = LoadAt<perf_event_header>(record, 0).type;
        const auto pid = LoadAt<pid_t>(record, 8);
        if (type == PERF_RECORD_SAMPLE && book.Ignores(pid)) return;
        if (type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT) book.Reconsider(pid);
        records.Add(record, TimeOf(record));
      });
    }
  }

  // Whoever costs more than its budget in a second goes without the dear part until the next; what makes too
  // many records, without any.
  void Govern() {
    const uint64_t now_ns = base::MonotonicNs(), cpu_ns = base::ReadClockNs(CLOCK_THREAD_CPUTIME_ID);
    if (now_ns - second_begin_ns >= kSecondNs) {
      second_begin_ns = now_ns;
      second_cpu_ns = cpu_ns;
      second_samples = book.samples();
      second_switches = book.switches();
      Resume();
    }
    if (off_cpu && resting_since_ns == 0 && book.switches() - second_switches > kMostSwitchesPerSecond)
      Rest();
    const uint64_t budget_ns = kFirstBudgetNs + (book.samples() - second_samples) * kSampleBudgetNs +
                               (book.switches() - second_switches) * kSwitchBudgetNs;
    book.Spare(cpu_ns - second_cpu_ns > budget_ns);
  }

  void Rest() {
    const std::lock_guard lock(rings_mutex);
    if (!threads) return;
    threads->Disable();
    resting_since_ns = base::RawNs();
    counted_before = threads->Counted();
  }
  void Resume() {
    if (resting_since_ns == 0) return;
    const std::lock_guard lock(rings_mutex);
    book.ForgetWaits();
    if (!threads) return;
    if (book.lines.lost == 0) book.lines.lost_from_ns = resting_since_ns;
    book.lines.lost += threads->Counted() - counted_before;
    book.lines.lost_to_ns = base::RawNs();
    resting_since_ns = 0;
    threads->Enable();
  }

  void Hand() {
    if (book.lines.empty()) return;
    if (from.TryPush(std::move(book.lines))) book.lines = {};
  }
};

base::Result<ProfileThread> ProfileThread::OnCpu(const perf_event_attr& attr, std::vector<NamedPid> members) {
  auto shared = std::make_shared<Shared>(ProfileBook::What::kOnCpu);
  for (const int cpu : OnlineCpus()) {
    PROFD_ASSIGN_OR_RETURN(PerfRing ring, PerfRing::Open(attr, -1, cpu, kRingBytes));
    shared->cpus.push_back(std::move(ring));
  }
  for (PerfRing& ring : shared->cpus) ring.Enable();
  return ProfileThread(std::move(shared), std::move(members));
}

ProfileThread ProfileThread::OffCpu(ThreadEvents events, std::vector<NamedPid> members) {
  auto shared = std::make_shared<Shared>(ProfileBook::What::kOffCpu);
  shared->threads.emplace(std::move(events));
  shared->off_cpu = true;
  shared->threads->Enable();
  return {std::move(shared), std::move(members)};
}

ProfileThread::ProfileThread(std::shared_ptr<Shared> shared, std::vector<NamedPid> members)
    : shared_(std::move(shared)) {
  shared_->drained_at_ns = base::RawNs();
  if (!members.empty()) user_ = ReadProcessFacts(members.front().first).uid;
  TakeIn(std::move(members));
  thread_ = base::StartThread("profile", [shared = shared_] { shared->Run(); });
}

ProfileThread::~ProfileThread() {
  if (!thread_.joinable()) return;
  if (!shared_->stop.load(std::memory_order_relaxed)) Finish(kSecondNs);
  if (done_) {
    thread_.join();
  } else {
    Abandon();
    thread_.detach();
  }
}

base::Status ProfileThread::MayProfile(const std::vector<NamedPid>& members) {
  if (members.empty()) return base::Status::Ok();
  const uid_t user = ReadProcessFacts(members.front().first).uid;
  const std::lock_guard lock(Abandoned().mutex);
  const auto count = Abandoned().by_user.find(user);
  if (count == Abandoned().by_user.end() || count->second < kMostAbandoned) return base::Status::Ok();
  return {base::Code::kResourceExhausted,
          std::to_string(count->second) + " profiles hang in the memory of processes of user " +
              std::to_string(user) + ": see to the mounts that their files are on"};
}

// It comes back when the memory that it waits for does, and finds nothing to do.
void ProfileThread::Abandon() {
  {
    const std::lock_guard lock(Abandoned().mutex);
    if (shared_->ended) return;
    shared_->abandoned_of = user_;
    ++Abandoned().by_user[user_];
  }
  const std::lock_guard lock(shared_->rings_mutex);
  shared_->cpus.clear();
  shared_->threads.reset();
}

void ProfileThread::TakeIn(std::vector<NamedPid> members) {
  shared_->to.TryPush(std::move(members));
  shared_->bell.Ring();
}

bool ProfileThread::Next(ProfileLines& lines) {
  if (shared_->from.TryPop(lines)) return true;
  // What found no room at last.
  if (!done_ || shared_->book.lines.empty()) return false;
  lines = std::exchange(shared_->book.lines, {});
  return true;
}

bool ProfileThread::Finish(uint64_t limit_ns) {
  shared_->stop.store(true, std::memory_order_release);
  shared_->bell.Ring();
  done_ = done_ || shared_->done.try_acquire_for(std::chrono::nanoseconds(limit_ns));
  return done_;
}

}  // namespace profd::host
