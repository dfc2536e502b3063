// What a session says of itself: its state for clients, its warnings, what it was told of its directories.
#include <algorithm>

#include "base/join.h"
#include "daemon/base/log.h"
#include "daemon/session/history/past.h"
#include "daemon/session/life/session.h"

namespace profd::session {

using base::Status;

void Session::AddReason(std::vector<std::string>& reasons, const std::string& reason) {
  if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) reasons.push_back(reason);
}

void Session::NoteMoving(const std::string& output) { moving_to_ = output; }

void Session::NoteMoved(const std::string& directory, const std::string& output) {
  std::replace(directories_.begin(), directories_.end(), directory, MovedTo(directory, output));
}

void Session::NoteMoveEnded(const std::string& output, const Status& status) {
  moving_to_.clear();
  move_failure_.clear();
  if (status.ok()) return;
  move_failure_ = "its directory stays where it is: " + status.message() + "; profctl mv " + setup_.id + " " +
                  output + " tries again";
  base::LogWarn("session " + setup_.id + ": " + move_failure_);
}

void Session::NoteProbe(double bytes_per_second) {
  if (!trace_ || ended()) return;
  trace_->NoteSetting("probed_bytes_per_s", std::to_string(static_cast<uint64_t>(bytes_per_second)));
  const double needed = WriteRate();
  if (bytes_per_second >= needed) return;
  const auto mb = [](double bytes) { return std::to_string(static_cast<uint64_t>(bytes / 1e6)) + " MB/s"; };
  warnings_.push_back("the disk takes some " + mb(bytes_per_second) + ", the session may make " + mb(needed) +
                      ": collect less, or write to a faster disk");
  base::LogWarn("session " + setup_.id + ": " + warnings_.back());
}

// No error: a process may have come to none of their marks.
void Session::NoteUnseenDomains() {
  if (!recordings_) return;
  const std::vector<std::string> unseen = recordings_->UnseenDomains();
  if (!unseen.empty()) warnings_.push_back("no process had a domain of this name: " + base::Joined(unseen));
}

std::vector<std::string> Session::Degraded() const {
  std::vector<std::string> reasons = degraded_;
  if (trace_) {
    for (const std::string& trouble : trace_->troubles()) AddReason(reasons, trouble);
  }
  for (const Window& window : windows_ ? windows_->Info() : std::vector<Window>()) {
    if (window.state == "failed")
      AddReason(reasons, "pid " + std::to_string(window.pid) + ": " + window.text);
  }
  return reasons;
}

std::vector<std::string> Session::Warnings() const {
  std::vector<std::string> warnings = warnings_;
  if (!moving_to_.empty()) warnings.push_back("its directory is being moved to " + moving_to_);
  if (!move_failure_.empty()) warnings.push_back(move_failure_);
  if (const std::string why = budget_->aged_for(); !why.empty())
    warnings.push_back("its oldest data was removed " + why + ": profctl rm makes room, or collect less");
  if (!saving_.empty() && !ended()) warnings.push_back(saving_);
  return warnings;
}

std::vector<KindState> Session::Kinds() const {
  if (trace_ && phase_ != Phase::kArmed) return trace_->Kinds();
  std::vector<KindState> kinds = setup_.plan->kinds;
  if (phase_ != Phase::kArmed) return kinds;
  for (KindState& kind : kinds) {
    if (kind.verdict == Verdict::kStarted) kind.verdict = Verdict::kPending;
  }
  return kinds;
}

SessionInfo Session::Info() const {
  SessionInfo info;
  info.id = setup_.id;
  info.name = setup_.spec.name;
  info.labels = setup_.spec.labels;
  info.uid = setup_.owner.uid;
  info.user = setup_.owner.user;
  info.directories = directories_;
  if (!directories_.empty()) info.directory = directories_.back();
  info.state = state();
  info.end_reason = ended() ? end_reason_ : EndReason::kNone;
  info.error = error_;
  info.degraded = Degraded();
  info.warnings = Warnings();
  info.pids = setup_.spec.pids;
  info.devices = setup_.plan->devices;
  info.start_wall_ns = start_wall_ns_;
  if (recent_ && !ended()) {
    info.held_bytes = recent_->bytes();
    const uint64_t from_ns = recent_->from_ns();
    info.held_ns = from_ns == 0 ? 0 : services_.timers.RawNs() - from_ns;
  }
  info.elapsed_ns = ended() ? elapsed_ns_ : services_.timers.RawNs() - start_raw_ns_;
  info.duration_ns = setup_.spec.duration_ns;
  info.storage_limit_bytes = setup_.spec.storage_limit_bytes;
  info.used_bytes = budget_->used_bytes();
  info.aged_bytes = budget_->aged_bytes();
  info.aged_records = budget_->aged_records();
  info.window_ns = budget_->window_ns();
  const auto since_begin = [this](uint64_t raw_ns) { return raw_ns - std::min(raw_ns, start_raw_ns_); };
  if (!ended()) info.paused = budget_->paused();
  if (!ended() && paused_) info.paused = "it was asked for; profctl resume " + setup_.id + " goes on";
  if (trace_) {
    for (const format::ManifestPause& pause : trace_->pauses())
      info.pauses.push_back(
          {since_begin(pause.from_ns), pause.to_ns == 0 ? 0 : since_begin(pause.to_ns), pause.reason});
  }
  for (const format::ManifestPerturbation& found : perturbations_->Since(0)) {
    info.perturbations.push_back(
        {found.kind, found.text, since_begin(found.from_ns), since_begin(found.to_ns)});
  }
  if (windows_) info.windows = windows_->Info();
  info.kinds = Kinds();
  for (size_t i = 0; i < info.kinds.size(); ++i) {
    if (i < finished_kinds_.size()) {
      info.kinds[i].bytes += finished_kinds_[i].bytes;
      info.kinds[i].records += finished_kinds_[i].records;
      info.kinds[i].lost += finished_kinds_[i].lost;
    }
    info.bytes += info.kinds[i].bytes;
    info.lost += info.kinds[i].lost;
    if (!ended()) continue;  // what was expected is of no use beside what came
    info.kinds[i].bytes_per_s = 0;
    info.kinds[i].record_bytes = 0;
  }
  return info;
}

}  // namespace profd::session
