#include "client/export/framework/database/step_times.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace profd::client::framework {
namespace {

constexpr int64_t kNoStep = -1, kForEver = INT64_MAX;

// When something ran on a device.
struct Span {
  int64_t begin = 0, end = 0;
  bool is_communication = false;
  bool is_receive = false;

  int64_t ns() const {
    return static_cast<int64_t>(static_cast<uint64_t>(end) - static_cast<uint64_t>(begin));
  }
};
struct OfDevice {
  std::vector<Span> computing, communication;
};

// Which of many times hold a moment. Of those around each other at most some are looked at.
class Holding {
 public:
  static constexpr size_t kMost = 64;

  explicit Holding(std::vector<std::pair<int64_t, int64_t>> times) : times_(std::move(times)) {
    for (size_t i = 0; i < times_.size(); ++i) order_.push_back(i);
    std::ranges::stable_sort(order_, {}, [this](size_t i) { return times_[i].first; });
    for (const size_t i : order_)
      latest_.push_back(std::max(latest_.empty() ? INT64_MIN : latest_.back(), times_[i].second));
  }
  // Those that begin by then and do not end before it, by their numbers.
  std::vector<size_t> At(int64_t ns) const {
    std::vector<size_t> found;
    auto behind = static_cast<size_t>(
        std::ranges::upper_bound(order_, ns, {}, [this](size_t i) { return times_[i].first; }) -
        order_.begin());
    for (; behind > 0 && latest_[behind - 1] >= ns && found.size() < kMost; --behind) {
      if (times_[order_[behind - 1]].second >= ns) found.push_back(order_[behind - 1]);
    }
    std::ranges::sort(found);
    return found;
  }

