#include "client/words/exit_code.h"

#include <gtest/gtest.h>

namespace profd::client {
namespace {

using base::Code;

v1::SessionInfo Sealed(v1::EndReason reason) {
  v1::SessionInfo info;
  info.set_state(v1::SESSION_STATE_SEALED);
  info.set_end_reason(reason);
  return info;
}

void AddKind(v1::SessionInfo* info, const std::string& kind, v1::Verdict verdict) {
  info->add_kinds()->set_kind(kind);
  info->mutable_kinds(info->kinds_size() - 1)->set_verdict(verdict);
}

ExitCode ResultOf(const v1::SessionInfo& info) { return SessionResult({}, info, kUsualMostLossPercent); }

TEST(ExitCode, OfErrors) {
  EXPECT_EQ(ExitCodeOf(base::Status::Ok()), ExitCode::kOk);
  EXPECT_EQ(ExitCodeOf({Code::kInvalidArgument, ""}), ExitCode::kUsage);
  EXPECT_EQ(ExitCodeOf({Code::kOutOfRange, ""}), ExitCode::kUsage);
  EXPECT_EQ(ExitCodeOf({Code::kNotFound, ""}), ExitCode::kNotFound);
  EXPECT_EQ(ExitCodeOf({Code::kPermissionDenied, ""}), ExitCode::kPermission);
  EXPECT_EQ(ExitCodeOf({Code::kUnauthenticated, ""}), ExitCode::kPermission);
  EXPECT_EQ(ExitCodeOf({Code::kUnavailable, ""}), ExitCode::kUnavailable);
  EXPECT_EQ(ExitCodeOf({Code::kResourceExhausted, ""}), ExitCode::kBusy);
  EXPECT_EQ(ExitCodeOf({Code::kAlreadyExists, ""}), ExitCode::kBusy);
  EXPECT_EQ(ExitCodeOf({Code::kInternal, ""}), ExitCode::kFailed);
  EXPECT_EQ(ExitCodeOf({Code::kFailedPrecondition, ""}), ExitCode::kFailed);
}

TEST(ExitCode, SkippedCountsOnlyWhenNamed) {
  v1::SessionInfo info;
  AddKind(&info, "hbm", v1::VERDICT_STARTED);
  AddKind(&info, "ub", v1::VERDICT_SKIPPED);
  AddKind(&info, "qos", v1::VERDICT_PENDING);
  v1::SessionSpec preset;
  preset.set_preset("all");
  EXPECT_EQ(StartResult(preset, info), ExitCode::kOk);
  v1::SessionSpec named;
  named.add_kinds()->set_kind("hbm");
  EXPECT_EQ(StartResult(named, info), ExitCode::kOk);
  named.add_kinds()->set_kind("ub");
  EXPECT_EQ(StartResult(named, info), ExitCode::kPartlyStarted);
}

TEST(ExitCode, NamedDevicesWithoutAnyKindAreNotAllThatWasAsked) {
  v1::SessionSpec all;
  all.set_all_devices(true);
  v1::SessionInfo info;
  AddKind(&info, "host-sys-cpu", v1::VERDICT_STARTED);
  info.mutable_kinds(0)->set_unit("host");
  EXPECT_EQ(StartResult(all, info), ExitCode::kOk) << "only kinds of the host were asked for";
  AddKind(&info, "hbm", v1::VERDICT_SKIPPED);
  info.mutable_kinds(1)->set_unit("device:all");
  EXPECT_EQ(StartResult(all, info), ExitCode::kPartlyStarted);
  EXPECT_EQ(StartResult({}, info), ExitCode::kOk);
  v1::SessionSpec named;
  named.add_devices(1);
  EXPECT_EQ(StartResult(named, info), ExitCode::kPartlyStarted);
  AddKind(&info, "nic", v1::VERDICT_PENDING);
  info.mutable_kinds(2)->set_unit("device:1");
  EXPECT_EQ(StartResult(named, info), ExitCode::kOk);
}

TEST(ExitCode, FailedAlwaysCounts) {
  v1::SessionInfo info;
  AddKind(&info, "hbm", v1::VERDICT_STARTED);
  AddKind(&info, "ddr", v1::VERDICT_FAILED);
  EXPECT_EQ(StartResult({}, info), ExitCode::kPartlyStarted);
}

TEST(ExitCode, OfASessionThatEnded) {
  for (const v1::EndReason reason :
       {v1::END_REASON_STOPPED, v1::END_REASON_DURATION, v1::END_REASON_TARGET_EXIT}) {
    EXPECT_EQ(ResultOf(Sealed(reason)), ExitCode::kOk);
  }
  EXPECT_EQ(ResultOf(Sealed(v1::END_REASON_DAEMON_STOP)), ExitCode::kUnavailable);
  EXPECT_EQ(ResultOf(Sealed(v1::END_REASON_INTERRUPTED)), ExitCode::kFailed);
  EXPECT_EQ(ResultOf(Sealed(v1::END_REASON_FAILED)), ExitCode::kFailed);
  v1::SessionInfo failed = Sealed(v1::END_REASON_STOPPED);
  failed.set_state(v1::SESSION_STATE_FAILED);
  EXPECT_EQ(ResultOf(failed), ExitCode::kFailed);
}

TEST(ExitCode, WorstOfManyTroubles) {
  v1::SessionInfo info = Sealed(v1::END_REASON_DURATION);
  AddKind(&info, "ddr", v1::VERDICT_FAILED);
  EXPECT_EQ(ResultOf(info), ExitCode::kPartlyStarted);
  info.add_degraded("device 0 lost");
  EXPECT_EQ(ResultOf(info), ExitCode::kPartialLoss);
  info.clear_degraded();
  info.mutable_kinds(0)->set_lost(1);
  EXPECT_EQ(ResultOf(info), ExitCode::kPartialLoss);
  info.set_end_reason(v1::END_REASON_DAEMON_STOP);
  EXPECT_EQ(ResultOf(info), ExitCode::kUnavailable);
  info.set_state(v1::SESSION_STATE_FAILED);
  EXPECT_EQ(ResultOf(info), ExitCode::kFailed);
}

TEST(ExitCode, ASmallShareOfSamplesIsNoLossAndOneEventIs) {
  v1::SessionInfo info = Sealed(v1::END_REASON_DURATION);
  AddKind(&info, "host-cpu", v1::VERDICT_STARTED);
  v1::KindState* kind = info.mutable_kinds(0);
  kind->set_effective_hz(50);
  kind->set_records(990);
  kind->set_lost(10);
  EXPECT_EQ(SessionResult({}, info, 1), ExitCode::kOk);
  EXPECT_EQ(SessionResult({}, info, 0.9), ExitCode::kPartialLoss);
  EXPECT_EQ(SessionResult({}, info, 0), ExitCode::kPartialLoss);
  // Each kind by itself: plenty of another hides nothing.
  AddKind(&info, "hbm", v1::VERDICT_STARTED);
  info.mutable_kinds(1)->set_effective_hz(100);
  info.mutable_kinds(1)->set_records(1'000'000);
  kind = info.mutable_kinds(0);
  kind->set_lost(11);
  EXPECT_EQ(SessionResult({}, info, 1), ExitCode::kPartialLoss);
  kind->set_lost(10);
  kind->set_effective_hz(0);
  EXPECT_EQ(SessionResult({}, info, 1), ExitCode::kPartialLoss);
}

}  // namespace
}  // namespace profd::client
