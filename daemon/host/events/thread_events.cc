#include "daemon/host/events/thread_events.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "daemon/host/process/process.h"

namespace profd::host {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr size_t kLeastRingBytes = 64 << 10;
constexpr size_t kAllRingsBytes = 64 << 20;

perf_event_attr RingAttributes() {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC_RAW;
  return attr;
}

// A thread that is ending has no events any more while /proc still shows it.
bool HasGone(const Status& status, pid_t tid) {
  return status.code() == Code::kNotFound || !ProcessExists(tid);
}

Status CheckRoom(size_t threads, size_t events, size_t cpus) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const size_t wanted = threads * (events * cpus + 1);
  if (wanted <= limit.rlim_cur / 2) return Status::Ok();
  return {Code::kResourceExhausted,
          "it takes " + std::string(events == 1 ? "an event" : "two events") + " for each of " +
              std::to_string(threads) + " threads or more on each of " + std::to_string(cpus) +
              " CPUs, and profd may open " + std::to_string(limit.rlim_cur) + " files: raise LimitNOFILE"};
}

}  // namespace

std::vector<pid_t> Threads(std::span<const pid_t> pids) {
  std::vector<pid_t> tids;
  std::error_code gone;
  for (const pid_t pid : pids) {
    const std::string folder = "/proc/" + std::to_string(pid) + "/task";
    for (std::filesystem::directory_iterator entry(folder, gone), end; !gone && entry != end;
         entry.increment(gone)) {
      pid_t tid = 0;
      const std::string name = entry->path().filename();
      if (std::from_chars(name.data(), name.data() + name.size(), tid).ec == std::errc()) tids.push_back(tid);
    }
  }
  return tids;
}

Result<ThreadEvents> ThreadEvents::Open(std::span<const pid_t> pids, std::span<const perf_event_attr> attrs,
                                        const perf_event_attr& count, size_t ring_bytes) {
  ThreadEvents events;
  events.by_attr_.resize(attrs.size());
  const std::vector<int> cpus = OnlineCpus();
  while (ring_bytes > kLeastRingBytes && ring_bytes * cpus.size() > kAllRingsBytes) ring_bytes /= 2;
  for (const int cpu : cpus) {
    PROFD_ASSIGN_OR_RETURN(PerfRing ring, PerfRing::Open(RingAttributes(), -1, cpu, ring_bytes));
    events.rings_.push_back(std::move(ring));
  }
  // Who is started by a thread that has its events gets them from it; others are found by looking again.
  std::set<pid_t> known;
  for (bool found = true; found;) {
    found = false;
    for (const pid_t tid : Threads(pids)) {
      if (!known.insert(tid).second) continue;
      found = true;
      PROFD_RETURN_IF_ERROR(CheckRoom(known.size(), attrs.size(), cpus.size()));
      PROFD_RETURN_IF_ERROR(events.Attach(tid, attrs, count, cpus));
    }
  }
  return events;
}

Status ThreadEvents::Attach(pid_t tid, std::span<const perf_event_attr> attrs, const perf_event_attr& count,
                            const std::vector<int>& cpus) {
  auto counter = OpenPerfEvent(count, tid, -1);
  if (!counter.ok()) return HasGone(counter.status(), tid) ? Status::Ok() : counter.status();
  counters_.push_back(std::move(counter).value());
  for (size_t i = 0; i < cpus.size(); ++i) {
    for (size_t which = 0; which < attrs.size(); ++which) {
      auto event = OpenPerfEvent(attrs[which], tid, cpus[i]);
      if (!event.ok()) return HasGone(event.status(), tid) ? Status::Ok() : event.status();
      PROFD_RETURN_IF_ERROR(rings_[i].Join(event->get()));
      by_attr_[which].push_back(event->get());
      events_.push_back(std::move(event).value());
    }
  }
  return Status::Ok();
}

void ThreadEvents::Enable() {
  for (const base::UniqueFd& event : events_) EnablePerfEvent(event.get());
}
void ThreadEvents::Disable() {
  for (const base::UniqueFd& event : events_) DisablePerfEvent(event.get());
}

uint64_t ThreadEvents::Counted() const {
  uint64_t sum = 0;
  for (const base::UniqueFd& counter : counters_) {
    uint64_t count = 0;
    if (::read(counter.get(), &count, sizeof count) == sizeof count) sum += count;
  }
  return sum;
}

}  // namespace profd::host
