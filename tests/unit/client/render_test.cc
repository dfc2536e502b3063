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

std::string List(const std::vector<v1::SessionInfo>& sessions, const Look& look = {}) {
  return RenderList(sessions, SessionTable(sessions, look), look);
}

std::string Targets(const v1::TargetsReply& reply, const Look& look = {}) {
  return RenderTargets(reply, TargetTable(reply), look);
}

void AddKind(v1::SessionInfo& info, const std::string& kind, const std::string& unit, v1::Verdict verdict,
             uint64_t records, const std::string& reason = "") {
  v1::KindState* added = info.add_kinds();
  added->set_kind(kind);
  added->set_unit(unit);
  added->set_verdict(verdict);
  added->set_records(records);
  added->set_bytes(records * 10);
  added->set_reason(reason);
}

TEST(Render, SessionSaysWhatProgramsWereTold) {
  v1::SessionInfo info = Info();
  v1::Window* window = info.add_windows();
  window->set_pid(7);
  window->set_door("dynolog");
  window->set_state("told");
  window->set_text("kineto has been told");
  window->set_path("/tmp/\x1bt");
  EXPECT_THAT(RenderSession(info, true, Look{}),
              HasSubstr("\npid 7 by the door dynolog, told: kineto has been told; /tmp/?t\n"));
}

TEST(Render, SessionShowsAskedAndEffectiveAndThePathLast) {
  EXPECT_EQ(RenderSession(Info(), false, Look{}),
            "session s-1  running\n"
            "KIND  UNIT      ASKED  EFFECTIVE  VERDICT\n"
            "hbm   device:0  50 Hz      25 Hz  started\n"
            "directory /d\n");
}