 private:
  std::vector<std::pair<int64_t, int64_t>> times_;
  std::vector<size_t> order_;
  std::vector<int64_t> latest_;  // of the ends of those so far
};

std::map<int64_t, OfDevice> ReadSpans(bool as_vendor, SqliteEngine& engine) {
  std::map<int64_t, OfDevice> devices;
  if (!engine.HasTable("STRING_IDS") || !engine.HasTable("TASK")) return devices;
  if (engine.HasTable("COMPUTE_TASK_INFO")) {
    engine.ForEach(
        "SELECT t.startNs, t.endNs, t.deviceId FROM COMPUTE_TASK_INFO c JOIN TASK t ON t.globalTaskId = "
        "c.globalTaskId JOIN STRING_IDS s ON s.id = c.name ORDER BY t.startNs",
        [&devices](const SqliteEngine::Row& row) {
          devices[row.Int(2)].computing.push_back({row.Int(0), row.Int(1)});
        });
  }
  if (!engine.HasTable("COMMUNICATION_OP")) return devices;
  // The vendor's has no column for it.
  const bool says_device = !as_vendor && engine.HasColumn("COMMUNICATION_OP", "deviceId");
  const std::string from =
      says_device
          ? "SELECT startNs, endNs, deviceId, s.value FROM COMMUNICATION_OP c"
          : "SELECT startNs, endNs, t.deviceId, s.value FROM COMMUNICATION_OP c JOIN (SELECT connectionId, "
            "deviceId FROM TASK GROUP BY connectionId HAVING COUNT(DISTINCT deviceId) = 1) t ON "
            "t.connectionId = c.connectionId";
  engine.ForEach(from + " LEFT JOIN STRING_IDS s ON s.id = c.opName ORDER BY startNs",
                 [&devices](const SqliteEngine::Row& row) {
                   devices[row.Int(2)].communication.push_back(
                       {row.Int(0), row.Int(1), true, row.Text(3).starts_with("hcom_receive")});
                 });
  return devices;
}

// By their begins. Merged: numbers of those that are left.
void Merge(std::vector<Span>& spans, std::vector<size_t>& merged) {
  for (size_t i = 0; i < spans.size(); ++i) {
    if (merged.empty() || spans[i].begin > spans[merged.back()].end) {
      merged.push_back(i);
    } else {
      Span& open = spans[merged.back()];
      open.end = std::max(open.end, spans[i].end);
    }
  }
}
std::vector<Span> Merged(const std::vector<Span>& spans) {
  std::vector<Span> copy = spans, result;
  std::vector<size_t> merged;
  Merge(copy, merged);
  for (const size_t i : merged) result.push_back(copy[i]);
  return result;
}
int64_t SumOf(const std::vector<Span>& spans) {
  int64_t sum = 0;
  for (const Span& span : spans) sum += span.ns();
  return sum;
}

std::vector<Span> Both(const std::vector<Span>& one, const std::vector<Span>& other) {
  std::vector<Span> both = one;
  both.insert(both.end(), other.begin(), other.end());
  std::ranges::stable_sort(both, {}, &Span::begin);
  return both;
}

void AddRight(const std::vector<Span>& computing, const std::vector<Span>& communication, StepTime& time) {
  const std::vector<Span> busy = Both(computing, communication);
  if (busy.empty()) return;
  const std::vector<Span> all = Merged(busy);
  time.computing = SumOf(Merged(computing));
  time.communication = SumOf(Merged(communication));
  time.not_overlapped = SumOf(all) - time.computing;
  for (const Span& span : communication) {
    if (span.is_receive) time.bubble += span.ns();
  }
  const Span whole{all.front().begin, all.back().end};
  time.idle = whole.ns() - SumOf(all);
  time.stage = whole.ns() - time.bubble;
}

// The vendor's way through two merged lists: what of the communication no computing covers, and the gaps.
void Overlap(std::vector<Span> spans, StepTime& time) {
  Span open = spans.front();
  const auto alone = [&time](int64_t begin, int64_t end) { time.not_overlapped += Span{begin, end}.ns(); };
  for (size_t i = 1; i < spans.size(); ++i) {
    const Span& next = spans[i];
    if (open.end < next.begin) {
      time.idle += Span{open.end, next.begin}.ns();
      if (open.is_communication) alone(open.begin, open.end);
      open = next;
      continue;
    }
    const int64_t begin = std::min(open.end, next.end), end = std::max(open.end, next.end);
    const bool is_longer = open.end < next.end;
    const bool was_communication = open.is_communication;
    if (was_communication) alone(open.begin, next.begin);
    if (is_longer) {
      if (next.is_communication) {
        open = {begin, end, true};
      } else if (was_communication) {
        open = {begin, end, false};
      }
    } else {
      if (next.is_communication) {
        open = {begin, end, false};
      } else if (was_communication) {
        open = {begin, end, true};
      }
    }
  }
  if (open.is_communication) alone(open.begin, open.end);
}

void AddAsVendor(const std::vector<Span>& computing, std::vector<Span> communication, StepTime& time) {
  const std::vector<Span> calculated = Merged(computing);
  std::vector<size_t> merged;
  Merge(communication, merged);
  std::vector<Span> carried;
  carried.reserve(merged.size());
  for (const size_t i : merged) carried.push_back(communication[i]);
  for (const Span& span : communication) {
    if (span.is_receive) time.bubble += span.ns();
  }
  const std::vector<Span> both = Both(carried, calculated);
  if (both.empty()) return;
  time.computing = SumOf(calculated);
  time.communication = SumOf(carried);
  Overlap(both, time);
  int64_t end = both.front().end;
  for (const Span& span : both) end = std::max(end, span.end);
  time.stage = Span{both.front().begin, end}.ns() - time.bubble;
}

}  // namespace

