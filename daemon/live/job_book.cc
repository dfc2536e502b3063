#include "daemon/live/job_book.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace profd::live {

namespace {

// Values that are further apart say nothing of the time between them: the machine slept, or profd did.
constexpr uint64_t kMostGapNs = 60'000'000'000;
// That name the process, or what its devices always are.
constexpr std::string_view kNotOfAValue[] = {"pid", "name", "user", "chip"};

bool IsOfAValue(std::string_view label) {
  return std::ranges::find(kNotOfAValue, label) == std::end(kNotOfAValue) &&
         std::ranges::find(kAgentLabels, label) == std::end(kAgentLabels);
}

}  // namespace

struct JobBook::Seen {
  const Sample* sample = nullptr;
  std::vector<Label> labels;
  size_t series = 0;
};

void JobBook::Add(const Snapshot& snapshot, const std::vector<JobFacts>& running, uint64_t raw_ns) {
  const uint64_t gap_ns = raw_ns_ == 0 || raw_ns < raw_ns_ ? 0 : raw_ns - raw_ns_;
  const uint64_t since_ns = gap_ns > kMostGapNs ? 0 : gap_ns;
  std::set<Key> run;
  for (const JobFacts& facts : running) run.emplace(facts.begin_wall_ns, facts.pid);
  for (auto job = running_.begin(); job != running_.end();) {
    const auto next = std::next(job);
    if (!run.contains(job->first)) End(job, snapshot.wall_ns);
    job = next;
  }
  raw_ns_ = running.empty() ? 0 : raw_ns;
  if (running.empty()) return;
  // By pid, else by device.
  std::unordered_map<std::string, std::vector<Seen>> of_process, of_device;
  for (const Sample& sample : snapshot.samples) {
    Seen seen;
    seen.sample = &sample;
    const std::string *pid = nullptr, *device = nullptr;
    for (const Label& label : sample.labels) {
      if (label.name == "pid") pid = &label.value;
      if (label.name == "device") device = &label.value;
      if (IsOfAValue(label.name)) seen.labels.push_back(label);
    }
    if (pid == nullptr && device == nullptr) continue;
    seen.series = SeriesOf(sample, seen.labels);
    (pid != nullptr ? of_process[*pid] : of_device[*device]).push_back(std::move(seen));
  }
  for (const JobFacts& facts : running) {
    const auto [at, is_new] = running_.try_emplace({facts.begin_wall_ns, facts.pid}, Job());
    Job* const job = &at->second;
    if (is_new) job->facts = facts;
    // It may have begun between two moments.
    const uint64_t runs_ns = snapshot.wall_ns - std::min(snapshot.wall_ns, facts.begin_wall_ns);
    const uint64_t known_ns = is_new ? std::min(since_ns, runs_ns) : since_ns;
    job->facts.devices = facts.devices;  // it opens them after it has registered
    if (const auto own = of_process.find(std::to_string(facts.pid)); own != of_process.end()) {
      for (const Seen& seen : own->second) Take(*job, seen, known_ns);
    }
    for (const uint32_t device : facts.devices) {
      const auto its = of_device.find(std::to_string(device));
      if (its == of_device.end()) continue;
      for (const Seen& seen : its->second) Take(*job, seen, known_ns);
    }
  }
}

size_t JobBook::SeriesOf(const Sample& sample, const std::vector<Label>& labels) {
  std::string key(sample.metric->name);
  for (const Label& label : labels) key += '\n' + std::string(label.name) + '=' + label.value;
  return series_.try_emplace(std::move(key), series_.size()).first->second;
}

void JobBook::Take(Job& job, const Seen& seen, uint64_t since_ns) {
  const Sample& sample = *seen.sample;
  auto value = std::ranges::lower_bound(job.values, seen.series, {}, &JobValue::series);
  if (value == job.values.end() || value->series != seen.series) {
    if (all_values_ >= limits_.values && !MakeRoom(job.facts.uid)) {
      ++job.left_out;
      return;
    }
    ++all_values_;
    ++values_[job.facts.uid];
    value = job.values.insert(value, {.metric = sample.metric,
                                      .labels = seen.labels,
                                      .series = seen.series,
                                      .needs = sample.needs,
                                      .target = sample.target,
                                      .least = sample.value,
                                      .most = sample.value,
                                      .last = sample.value});
  }
  // A counter that is smaller than before began anew.
  if (sample.metric->type == Metric::Type::kCounter)
    value->sum += sample.value < value->last ? sample.value : sample.value - value->last;
  else
    value->sum += sample.value * (static_cast<double>(since_ns) / 1e9);
  value->least = std::min(value->least, sample.value);
  value->most = std::max(value->most, sample.value);
  value->last = sample.value;
  value->known_ns += since_ns;
}

void JobBook::End(std::map<Key, Job>::iterator job, uint64_t wall_ns) {
  job->second.end_wall_ns = wall_ns;
  ended_.push_back(std::move(job->second));
  running_.erase(job);
  if (ended_.size() > limits_.ended) DropOneEnded();
}

// The oldest of the user who has the most, so that nobody's jobs make another's go.
void JobBook::DropOneEnded() {
  std::map<uid_t, size_t> have;
  for (const Job& job : ended_) ++have[job.facts.uid];
  const uid_t most = std::ranges::max_element(have, {}, &std::pair<const uid_t, size_t>::second)->first;
  const auto oldest = std::ranges::find_if(ended_, [most](const Job& job) { return job.facts.uid == most; });
  all_values_ -= oldest->values.size();
  values_[most] -= oldest->values.size();
  ended_.erase(oldest);
}

bool JobBook::MakeRoom(uid_t user) {
  if (!ended_.empty()) {
    DropOneEnded();
    if (all_values_ < limits_.values) return true;
  }
  const uid_t most = std::ranges::max_element(values_, {}, &std::pair<const uid_t, size_t>::second)->first;
  if (most == user) return false;
  Job* largest = nullptr;
  for (auto& [key, job] : running_) {
    if (job.facts.uid == most && (largest == nullptr || job.values.size() > largest->values.size()))
      largest = &job;
  }
  if (largest == nullptr || largest->values.empty()) return false;
  largest->left_out += largest->values.size();
  all_values_ -= largest->values.size();
  values_[most] -= largest->values.size();
  largest->values.clear();
  return true;
}

std::vector<const Job*> JobBook::All() const {
  std::vector<const Job*> all;
  for (auto job = running_.rbegin(); job != running_.rend(); ++job) all.push_back(&job->second);
  for (auto job = ended_.rbegin(); job != ended_.rend(); ++job) all.push_back(&*job);
  return all;
}

}  // namespace profd::live
