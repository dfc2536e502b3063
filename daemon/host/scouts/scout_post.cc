#include "daemon/host/scouts/scout_post.h"

#include <utility>

#include "base/calendar.h"
#include "base/clock.h"

namespace profd::host {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr uint64_t kPatienceNs = 5'000'000'000;

std::string Of(const std::vector<NamedPid>& members) {
  if (members.empty()) return "nobody";
  std::string of = "pid " + std::to_string(members.front().first);
  if (members.size() > 1) of += " and " + std::to_string(members.size() - 1) + " more";
  return of;
}

}  // namespace

Result<ScoutPost> ScoutPost::Start(uid_t user, StandIn::Work work, const ScoutOrder& order,
                                   std::vector<NamedPid> members) {
  PROFD_ASSIGN_OR_RETURN(StandIn stand_in, StandIn::Start(user, work));
  ScoutCall call{.what = ScoutCall::What::kBegin, .order = order, .members = std::move(members)};
  stand_in.Say(call.Text());
  return ScoutPost(std::move(stand_in), std::move(call.members));
}

ScoutPost::ScoutPost(StandIn stand_in, std::vector<NamedPid> members)
    : stand_in_(std::move(stand_in)),
      of_(Of(members)),
      heard_ns_(base::MonotonicNs()),
      heard_raw_ns_(base::RawNs()),
      heard_wall_ns_(base::WallNs()) {}

void ScoutPost::TakeIn(const std::vector<NamedPid>& members) {
  if (!ended_)
    stand_in_.Say(ScoutCall{.what = ScoutCall::What::kTakeIn, .order = {}, .members = members}.Text());
}

std::optional<ScoutLines> ScoutPost::Next() {
  if (ended_) return std::nullopt;
  const auto text = stand_in_.Hear();
  if (!text.ok()) {
    killed_ = true;
    Fail(text.status().In(of_));
    return std::nullopt;
  }
  if (!*text) {
    if (base::MonotonicNs() - heard_ns_ > kPatienceNs) GiveUp();
    return std::nullopt;
  }
  auto report = ScoutReport::Of(**text);
  if (!report) {
    Fail({Code::kInternal, of_ + ": the process that looks at it says nonsense"});
    return std::nullopt;
  }
  if (report->hangs) {
    GiveUp();
    return std::move(report->lines);
  }
  heard_ns_ = base::MonotonicNs();
  heard_raw_ns_ = base::RawNs();
  heard_wall_ns_ = base::WallNs();
  if (!begun_) {
    begun_ = report->code == Code::kOk ? Status::Ok() : Status(report->code, report->message);
    if (begun_->ok()) note_ = report->message;
  }
  ended_ = report->last || !begun_->ok();
  return std::move(report->lines);
}

void ScoutPost::End() {
  if (!ended_) stand_in_.Say(ScoutCall{}.Text());
}

void ScoutPost::GiveUp() {
  if (ended_) return;
  (void)stand_in_.GiveUp();
  Fail({Code::kDeadlineExceeded,
        of_ + " hangs: reading its memory has not returned since " + base::TimeOfDay(heard_wall_ns_)});
}

void ScoutPost::Fail(const Status& why) {
  outcome_ = why;
  ended_ = true;
  if (!begun_) begun_ = why;
}

}  // namespace profd::host
