// What profctl's exit code says to a script; docs/profctl.md has the same table.
#pragma once

#include "base/status.h"
#include "profd/v1/session.pb.h"

namespace profd::client {

enum class ExitCode : int {
  kOk = 0,
  kFailed = 1,
  kUsage = 2,
  kNotFound = 3,
  kPermission = 4,
  kUnavailable = 5,
  kBusy = 6,
  kPartialLoss = 7,
  kPartlyStarted = 8,
  kSomeHosts = 9,  // of --hosts: not all did the same
  kFindings = 10,  // --fail-on: something costs as much
};

ExitCode ExitCodeOf(const base::Status& status);

// 8 when something was tried and failed, or skipped although --collect named it; what a preset skips is
// normal.
ExitCode StartResult(const v1::SessionSpec& asked, const v1::SessionInfo& got);

// Of a kind that has a rate: how much of its samples may be lost before that is a loss.
constexpr double kUsualMostLossPercent = 1;

// Of a session that has ended; the worst of: failed or interrupted 1, ended by the daemon's stop 5, more lost
// than that or the session degraded 7, partly started 8. Of kinds without a rate nothing may be lost: each of
// their records is an event.
ExitCode SessionResult(const v1::SessionSpec& asked, const v1::SessionInfo& got, double most_loss_percent);

}  // namespace profd::client
