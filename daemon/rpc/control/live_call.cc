#include "daemon/rpc/control/live_call.h"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/edit_distance.h"
#include "daemon/rpc/calls/call_status.h"

namespace profd::rpc {

using base::Code;
using base::Status;

namespace {

Status CheckKinds(const std::vector<std::string>& kinds) {
  for (const std::string& kind : kinds) {
    if (std::ranges::find(live::Kinds(), kind) != live::Kinds().end()) continue;
    const std::string text = "'" + kind.substr(0, 64) + "' is not a kind of values";
    if (const std::string_view nearest = base::Nearest(kind.substr(0, 64), live::Kinds()); !nearest.empty())
      return {Code::kInvalidArgument, text + ": did you mean " + std::string(nearest) + "?"};
    std::string known = text + "; there are";
    for (const std::string_view one : live::Kinds()) (known += ' ') += one;
    return {Code::kInvalidArgument, known};
  }
  return Status::Ok();
}

Status CheckPeriod(uint32_t period_ms, uint32_t max_hz) {
  const uint32_t least_ms = (1000 + max_hz - 1) / max_hz;
  if (period_ms == 0 || period_ms >= least_ms) return Status::Ok();
  return {Code::kInvalidArgument, "values are read at most " + std::to_string(max_hz) +
                                      " times a second (live.max_hz): an interval of " +
                                      std::to_string(period_ms) + " ms is too short, use " +
                                      std::to_string(least_ms) + " ms or more"};
}

void EncodeLack(const live::Snapshot& snapshot, const std::string& kind, v1::LiveLack* to) {
  using Why = live::Lack::Why;
  to->set_kind(kind);
  const auto lack = std::ranges::find(snapshot.lacks, std::string_view(kind), &live::Lack::kind);
  if (lack == snapshot.lacks.end()) {
    to->set_why(v1::LiveLack::WHY_NO_PERMISSION);
    to->set_text("there are some that you may not see (docs/rights.md)");
    return;
  }
  to->set_why(lack->why == Why::kOff            ? v1::LiveLack::WHY_OFF
              : lack->why == Why::kNotSupported ? v1::LiveLack::WHY_NOT_SUPPORTED
                                                : v1::LiveLack::WHY_NO_DATA);
  to->set_text(lack->text);
}

// Of what the caller may see.
void EncodeSnapshot(const live::Snapshot& snapshot, const auth::Caller& caller,
                    const std::vector<std::string>& kinds, v1::LiveValues* to) {
  to->set_number(snapshot.number);
  to->set_wall_ns(snapshot.wall_ns);
  to->set_period_ns(snapshot.period_ns);
  const live::Metric* last = nullptr;
  v1::LiveMetric* family = nullptr;
  std::set<std::string_view> has;
  for (const live::Sample* sample : live::Visible(snapshot, caller, kinds)) {
    const live::Metric& metric = *sample->metric;
    if (family == nullptr || last != &metric) {
      last = &metric;
      family = to->add_metrics();
      family->set_name(metric.name.data(), metric.name.size());
      family->set_kind(metric.kind.data(), metric.kind.size());
      family->set_unit(metric.unit.data(), metric.unit.size());
      family->set_help(metric.help.data(), metric.help.size());
      family->set_counter(metric.type == live::Metric::Type::kCounter);
    }
    v1::LiveValue* value = family->add_values();
    value->set_value(sample->value);
    value->set_wall_ns(sample->wall_ns == 0 ? snapshot.wall_ns : sample->wall_ns);
    for (const live::Label& label : sample->labels) {
      v1::LiveLabel* pair = value->add_labels();
      pair->set_name(label.name.data(), label.name.size());
      pair->set_value(label.value);
    }
    has.insert(metric.kind);
  }
  for (const std::string& kind : kinds) {
    if (!has.contains(kind)) EncodeLack(snapshot, kind, to->add_lacks());
  }
}

}  // namespace

void LiveCall::Begin(const auth::Caller& /*caller*/, const v1::LiveRequest& request) {
  kinds_.assign(request.kinds().begin(), request.kinds().end());
  period_ns_ = uint64_t{request.period_ms()} * 1'000'000;
  since_ns_ = uint64_t{request.since_ms()} * 1'000'000;
  Status status = CheckKinds(kinds_);
  if (status.ok()) status = live_.Usable();
  if (status.ok()) status = CheckPeriod(request.period_ms(), live_.max_hz());
  if (!status.ok()) return FinishOnce(status);
  if (period_ns_ == 0) period_ns_ = live_.period_ns();
  ctl_.Post([self = Self<LiveCall>()] {
    if (self->ends()) return;
    if (self->since_ns_ != 0) self->OfferHistory();
    self->watching_ = true;
    self->watch_ = self->live_.Watch(
        [self](const live::SnapshotPtr& snapshot) { self->OnSnapshot(snapshot); }, self->period_ns_);
  });
}

// Half a beat of grace: the set nearest to when one is due.
bool LiveCall::IsDue(uint64_t wall_ns, uint64_t beat_ns) {
  if (sent_wall_ns_ != 0 && wall_ns >= sent_wall_ns_ && wall_ns - sent_wall_ns_ + beat_ns / 2 < period_ns_)
    return false;
  sent_wall_ns_ = wall_ns;
  return true;
}

// The history lets go of what is too old while a slow reader has yet to take it: that one does without.
void LiveCall::OfferHistory() {
  const base::Result<auth::Caller> caller = Caller();
  if (!caller.ok()) return FinishOnce(caller.status());
  std::deque<std::function<bool(v1::LiveValues*)>> sets;
  const uint64_t now_ns = base::WallNs();
  for (const live::History::Later& later : live_.Since(now_ns - std::min(now_ns, since_ns_))) {
    const auto set = later.lock();
    if (!IsDue(set->wall_ns, set->names->period_ns)) continue;
    sets.emplace_back([this, later, who = *caller](v1::LiveValues* values) {
      const auto set = later.lock();
      if (set != nullptr) EncodeSnapshot(*live::History::Whole(*set), who, kinds_, values);
      return set != nullptr;
    });
  }
  OfferFirst(std::move(sets));
}

void LiveCall::OnSnapshot(const live::SnapshotPtr& snapshot) {
  if (!IsDue(snapshot->wall_ns, snapshot->period_ns)) return;
  const base::Result<auth::Caller> caller = Caller();
  if (!caller.ok()) return FinishOnce(caller.status());
  Offer([this, snapshot, who = *caller](v1::LiveValues* values) {
    EncodeSnapshot(*snapshot, who, kinds_, values);
  });
}

void LiveCall::Over() {
  // On ctl, where the watch is.
  ctl_.Post([self = Self<LiveCall>()] {
    if (std::exchange(self->watching_, false)) self->live_.Unwatch(self->watch_);
  });
}

}  // namespace profd::rpc
