#include "client/words/exit_code.h"

#include <algorithm>

namespace profd::client {

ExitCode ExitCodeOf(const base::Status& status) {
  switch (status.code()) {
    case base::Code::kOk:
      return ExitCode::kOk;
    case base::Code::kInvalidArgument:
    case base::Code::kOutOfRange:
      return ExitCode::kUsage;
    case base::Code::kNotFound:
      return ExitCode::kNotFound;
    case base::Code::kPermissionDenied:
    case base::Code::kUnauthenticated:
      return ExitCode::kPermission;
    case base::Code::kUnavailable:
    case base::Code::kUnimplemented:
    case base::Code::kDeadlineExceeded:
      return ExitCode::kUnavailable;
    case base::Code::kAlreadyExists:
    case base::Code::kResourceExhausted:
    case base::Code::kAborted:
      return ExitCode::kBusy;
    case base::Code::kDataLoss:
      return ExitCode::kPartialLoss;
    case base::Code::kCancelled:
    case base::Code::kUnknown:
    case base::Code::kFailedPrecondition:
    case base::Code::kInternal:
      return ExitCode::kFailed;
  }
  return ExitCode::kFailed;
}

ExitCode StartResult(const v1::SessionSpec& asked, const v1::SessionInfo& got) {
  const auto was_named = [&asked](const std::string& kind) {
    return std::any_of(asked.kinds().begin(), asked.kinds().end(),
                       [&kind](const v1::KindRequest& request) { return request.kind() == kind; });
  };
  for (const v1::KindState& kind : got.kinds()) {
    if (kind.verdict() == v1::VERDICT_FAILED) return ExitCode::kPartlyStarted;
    if (kind.verdict() == v1::VERDICT_SKIPPED && was_named(kind.kind())) return ExitCode::kPartlyStarted;
  }
  // Whoever names devices wants something of one.
  const bool devices_were_named = asked.all_devices() || !asked.devices().empty();
  bool skipped = false, collected = false;
  for (const v1::KindState& kind : got.kinds()) {
    if (!kind.unit().starts_with("device:")) continue;
    (kind.verdict() == v1::VERDICT_SKIPPED ? skipped : collected) = true;
  }
  if (devices_were_named && skipped && !collected) return ExitCode::kPartlyStarted;
  return ExitCode::kOk;
}

namespace {

bool HasLost(const v1::SessionInfo& info, double most_percent) {
  return std::any_of(info.kinds().begin(), info.kinds().end(), [most_percent](const v1::KindState& kind) {
    const auto lost = static_cast<double>(kind.lost());
    const double most = kind.effective_hz() > 0 ? most_percent / 100 : 0;
    return lost > most * (lost + static_cast<double>(kind.records()));
  });
}

}  // namespace

ExitCode SessionResult(const v1::SessionSpec& asked, const v1::SessionInfo& got, double most_loss_percent) {
  if (got.state() == v1::SESSION_STATE_FAILED || got.end_reason() == v1::END_REASON_FAILED ||
      got.end_reason() == v1::END_REASON_INTERRUPTED) {
    return ExitCode::kFailed;
  }
  if (got.end_reason() == v1::END_REASON_DAEMON_STOP) return ExitCode::kUnavailable;
  if (got.end_reason() == v1::END_REASON_DISK || got.degraded_size() > 0 || HasLost(got, most_loss_percent))
    return ExitCode::kPartialLoss;
  return StartResult(asked, got);
}

}  // namespace profd::client
