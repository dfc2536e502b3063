#include "client/export/read/sources/overlap.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "format/decode/span_writer.h"

namespace profd::client {

namespace {

// Of merged periods; leaves in `periods` what lies behind `cut_ns`.
std::vector<Period> TakeUntil(std::vector<Period>& periods, uint64_t cut_ns) {
  const auto behind = std::partition_point(
      periods.begin(), periods.end(), [cut_ns](const Period& period) { return period.end_ns <= cut_ns; });
  std::vector<Period> taken(periods.begin(), behind);
  if (behind != periods.end() && behind->begin_ns < cut_ns)
    taken.push_back({std::exchange(behind->begin_ns, cut_ns), cut_ns});
  periods.erase(periods.begin(), behind);
  return taken;
}

std::vector<Period> Union(std::vector<Period> periods, const std::vector<Period>& others) {
  if (others.empty()) return periods;
  periods.insert(periods.end(), others.begin(), others.end());
  return Merged(std::move(periods));
}

}  // namespace

std::vector<Period> Merged(std::vector<Period> periods) {
  const auto before = [](const Period& a, const Period& b) { return a.begin_ns < b.begin_ns; };
  if (!std::is_sorted(periods.begin(), periods.end(), before))
    std::sort(periods.begin(), periods.end(), before);
  size_t last = 0;
  for (size_t i = 1; i < periods.size(); ++i) {
    if (periods[i].begin_ns <= periods[last].end_ns) {
      periods[last].end_ns = std::max(periods[last].end_ns, periods[i].end_ns);
    } else {
      periods[++last] = periods[i];
    }
  }
  if (!periods.empty()) periods.resize(last + 1);
  return periods;
}

std::vector<Period> Without(const std::vector<Period>& periods, const std::vector<Period>& without) {
  std::vector<Period> left;
  size_t at = 0;
  for (const Period& period : periods) {
    uint64_t begin_ns = period.begin_ns;
    while (at < without.size() && without[at].end_ns <= begin_ns) ++at;
    for (size_t i = at; i < without.size() && without[i].begin_ns < period.end_ns; ++i) {
      if (without[i].begin_ns > begin_ns) left.push_back({begin_ns, without[i].begin_ns});
      begin_ns = std::max(begin_ns, without[i].end_ns);
    }
    if (begin_ns < period.end_ns) left.push_back({begin_ns, period.end_ns});
  }
  return left;
}

void Overlap::Spans(const format::SpanBatch& batch) {
  to_.Spans(batch);
  for (const format::Span& span : batch.spans) {
    const bool task = span.kind == format::SpanKind::kTask;
    const bool kernel = span.kind == format::SpanKind::kKernel;
    const bool collective = span.kind == format::SpanKind::kComm;
    if (span.device < 0 || (!task && !kernel && !collective)) continue;
    Device& device = devices_[span.device];
    device.first_ns = std::min(device.first_ns, span.begin_ns);
    device.last_ns = std::max(device.last_ns, span.end_ns);
    const format::TaskDetail* detail = batch.DetailOf(span);
    const bool computes = kernel || (detail != nullptr && detail->has_op && !detail->carries_out);
    if (!computes && !collective) continue;
    const Period period{std::max(span.begin_ns, device.done_ns), std::max(span.end_ns, device.done_ns)};
    if (span.begin_ns < device.done_ns) ++late_;
    std::vector<Period>& periods = collective ? device.communicating : device.computing;
    periods.push_back(period);
  }
  for (auto& [number, device] : devices_) {
    if (device.computing.size() + device.communicating.size() >= window_) Give(number, device, false);
  }
}

void Overlap::Give(int number, Device& device, bool all) {
  constexpr std::string_view kNames[] = {"Computing", "Communication", "Communication(Not Overlapped)",
                                         "Free"};
  device.computing = Merged(std::move(device.computing));
  device.communicating = Merged(std::move(device.communicating));
  std::vector<Period> busy = Union(device.computing, device.communicating);
  uint64_t cut_ns = UINT64_MAX;
  if (!all) {
    if (device.computing.size() + device.communicating.size() < window_ / 2) return;
    // Half of it, up to a moment at which the device does nothing; in the middle of it all if there's none.
    const size_t half = busy.size() / 2;
    cut_ns = half > 0 ? busy[half].begin_ns : busy[0].begin_ns + (busy[0].end_ns - busy[0].begin_ns) / 2;
  }
  const std::vector<Period> computing = TakeUntil(device.computing, cut_ns);
  const std::vector<Period> communicating = TakeUntil(device.communicating, cut_ns);
  if (!all) device.done_ns = cut_ns;
  const std::vector<Period> done = TakeUntil(busy, cut_ns);
  if (done.empty() && !(all && device.begun)) return;
  const uint64_t from_ns = std::exchange(device.begun, true) ? device.busy_until_ns : device.first_ns;
  const uint64_t until_ns = all ? std::max(device.last_ns, from_ns) : cut_ns;
  device.busy_until_ns = until_ns;
  const std::vector<Period> lists[] = {computing, communicating, Without(communicating, computing),
                                       Without({{from_ns, until_ns}}, done)};
  format::SpanWriter spans(to_, texts_, "overlap");
  for (size_t kind = 0; kind < std::size(lists); ++kind) {
    const format::TextId name = texts_.Intern(kNames[kind]);
    for (const Period& period : lists[kind]) {
      format::Span& span = spans.Add(format::SpanKind::kOverlap);
      span.begin_ns = period.begin_ns;
      span.end_ns = period.end_ns;
      span.device = number;
      span.name = name;
      span.value = kind;
    }
    spans.Flush();  // so that each batch is in order
  }
}

void Overlap::Finish() {
  for (auto& [number, device] : devices_) Give(number, device, true);
}

}  // namespace profd::client