std::vector<Step> DeviceSteps(const Calls& calls, const Linked& linked, bool as_vendor,
                              SqliteEngine& engine) {
  std::vector<Step> steps = HostSteps(calls, linked.tree, as_vendor);
  const bool has_steps = !steps.empty();
  if (!has_steps) steps.push_back({kNoStep, 0, kForEver, 0, kForEver});
  if (!engine.HasTable("CANN_API") || !engine.HasTable("TASK")) return steps;
  // Of a call, the steps in which it was made.
  std::unordered_multimap<int64_t, size_t> of_call;
  std::vector<std::pair<int64_t, int64_t>> on_host;
  on_host.reserve(steps.size());
  for (const Step& step : steps) on_host.emplace_back(step.begin, step.end);
  const Holding holding(std::move(on_host));
  const auto add = [&](int64_t begin, int64_t end, int64_t connection) {
    for (const size_t i : holding.At(begin)) {
      if (end <= steps[i].end) of_call.emplace(connection, i);
    }
  };
  if (as_vendor || !has_steps) {
    engine.ForEach("SELECT startNs, endNs, connectionId FROM CANN_API WHERE type = 10000",
                   [&add](const SqliteEngine::Row& row) { add(row.Int(0), row.Int(1), row.Int(2)); });
  } else {
    for (const auto& [ns, connection] : linked.moments) add(ns, ns, connection);
  }
  std::vector<bool> is_reached(steps.size(), false);
  std::vector<int64_t> ends(steps.size(), 0);
  engine.ForEach("SELECT startNs, endNs, connectionId FROM TASK", [&](const SqliteEngine::Row& row) {
    const auto [from, to] = of_call.equal_range(row.Int(2));
    for (auto at = from; at != to; ++at) {
      const size_t i = at->second;
      steps[i].device_begin = is_reached[i] ? std::min(steps[i].device_begin, row.Int(0)) : row.Int(0);
      ends[i] = std::max(ends[i], row.Int(1));
      is_reached[i] = true;
    }
  });
  for (size_t i = 0; i < steps.size(); ++i) steps[i].device_end = std::max(steps[i].device_end, ends[i]);
  return steps;
}

std::vector<StepTime> StepTimes(const Calls& calls, const std::vector<Step>& steps, bool as_vendor,
                                SqliteEngine& engine) {
  std::vector<StepTime> times;
  std::optional<int64_t> first_call;
  for (const Op& op : calls.ops) {
    const bool is_mark = as_vendor && calls.NameOf(op).starts_with(kMarkPrefix);
    if (!is_mark) first_call = std::min(first_call.value_or(op.begin), op.begin);
  }
  std::vector<std::pair<int64_t, int64_t>> on_device;
  on_device.reserve(steps.size());
  for (const Step& step : steps) on_device.emplace_back(step.device_begin, step.device_end);
  const Holding holding(std::move(on_device));
  for (const auto& [device, all] : ReadSpans(as_vendor, engine)) {
    std::vector<OfDevice> by_step(steps.size());
    const auto sort = [&](const std::vector<Span>& spans, std::vector<Span> OfDevice::*into) {
      for (const Span& span : spans) {
        for (const size_t i : holding.At(span.begin)) {
          if (span.begin == steps[i].device_end) continue;
          (by_step[i].*into).push_back(span);
          if (!as_vendor) break;
        }
      }
    };
    sort(all.computing, &OfDevice::computing);
    sort(all.communication, &OfDevice::communication);
    for (size_t i = 0; i < steps.size(); ++i) {
      const auto& [computing, communication] = by_step[i];
      StepTime time{.device = device, .step = steps[i].number};
      as_vendor ? AddAsVendor(computing, communication, time) : AddRight(computing, communication, time);
      // The vendor's sees no communication that comes first.
      const std::vector<Span> begins = as_vendor ? computing : Both(computing, communication);
      const std::optional<int64_t> begin =
          steps[i].number == kNoStep ? first_call : std::optional(steps[i].begin);
      if (!begins.empty() && begin) {
        int64_t first = begins.front().begin;
        if (as_vendor && !communication.empty()) first = std::min(first, communication.front().begin);
        time.preparing = Span{*begin, first}.ns();
      }
      times.push_back(time);
    }
  }
  return times;
}

}  // namespace profd::client::framework
