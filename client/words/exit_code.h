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

// Of a session that has ended; the worst of: failed or interrupted 1, ended by the daemon's stop 5, records
// lost or the session degraded 7, partly started 8.
ExitCode SessionResult(const v1::SessionSpec& asked, const v1::SessionInfo& got);

}  // namespace profd::client
