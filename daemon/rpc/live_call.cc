#include "daemon/rpc/live_call.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "daemon/rpc/call_status.h"

namespace profd::rpc {

using base::Code;
using base::Status;

namespace {

Status CheckKinds(const std::vector<std::string>& kinds) {
  for (const std::string& kind : kinds) {
    if (std::ranges::find(live::Kinds(), kind) != live::Kinds().end()) continue;
    std::string known;
    for (const std::string_view one : live::Kinds()) known += (known.empty() ? "" : " ") + std::string(one);
    return {Code::kInvalidArgument, "'" + kind.substr(0, 64) + "' is no kind of values; there are " + known};
  }
  return Status::Ok();
}

}  // namespace

void LiveCall::Begin(auth::Caller caller, const v1::LiveRequest& request) {
  self_ = shared_from_this();
  caller_ = std::move(caller);
  kinds_.assign(request.kinds().begin(), request.kinds().end());
  period_ns_ = uint64_t{request.period_ms()} * 1'000'000;
  open_->Add(self_);
  Status status = CheckKinds(kinds_);
  if (status.ok()) status = live_.Usable();
  if (!status.ok()) {
    const std::lock_guard lock(mutex_);
    return FinishLocked(status);
  }
  ctl_.Post([self = self_] {
    {
      const std::lock_guard lock(self->mutex_);
      if (self->finished_) return;
    }
    self->watching_ = true;
    self->watch_ =
        self->live_.Watch([self](const live::SnapshotPtr& snapshot) { self->OnSnapshot(snapshot); });
  });
}

void LiveCall::Refuse(const Status& status) {
  self_ = shared_from_this();
  const std::lock_guard lock(mutex_);
  FinishLocked(status);
}

void LiveCall::OnSnapshot(const live::SnapshotPtr& snapshot) {
  // Half a beat of grace: a period of two beats is every second one.
  const uint64_t now_ns = base::MonotonicNs();
  if (sent_ns_ != 0 && now_ns - sent_ns_ + snapshot->period_ns / 2 < period_ns_) return;
  sent_ns_ = now_ns;
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  next_ = snapshot;
  if (!writing_) WriteLocked();
}

void LiveCall::Abort() {
  const std::lock_guard lock(mutex_);
  FinishLocked(Stopping());
}

void LiveCall::OnWriteDone(bool ok) {
  const std::lock_guard lock(mutex_);
  writing_ = false;
  if (!ok) return FinishLocked({Code::kCancelled, "the watcher is gone"});
  if (next_ != nullptr) WriteLocked();
}

void LiveCall::OnCancel() {
  const std::lock_guard lock(mutex_);
  FinishLocked({Code::kCancelled, "the watcher is gone"});
}

void LiveCall::OnDone() {
  open_->Remove(this);
  // On ctl, where the watch is: `self` keeps this until then.
  ctl_.Post([self = std::move(self_)] {
    if (std::exchange(self->watching_, false)) self->live_.Unwatch(self->watch_);
  });
}

void LiveCall::WriteLocked() {
  if (finished_) return;
  EncodeNext();
  writing_ = true;
  StartWrite(&current_);
}

void LiveCall::EncodeNext() {
  const live::SnapshotPtr snapshot = std::exchange(next_, nullptr);
  current_.Clear();
  current_.set_number(snapshot->number);
  current_.set_wall_ns(snapshot->wall_ns);
  current_.set_period_ns(snapshot->period_ns);
  const live::Metric* metric = nullptr;
  v1::LiveMetric* family = nullptr;
  for (const live::Sample* sample : live::Visible(*snapshot, caller_, kinds_)) {
    if (std::exchange(metric, sample->metric) != sample->metric) {
      family = current_.add_metrics();
      family->set_name(metric->name.data(), metric->name.size());
      family->set_kind(metric->kind.data(), metric->kind.size());
      family->set_unit(metric->unit.data(), metric->unit.size());
      family->set_help(metric->help.data(), metric->help.size());
      family->set_counter(metric->type == live::Metric::Type::kCounter);
    }
    v1::LiveValue* value = family->add_values();
    value->set_value(sample->value);
    for (const live::Label& label : sample->labels) {
      v1::LiveLabel* to = value->add_labels();
      to->set_name(label.name.data(), label.name.size());
      to->set_value(label.value);
    }
  }
}

void LiveCall::FinishLocked(const Status& status) {
  if (std::exchange(finished_, true)) return;
  Finish(ToGrpc(status));
}

}  // namespace profd::rpc
