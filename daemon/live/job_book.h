// What jobs took of the node: mean, least and most of every live value about a process and its devices, from
// its begin to its end, and the sum (energy, of power).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/live/values/metric.h"

namespace profd::live {

// A process, as its account names it. Texts are untrusted.
struct JobFacts {
  pid_t pid = 0;
  uint64_t begin_wall_ns = 0;  // when it registered; with the pid, which process it is
  uid_t uid = 0;
  std::string user, name;
  std::map<std::string, std::string> labels;
  std::vector<uint32_t> devices;  // that it has open
};

// One value over the time of a job.
struct JobValue {
  const Metric* metric = nullptr;
  std::vector<Label> labels;  // without those that name the process
  size_t series = 0;          // its number in the book: one for each metric with such labels
  auth::Action needs = auth::Action::kSeeProcess;
  auth::Target target = {};
  double least = 0, most = 0, last = 0;
  // Of a gauge its value times seconds; of a counter what it grew by.
  double sum = 0;
  uint64_t known_ns = 0;  // how long the value was known

  // Of a gauge.
  double Mean() const { return known_ns == 0 ? last : sum / (static_cast<double>(known_ns) / 1e9); }
};

struct Job {
  JobFacts facts;
  uint64_t end_wall_ns = 0;      // 0: it runs
  std::vector<JobValue> values;  // by series
  uint64_t left_out = 0;         // samples for which there was no room
};

// **Thread:** one.
class JobBook {
 public:
  struct Limits {
    size_t ended = 1024;     // jobs that are kept; beyond it the user with the most loses his oldest
    size_t values = 30'000;  // of all jobs together; beyond it the user with the most gets no more
  };
  JobBook() : JobBook(Limits()) {}
  explicit JobBook(const Limits& limits) : limits_(limits) {}

  // All values of one moment, `raw_ns`, and the jobs that run then. A job that ran before and does not now
  // has ended.
  void Add(const Snapshot& snapshot, const std::vector<JobFacts>& running, uint64_t raw_ns);

  // Those that run, then those that ended, the newest first.
  std::vector<const Job*> All() const;
  bool IsIdle() const { return running_.empty(); }

 private:
  using Key = std::pair<uint64_t, pid_t>;  // when it began, who it is
  struct Seen;                             // a sample of this moment, and its series

  void End(std::map<Key, Job>::iterator job, uint64_t wall_ns);
  void Take(Job& job, const Seen& seen, uint64_t since_ns);
  // For one more value of a job of `user`.
  bool MakeRoom(uid_t user);
  void DropOneEnded();
  size_t SeriesOf(const Sample& sample, const std::vector<Label>& labels);

  const Limits limits_;
  std::map<Key, Job> running_;
  std::deque<Job> ended_;           // the newest last
  std::map<uid_t, size_t> values_;  // how many each user's jobs have
  size_t all_values_ = 0;
  std::map<std::string, size_t, std::less<>> series_;
  uint64_t raw_ns_ = 0;  // of the last moment; 0: there was none, or no job ran then
};

}  // namespace profd::live
