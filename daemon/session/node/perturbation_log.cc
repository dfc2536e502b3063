#include "daemon/session/node/perturbation_log.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace profd::session {

namespace {

using namespace perturbation;

constexpr size_t kMostCounts = 1024;
constexpr size_t kMostLeftOut = 1024;
constexpr int64_t kStepNs = 1'000'000;
constexpr uint64_t kSlewPpm = 500;  // as fast as the kernel lets a clock be adjusted

std::string KeyOf(std::string_view kind, std::string_view what) {
  return std::string(kind) + " " + std::string(what);
}

std::string Times(uint64_t count) { return count == 1 ? "once" : std::to_string(count) + " times"; }

std::string Joined(const std::string& first, const std::string& second) {
  return first.empty() ? second : first + ", " + second;
}

std::string TextOf(const Sight::Count& count, const std::array<uint64_t, 3>& amounts) {
  if (count.kind == kCpuThrottling) {
    std::string text = count.what + " had to wait for its CPU quota " + Times(amounts[0]);
    // Some kernels hardly count it.
    if (amounts[1] == 0) return text;
    char ms[64];
    std::snprintf(ms, sizeof ms, ", %.1f ms on all CPUs together", static_cast<double>(amounts[1]) / 1e3);
    return text + ms;
  }
  if (count.kind == kMemoryLimit) {
    std::string text;
    if (amounts[0] > 0) text = "held up above memory.high " + Times(amounts[0]);
    if (amounts[1] > 0) text = Joined(text, "at its memory limit " + Times(amounts[1]));
    if (amounts[2] > 0)
      text = Joined(text, std::to_string(amounts[2]) + " processes killed for want of memory");
    return count.what + ": " + text;
  }
  std::string text;
  if (amounts[0] > 0) text = "cores " + Times(amounts[0]);
  if (amounts[1] > 0) text = Joined(text, "packages " + Times(amounts[1]));
  return count.what + " throttled for heat: " + text;
}

}  // namespace

void Sight::Add(const Sight& other) {
  counts.insert(counts.end(), other.counts.begin(), other.counts.end());
  conditions.insert(conditions.end(), other.conditions.begin(), other.conditions.end());
}

int64_t ClockStepNs(const Sight& before, const Sight& now) {
  const uint64_t passed = now.raw_ns - before.raw_ns;
  const auto step = static_cast<int64_t>(now.wall_ns - before.wall_ns - passed);
  const auto allowed =
      static_cast<uint64_t>(kStepNs) + passed / 1'000'000 * kSlewPpm + before.error_ns + now.error_ns;
  const uint64_t size = step < 0 ? 0 - static_cast<uint64_t>(step) : static_cast<uint64_t>(step);
  return size > allowed ? step : 0;
}

PerturbationLog::Entry* PerturbationLog::LastOf(const std::string& key) {
  const auto last = std::find_if(entries_.rbegin(), entries_.rend(),
                                 [&key](const Entry& entry) { return entry.key == key; });
  return last == entries_.rend() ? nullptr : &*last;
}

PerturbationLog::Entry* PerturbationLog::Add(std::string key, format::ManifestPerturbation perturbation) {
  if (entries_.size() >= kMostEntries) {
    if (left_out_.empty()) left_out_since_ns_ = perturbation.from_ns;
    if (left_out_.size() < kMostLeftOut) left_out_.insert(std::move(key));
    return nullptr;
  }
  entries_.push_back({std::move(key), {}, std::move(perturbation)});
  return &entries_.back();
}

void PerturbationLog::Take(const Sight& sight) {
  if (before_.raw_ns != 0) {
    if (sight.raw_ns <= before_.raw_ns) return;
    if (const int64_t step = ClockStepNs(before_, sight); step != 0) {
      char text[96];
      std::snprintf(text, sizeof text, "the wall clock was set %s by %.6f s", step < 0 ? "back" : "forward",
                    static_cast<double>(step < 0 ? -step : step) / 1e9);
      Add(std::string(kClockStep), {std::string(kClockStep), text, before_.raw_ns, sight.raw_ns});
    }
  }
  for (const Sight::Count& count : sight.counts) TakeCount(count, sight.raw_ns);
  if (!sight.only_counts) TakeConditions(sight);
  before_.raw_ns = sight.raw_ns;
  before_.wall_ns = sight.wall_ns;
  before_.error_ns = sight.error_ns;
}

void PerturbationLog::TakeCount(const Sight::Count& count, uint64_t raw_ns) {
  std::string key = KeyOf(count.kind, count.what);
  auto known = counts_.find(key);
  if (known == counts_.end()) {
    if (counts_.size() < kMostCounts) counts_.emplace(std::move(key), count.amounts);
    return;
  }
  std::array<uint64_t, 3> grown{};
  for (size_t i = 0; i < grown.size(); ++i) {
    // One that is smaller than before began anew.
    if (count.amounts[i] > known->second[i]) grown[i] = count.amounts[i] - known->second[i];
  }
  known->second = count.amounts;
  if (grown == std::array<uint64_t, 3>{}) return;
  Entry* entry = LastOf(key);
  const bool goes_on = entry != nullptr && entry->out.to_ns == before_.raw_ns;
  if (!goes_on && (entry == nullptr || entries_.size() < kMostEntries))
    entry = Add(key, {std::string(count.kind), "", before_.raw_ns, raw_ns});
  if (entry == nullptr) return;
  for (size_t i = 0; i < grown.size(); ++i) entry->amounts[i] += grown[i];
  entry->out.to_ns = raw_ns;
  entry->out.text = TextOf(count, entry->amounts);
}

void PerturbationLog::TakeConditions(const Sight& sight) {
  std::vector<std::string> keys;
  for (const Sight::Condition& condition : sight.conditions) {
    std::string key = KeyOf(condition.kind, condition.what);
    keys.push_back(key);
    Entry* entry = LastOf(key);
    if (entry != nullptr && entry->out.to_ns == 0) continue;
    if (entry != nullptr && entries_.size() >= kMostEntries) {
      entry->out.to_ns = 0;
      continue;
    }
    Add(std::move(key), {std::string(condition.kind), condition.text, sight.raw_ns, 0, condition.device});
  }
  for (Entry& entry : entries_) {
    if (entry.out.to_ns == 0 && std::find(keys.begin(), keys.end(), entry.key) == keys.end())
      entry.out.to_ns = sight.raw_ns;
  }
}

std::vector<format::ManifestPerturbation> PerturbationLog::Since(uint64_t raw_ns) const {
  std::vector<format::ManifestPerturbation> found;
  for (const Entry& entry : entries_) {
    if (entry.out.to_ns == 0 || entry.out.to_ns >= raw_ns) found.push_back(entry.out);
  }
  if (!left_out_.empty()) {
    found.push_back({std::string(kMore),
                     std::to_string(left_out_.size()) + " others, for which there is no room here",
                     left_out_since_ns_, before_.raw_ns});
  }
  return found;
}

}  // namespace profd::session