TEST(Render, StatusShowsBytesRateAndLosses) {
  EXPECT_EQ(RenderSession(Info(), true, Look{}),
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
  EXPECT_THAT(RenderSession(info, true, Look{}),
              HasSubstr("\non disk 198.0 MB of 200.0 MB  the last 2.5 s  aged 3.0 GB\n"));
  EXPECT_THAT(RenderSession(info, false, Look{}), Not(HasSubstr("on disk")));
  info.clear_window_ns();  // of before a restart of profd
  EXPECT_THAT(RenderSession(info, true, Look{}), HasSubstr("\non disk 198.0 MB of 200.0 MB  aged 3.0 GB\n"));
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
  EXPECT_THAT(RenderSession(info, true, Look{}),
              HasSubstr("\nperturbed: collector: one?[31m (from +1.5 s)\n"
                        "perturbed: collector: two (from +2.0 s to +3.0 s)\n"));
  add("two", 8'000'000'000, 9'000'000'000);
  EXPECT_THAT(RenderSession(info, true, Look{}),
              HasSubstr("perturbed: collector: two (2 times, from +2.0 s to +9.0 s)\n"));
  for (int i = 0; i < 10; ++i) add(std::string("more ") + static_cast<char>('a' + i), 0, 0);
  EXPECT_THAT(RenderSession(info, true, Look{}), HasSubstr("perturbed: and 2 more, shown with --json\n"));
}

TEST(Render, EqualDevicesAreOneLineAndWhatIsWrongComesFirst) {
  v1::SessionInfo info;
  info.set_session("s-1");
  info.set_elapsed_ns(1'000'000'000);
  for (const char* unit : {"device:0", "device:1", "device:2", "device:7"}) {
    AddKind(info, "hbm", unit, v1::VERDICT_STARTED, 100);
    AddKind(info, "ddr", unit, v1::VERDICT_SKIPPED, 0, "a 910B has no ddr");
    AddKind(info, "ub", unit, v1::VERDICT_SKIPPED, 0, "a 910B has no ub");
    AddKind(info, "aicpu", unit, v1::VERDICT_STARTED, 0);
  }
  AddKind(info, "pcie", "device:0", v1::VERDICT_FAILED, 0, "occupied");
  info.mutable_kinds(4)->set_lost(3);  // hbm of device 1
  info.mutable_kinds(4)->set_reason("3 lost on 1");
  info.mutable_kinds(8)->set_reason("4 lost on 2");
  info.mutable_kinds(8)->set_lost(4);  // … and 2
  EXPECT_EQ(RenderSession(info, true, Look{}),
            "session s-1  unknown  1.0 s of 0 ms  0 B  lost 0\n"
            "KIND  UNIT        VERDICT   BYTES      RATE  RECORDS  LOST  REASON\n"
            "pcie  device:0    failed      0 B     0 B/s        0     0  occupied\n"
            "hbm   device:1,2  started  2.0 kB  2.0 kB/s      200     7  … lost on …\n"
            "hbm   device:0,7  started  2.0 kB  2.0 kB/s      200     0\n"
            "no data from aicpu (device:0-2,7)\n"
            "skipped ddr, ub (device:0-2,7): a 910B has none\n");
  const std::string all = RenderSession(info, true, Look{.all = true});
  EXPECT_EQ(std::ranges::count(all, '\n'), 2 + info.kinds_size()) << all;
}

TEST(Render, WhatAFlightRecorderHasIsInMemory) {
  v1::SessionInfo info;
  info.set_elapsed_ns(1'000'000'000);
  AddKind(info, "hbm", "device:0", v1::VERDICT_STARTED, 0);
  EXPECT_THAT(RenderSession(info, true, Look{}), HasSubstr("no data from hbm (device:0)\n"));
  info.set_held_bytes(100);
  EXPECT_THAT(RenderSession(info, true, Look{}), HasSubstr("in memory only: hbm (device:0)\n"));
}

TEST(Render, ManyReasonsAreNamedAndSaidWithAll) {
  v1::SessionInfo info;
  for (int i = 0; i < 8; ++i)
    AddKind(info, "k" + std::to_string(i), "host", v1::VERDICT_SKIPPED, 0, "reason " + std::to_string(i));
  const std::string text = RenderSession(info, true, Look{});
  EXPECT_THAT(text,
              HasSubstr("skipped k2 (host): reason 2\nskipped also k3, k4, k5, k6, k7; --all says why\n"));
  EXPECT_THAT(RenderSession(info, true, Look{.all = true}), HasSubstr("reason 7"));
}

TEST(Render, WarningsThatAreSaidTwiceAreSaidOnce) {
  v1::SessionInfo info = Info();
  for (const char* warning : {"a", "b", "a"}) info.add_warnings(warning);
  EXPECT_THAT(RenderSession(info, true, Look{}), HasSubstr("\nwarning: a (2 times)\nwarning: b\n"));
}

TEST(Render, EqualDevicesAreShownOnce) {
  v1::DevicesReply reply;
  reply.set_driver_path("/lib");
  for (uint32_t number = 0; number < 4; ++number) {
    v1::Device* device = reply.add_devices();
    device->set_device(number);
    device->set_chip("910B3");
    device->set_status(number == 2 ? 4 : 1);
    for (uint32_t other = 0; other < 4; ++other) {
      if (other == number) continue;
      device->add_links()->set_device(other);
      device->mutable_links(device->links_size() - 1)->set_kind(other / 2 == number / 2 ? "SIO" : "HCCS");
    }
    if (number != 1) {
      device->add_holders()->set_kind("hbm");
      device->mutable_holders(0)->set_holder("session 7 of ada");
    }
    for (const char* kind : {"hbm", "ddr"}) {
      v1::KindOffer* offer = device->add_kinds();
      offer->set_kind(kind);
      offer->set_available(kind == "hbm"s);
      offer->set_reason(kind == "hbm"s ? "" : "a 910B has no ddr");
    }
  }
  const std::string text = RenderDevices(reply, Look{});
  EXPECT_THAT(text, HasSubstr("4 devices, 3 working\n\ndevice 2  910B3  communication lost"));
  EXPECT_THAT(text, HasSubstr("\ndevices 0,1,3  910B3  working"));
  EXPECT_THAT(text, HasSubstr("hbm   7 on 0,3\n"));
  EXPECT_THAT(text, HasSubstr("hbm   7\n"));  // of device 2, which is alone
  EXPECT_THAT(text, HasSubstr("not here: ddr: a 910B has none\n"));
  EXPECT_THAT(text, HasSubstr("\nheld by session 7 of ada\n"));
  EXPECT_THAT(text, HasSubstr("     0  HCCS to 2,3; SIO to 1\n"));
  const std::string all = RenderDevices(reply, Look{.all = true});
  EXPECT_THAT(all, HasSubstr("\ndevice 3  910B3"));
  EXPECT_THAT(all, HasSubstr("device 0  X     SIO   HCCS  HCCS"));
}

TEST(Render, AListBeginsWithItsSums) {
  std::vector<v1::SessionInfo> sessions(3);
  for (size_t i = 0; i < 3; ++i) {
    sessions[i].set_session("s-" + std::to_string(i));
    sessions[i].set_state(i == 0 ? v1::SESSION_STATE_FAILED : v1::SESSION_STATE_SEALED);
    sessions[i].set_used_bytes(1'000'000);
  }
  sessions[2].set_lost(5);
  EXPECT_THAT(List(sessions),
              testing::StartsWith(
                  "3 sessions: 1 failed, 2 sealed; 3.0 MB on disk; 1 lost something, 5 records in all\n"));
}

TEST(Render, SessionSaysWhatWentWrong) {
  v1::SessionInfo info = Info();
  info.set_state(v1::SESSION_STATE_FAILED);
  info.set_error("disk full");
  info.add_degraded("device 0 lost");
  info.mutable_kinds(0)->set_verdict(v1::VERDICT_FAILED);
  info.mutable_kinds(0)->set_reason("occupied");
  const std::string text = RenderSession(info, true, Look{});
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
  for (const std::string& text : {RenderSession(info, true, Look{}), RenderProgress(info), List({info})}) {
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
  EXPECT_THAT(List({info}), HasSubstr("sealed (duration)"));
  EXPECT_THAT(List({info}), HasSubstr("1.5 MB"));
  EXPECT_EQ(List({}), "no sessions\n");
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
  const std::string text = RenderDevices(reply, Look{});
  EXPECT_THAT(text, HasSubstr("no driver library: libascend_hal.so: not found"));
  EXPECT_THAT(text, HasSubstr("no devices"));
  EXPECT_THAT(text, HasSubstr("host-cpu  1–50 Hz, default 10"));
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
  EXPECT_EQ(RenderChecks(checks, Look{}),
            "ok      socket  /s\n"
            "broken  door    closed\n"
            "                → restart profd\n");
  EXPECT_THAT(RenderChecks(checks, {.coloured = true}), HasSubstr("\033[31mbroken\033[0m"));
}

TEST(Render, EqualChecksOfDevicesAreOne) {
  std::vector<v1::Check> checks(4);
  for (size_t i = 0; i < 4; ++i) {
    checks[i].set_name("device " + std::to_string(i));
    checks[i].set_outcome(v1::OUTCOME_OK);
    checks[i].set_detail(i == 3 ? "other" : "same");
  }
  EXPECT_EQ(RenderChecks(checks, Look{}), "ok      device 0-2  same\nok      device 3    other\n");
}

TEST(Render, TargetsAreATableWithWhyNot) {
  v1::TargetsReply reply;
  EXPECT_THAT(Targets(reply), HasSubstr("profctl run"));
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
  EXPECT_EQ(Targets(reply),
            "3 processes: 1 attachable, 1 recorded, 1 not attachable\n"
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
