#include "client/show/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace profd::client {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;
using testing::Not;

v1::SessionInfo Info() {
  v1::SessionInfo info;
  info.set_session("s-1");
  info.set_state(v1::SESSION_STATE_RUNNING);
  info.set_directory("/d");
  info.set_elapsed_ns(2'000'000'000);
  info.set_duration_ns(10'000'000'000);
  info.set_bytes(4000);
  v1::KindState* kind = info.add_kinds();
  kind->set_kind("hbm");
  kind->set_unit("device:0");
  kind->set_requested_hz(50);
  kind->set_effective_hz(25);
  kind->set_verdict(v1::VERDICT_STARTED);
  kind->set_bytes(4000);
  kind->set_records(100);
  return info;
}

TEST(Table, AlignsAndLeavesEmptyColumnsOut) {
  Table table({"NAME", ">SIZE", "EMPTY", "LAST"});
  table.Add({"a"s, "1"s, ""s, "x"s});
  table.Add({"größer"s, "1000"s, ""s, ""s});
  EXPECT_EQ(table.Text(false),
            "NAME    SIZE  LAST\n"
            "a          1  x\n"
            "größer  1000\n");
}

TEST(Table, ColoursDoNotMoveColumns) {
  Table table({"A", "B"});
  table.Add({{"x", Colour::kBad}, "y"s});
  EXPECT_EQ(table.Text(true), "\033[1mA\033[0m  \033[1mB\033[0m\n\033[31mx\033[0m  y\n");
}

TEST(Render, SessionShowsAskedAndEffectiveAndThePathLast) {
  EXPECT_EQ(RenderSession(Info(), false, false),
            "session s-1  running\n"
            "KIND  UNIT      ASKED  EFFECTIVE  VERDICT\n"
            "hbm   device:0  50 Hz      25 Hz  started\n"
            "directory /d\n");
}

TEST(Render, StatusShowsBytesRateAndLosses) {
  EXPECT_EQ(RenderSession(Info(), true, false),
            "session s-1  running  2.0 s of 10.0 s  4.0 kB  lost 0\n"
            "KIND  UNIT      ASKED  EFFECTIVE  VERDICT   BYTES      RATE  RECORDS  LOST\n"
            "hbm   device:0  50 Hz      25 Hz  started  4.0 kB  2.0 kB/s      100     0\n"
            "directory /d\n");
}

TEST(Render, StatusShowsWhatTheStorageLimitDoes) {
  v1::SessionInfo info = Info();
  info.set_storage_limit_bytes(200'000'000);
  info.set_used_bytes(198'000'000);
  info.set_aged_bytes(3'000'000'000);
  info.set_window_ns(2'500'000'000);
  EXPECT_THAT(RenderSession(info, true, false),
              HasSubstr("\non disk 198.0 MB of 200.0 MB  the last 2.5 s  aged 3.0 GB\n"));
  EXPECT_THAT(RenderSession(info, false, false), Not(HasSubstr("on disk")));
  info.clear_window_ns();  // of before a restart of profd
  EXPECT_THAT(RenderSession(info, true, false), HasSubstr("\non disk 198.0 MB of 200.0 MB  aged 3.0 GB\n"));
}

TEST(Render, WhatDisturbedASessionIsALineEach) {
  v1::SessionInfo info = Info();
  const auto add = [&info](const std::string& text, uint64_t from_ns, uint64_t to_ns) {
    v1::Perturbation* found = info.add_perturbations();
    found->set_kind("collector");
    found->set_text(text);
    found->set_from_ns(from_ns);
    found->set_to_ns(to_ns);
  };
  add("one\033[31m", 1'500'000'000, 0);
  add("two", 2'000'000'000, 3'000'000'000);
  EXPECT_THAT(RenderSession(info, true, false),
              HasSubstr("\nperturbed: collector: one?[31m (from +1.5 s)\n"
                        "perturbed: collector: two (from +2.0 s to +3.0 s)\n"));
  for (int i = 0; i < 10; ++i) add("more", 0, 0);
  EXPECT_THAT(RenderSession(info, true, false), HasSubstr("perturbed: and 2 more, shown with --json\n"));
}

TEST(Render, SessionSaysWhatWentWrong) {
  v1::SessionInfo info = Info();
  info.set_state(v1::SESSION_STATE_FAILED);
  info.set_error("disk full");
  info.add_degraded("device 0 lost");
  info.mutable_kinds(0)->set_verdict(v1::VERDICT_FAILED);
  info.mutable_kinds(0)->set_reason("occupied");
  const std::string text = RenderSession(info, true, false);
  EXPECT_THAT(text, HasSubstr("failed: disk full\n"));
  EXPECT_THAT(text, HasSubstr("degraded: device 0 lost\n"));
  EXPECT_THAT(text, HasSubstr("occupied"));
}

TEST(Render, ForeignTextIsHarmless) {
  v1::SessionInfo info = Info();
  info.set_session("\x1b[2J");
  info.set_name("a\nb");
  info.set_directory("/d\r");
  info.mutable_kinds(0)->set_reason("\x1b]0;title\x07");
  for (const std::string& text :
       {RenderSession(info, true, false), RenderProgress(info), RenderList({info}, false)}) {
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, Not(HasSubstr("\r")));
  }
}

TEST(Render, ProgressIsOneLine) {
  EXPECT_EQ(RenderProgress(Info()), "s-1  running  2.0 s of 10.0 s  4.0 kB  2.0 kB/s  lost 0");
}

TEST(Render, ListNamesTheEndReason) {
  v1::SessionInfo info = Info();
  info.set_state(v1::SESSION_STATE_SEALED);
  info.set_end_reason(v1::END_REASON_DURATION);
  info.set_used_bytes(1'500'000);
  EXPECT_THAT(RenderList({info}, false), HasSubstr("sealed (duration)"));
  EXPECT_THAT(RenderList({info}, false), HasSubstr("1.5 MB"));
  EXPECT_EQ(RenderList({}, false), "no sessions\n");
}

TEST(Render, DevicesWithoutADriverSaySo) {
  v1::DevicesReply reply;
  reply.set_driver_error("libascend_hal.so: not found");
  v1::KindOffer* offer = reply.add_host_kinds();
  offer->set_kind("host-cpu");
  offer->set_available(true);
  offer->set_min_hz(1);
  offer->set_max_hz(50);
  offer->set_default_hz(10);
  const std::string text = RenderDevices(reply, false);
  EXPECT_THAT(text, HasSubstr("no driver library: libascend_hal.so: not found"));
  EXPECT_THAT(text, HasSubstr("no devices"));
  EXPECT_THAT(text, HasSubstr("host-cpu  1 Hz … 50 Hz, default 10 Hz"));
}

TEST(Render, ChecksShowTheRemedyBelowTheBrokenLink) {
  std::vector<v1::Check> checks(2);
  checks[0].set_name("socket");
  checks[0].set_outcome(v1::OUTCOME_OK);
  checks[0].set_detail("/s");
  checks[1].set_name("door");
  checks[1].set_outcome(v1::OUTCOME_BROKEN);
  checks[1].set_detail("closed");
  checks[1].set_remedy("restart profd");
  EXPECT_EQ(RenderChecks(checks, false),
            "ok      socket  /s\n"
            "broken  door    closed\n"
            "                → restart profd\n");
  EXPECT_THAT(RenderChecks(checks, true), HasSubstr("\033[31mbroken\033[0m"));
}

TEST(Render, TargetsAreATableWithWhyNot) {
  v1::TargetsReply reply;
  EXPECT_THAT(RenderTargets(reply, false), HasSubstr("profctl run"));
  v1::Target* target = reply.add_targets();
  target->set_pid(42);
  target->set_container_pid(7);
  target->set_user("ada");
  target->set_agent_version("1.2");
  target->set_attachable(true);
  (*target->mutable_labels())["rank"] = "3";
  (*target->mutable_labels())["job_id"] = "47\n11";
  target->add_command_line("python3");
  target->add_command_line(std::string(100, 'x'));
  target = reply.add_targets();
  target->set_pid(4300);
  target->set_container_pid(4300);
  target->set_recording_by("s-1");
  target->set_executable("/bin/cat");
  target = reply.add_targets();
  target->set_pid(5);
  target->set_container_pid(5);
  target->set_reason("no agent: start it with one");
  target->add_devices(0);
  target->add_devices(3);
  EXPECT_EQ(RenderTargets(reply, false),
            " PID  INSIDE  USER  DEVICES  LABELS               AGENT  ATTACHABLE  RECORDED BY  COMMAND"
            "                                            REASON\n"
            "  42       7  ada            job_id=47?11 rank=3  1.2    yes                      python3 " +
                std::string(40, 'x') +
                "…\n"
                "4300                                                     recording   s-1          /bin/cat\n"
                "   5                0,3                                  no                       "
                "                                                   no agent: start it with one\n");
}

}  // namespace
}  // namespace profd::client
