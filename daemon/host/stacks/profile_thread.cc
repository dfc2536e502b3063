#include "daemon/host/stacks/profile_thread.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/clock.h"
#include "base/spsc_queue.h"
#include "base/thread.h"
#include "base/wake_up.h"
#include "daemon/host/perf_records.h"
#include "daemon/host/process.h"

namespace profd::host {

using base::Result;
using base::Status;

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
constexpr uint64_t kEndLimitNs = 2 * kSecondNs;
constexpr size_t kMostStrangers = 1 << 16;
// Of records while the stand-in is slow, and of lines that nobody has taken.
constexpr size_t kMostRecordBytes = 32 << 20, kMostLineBytes = 8 << 20;

// A sample has its time behind pid and tid, others have pid, tid, time, cpu at their end.
uint64_t TimeOf(PerfRecord record) {
  const bool sample = LoadAt<perf_event_header>(record, 0).type == PERF_RECORD_SAMPLE;
  return LoadAt<uint64_t>(record, sample ? 16 : record.size() - 16);
}

// Whose processes they are.
uid_t UserOf(const std::vector<NamedPid>& members) {
  return members.empty() ? 0 : ReadProcessFacts(members.front().first).uid;
}

}  // namespace

struct ProfileThread::Shared {
  Shared(ProfileBook::What for_what, StandIn stand_in)
      : to(kQueued), from(kQueued), what(for_what), reader(std::move(stand_in)) {}

  base::SpscQueue<std::vector<NamedPid>> to;
  base::SpscQueue<ProfileLines> from;
  base::WakeUp bell;
  std::atomic<bool> stop{false}, done{false};
  std::atomic<uint64_t> end_by_ns{UINT64_MAX};

  // The thread's own until it is done.
  const ProfileBook::What what;
  StandIn reader;
  std::vector<PerfRing> cpus;           // on-CPU
  std::optional<ThreadEvents> threads;  // off-CPU
  PerfRecords records;                  // that are no part of a round yet
  ProfileLines lines;                   // that found no room
  Status outcome;
  std::unordered_set<pid_t> strangers;  // whose samples are not looked at
  // Born or ended while a round was made or under way: what its answer says of them is of before.
  std::unordered_set<pid_t> reconsidered, reconsidered_before;
  bool has_python = false;
  bool forget = false;  // what waits, in the next round
  uint64_t switches = 0;
  uint64_t drained_at_ns = 0;
  uint64_t second_begin_ns = 0, second_switches = 0;
  uint64_t resting_since_ns = 0, counted_before = 0;  // 0: the events do not rest

  void Run() {
    drained_at_ns = base::RawNs();
    while (!stop.load(std::memory_order_acquire) && outcome.ok()) {
      bell.Prepare();
      if (stop.load(std::memory_order_acquire)) {
        bell.Cancel();
        break;
      }
      bell.Wait(base::MonotonicNs() + PeriodNs());
      Round(drained_at_ns);
      Hand();
    }
    Resume();
    if (threads) threads->Disable();
    for (PerfRing& ring : cpus) ring.Disable();
    if (outcome.ok()) Round(UINT64_MAX);
    Hand();
    done.store(true, std::memory_order_release);
  }

  uint64_t PeriodNs() const { return has_python ? kPythonPeriodNs : threads ? kOffCpuPeriodNs : kPeriodNs; }

  // Records up to `until_ns`, which have all come.
  void Round(uint64_t until_ns) {
    const uint64_t begin_ns = base::RawNs();
    EmptyRings();
    if (threads) Govern();
    ProfileRound round(what);
    std::vector<NamedPid> all, members;
    while (to.TryPop(members)) {
      for (const NamedPid& member : members) strangers.erase(member.first);
      std::ranges::move(members, std::back_inserter(all));
    }
    round.TakeIn(all);
    if (std::exchange(forget, false)) round.ForgetWaits();
    if (until_ns == UINT64_MAX) round.End(begin_ns);
    if (lines.samples.size() < kMostLineBytes || until_ns == UINT64_MAX)
      records.TakeUntil(until_ns, [&round](PerfRecord record) { round.Add(record); });
    if (!round.empty()) Ask(round, begin_ns);
    drained_at_ns = begin_ns;
  }

  // The rings do not run over meanwhile.
  void Ask(const ProfileRound& round, uint64_t begin_ns) {
    reconsidered_before = std::exchange(reconsidered, {});
    const auto said = reader.Ask(round.Text(), {std::min(PeriodNs(), kPeriodNs), [this] {
                                                  EmptyRings();
                                                  return base::MonotonicNs() < end_by_ns.load();
                                                }});
    ProfileAnswer answer;
    if (!said.ok() || !ReadProfileAnswer(*said, answer)) {
      outcome = said.ok() ? Status(base::Code::kInternal, "what reads the memory of processes says nonsense")
                          : said.status();
      Lose(round.records() + records.size(), begin_ns);
      return;
    }
    lines.names += answer.lines.names;
    lines.samples += answer.lines.samples;
    if (answer.lines.lost > 0) Lose(answer.lines.lost, begin_ns);
    switches = answer.switches;
    has_python = answer.has_python;
    for (const pid_t pid : answer.strangers) {
      const bool news = reconsidered.contains(pid) || reconsidered_before.contains(pid);
      if (!news && strangers.size() < kMostStrangers) strangers.insert(pid);
    }
  }

  void Lose(uint64_t samples, uint64_t until_ns) {
    if (samples == 0) return;
    if (lines.lost == 0) lines.lost_from_ns = drained_at_ns;
    lines.lost += samples;
    lines.lost_to_ns = until_ns;
  }

  void EmptyRings() {
    uint64_t lost = 0;
    for (PerfRing& ring : threads ? threads->rings() : cpus) {
      ring.Drain([&](PerfRecord record) {
        const auto type = LoadAt<perf_event_header>(record, 0).type;
        const auto pid = LoadAt<pid_t>(record, 8);
        if (type == PERF_RECORD_SAMPLE && strangers.contains(pid)) return;
        if (type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT) {
          strangers.erase(pid);
          reconsidered.insert(pid);
        }
        if (type == PERF_RECORD_SAMPLE && records.bytes() > kMostRecordBytes) {
          ++lost;
        } else {
          records.Add(record, TimeOf(record));
        }
      });
    }
    Lose(lost, base::RawNs());
  }

  // What makes too many records goes without any for the rest of a second.
  void Govern() {
    const uint64_t now_ns = base::MonotonicNs();
    if (now_ns - second_begin_ns >= kSecondNs) {
      second_begin_ns = now_ns;
      second_switches = switches;
      Resume();
    }
    if (resting_since_ns != 0 || switches - second_switches <= kMostSwitchesPerSecond) return;
    threads->Disable();
    resting_since_ns = base::RawNs();
    counted_before = threads->Counted();
  }
  void Resume() {
    if (resting_since_ns == 0) return;
    forget = true;
    if (lines.lost == 0) lines.lost_from_ns = resting_since_ns;
    lines.lost += threads->Counted() - counted_before;
    lines.lost_to_ns = base::RawNs();
    resting_since_ns = 0;
    threads->Enable();
  }

  void Hand() {
    if (lines.empty()) return;
    if (from.TryPush(std::move(lines))) lines = {};
  }
};

Result<ProfileThread> ProfileThread::OnCpu(const perf_event_attr& attr, std::vector<NamedPid> members) {
  PROFD_ASSIGN_OR_RETURN(StandIn reader, StandIn::Start(UserOf(members), &ProfileDuty));
  auto shared = std::make_unique<Shared>(ProfileBook::What::kOnCpu, std::move(reader));
  for (const int cpu : OnlineCpus()) {
    PROFD_ASSIGN_OR_RETURN(PerfRing ring, PerfRing::Open(attr, -1, cpu, kRingBytes));
    shared->cpus.push_back(std::move(ring));
  }
  for (PerfRing& ring : shared->cpus) ring.Enable();
  return ProfileThread(std::move(shared), std::move(members));
}

Result<ProfileThread> ProfileThread::OffCpu(ThreadEvents events, std::vector<NamedPid> members) {
  PROFD_ASSIGN_OR_RETURN(StandIn reader, StandIn::Start(UserOf(members), &ProfileDuty));
  auto shared = std::make_unique<Shared>(ProfileBook::What::kOffCpu, std::move(reader));
  shared->threads.emplace(std::move(events));
  shared->threads->Enable();
  return ProfileThread(std::move(shared), std::move(members));
}

ProfileThread::ProfileThread(std::unique_ptr<Shared> shared, std::vector<NamedPid> members)
    : shared_(std::move(shared)) {
  shared_->to.TryPush(std::move(members));
  thread_ = base::StartThread("profile", [at = shared_.get()] { at->Run(); });
}

ProfileThread::ProfileThread(ProfileThread&&) noexcept = default;

ProfileThread::~ProfileThread() {
  if (!thread_.joinable()) return;
  Stop();
  thread_.join();
}

void ProfileThread::TakeIn(std::vector<NamedPid> members) {
  shared_->to.TryPush(std::move(members));
  shared_->bell.Ring();
}

bool ProfileThread::Next(ProfileLines& lines) {
  if (shared_->from.TryPop(lines)) return true;
  // What found no room at last.
  if (!ended() || shared_->lines.empty()) return false;
  lines = std::exchange(shared_->lines, {});
  return true;
}

void ProfileThread::Stop() {
  if (shared_->stop.load(std::memory_order_relaxed)) return;
  shared_->end_by_ns.store(base::MonotonicNs() + kEndLimitNs);
  shared_->stop.store(true, std::memory_order_release);
  shared_->bell.Ring();
}

bool ProfileThread::ended() const { return shared_->done.load(std::memory_order_acquire); }
Status ProfileThread::outcome() const { return shared_->outcome; }

}  // namespace profd::host
