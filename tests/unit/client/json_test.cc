// The names that scripts depend on: a change here breaks somebody.
#include "client/show/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace profd::client {
namespace {

using Json = nlohmann::json;

Json Parse(const std::string& text) {
  EXPECT_EQ(text.find('\n'), text.size() - 1) << "one line";
  return Json::parse(text);
}

v1::SessionInfo Info() {
  v1::SessionInfo info;
  info.set_session("s-1");
  info.set_name("n");
  (*info.mutable_labels())["k"] = "v";
  info.set_uid(7);
  info.set_user("ada");
  info.set_directory("/d/2");
  info.add_directories("/d/1");
  info.add_directories("/d/2");
  info.set_state(v1::SESSION_STATE_SEALED);
  info.set_end_reason(v1::END_REASON_TARGET_EXIT);
  info.add_degraded("r");
  info.add_pids(42);
  info.add_devices(0);
  info.set_start_wall_ns(1'700'000'000'123'000'000);
  info.set_elapsed_ns(1'500'000'000);
  info.set_duration_ns(10'000'000'000);
  info.set_bytes(18'446'744'073'709'551'615U);
  info.set_lost(3);
  v1::KindState* kind = info.add_kinds();
  kind->set_kind("hbm");
  kind->set_unit("device:0");
  kind->set_requested_hz(50);
  kind->set_effective_hz(12.5);
  kind->set_verdict(v1::VERDICT_STARTED);
  kind->set_reason("shared");
  kind->set_bytes(1);
  kind->set_records(2);
  kind->set_lost(3);
  kind->set_bytes_per_s(9600);
  kind->set_record_bytes(24);
  v1::Window* window = info.add_windows();
  window->set_pid(7);
  window->set_door("dynolog");
  window->set_client("kineto");
  window->set_state("told");
  window->set_text("has been told");
  window->set_path("/tmp/t");
  info.set_held_bytes(5);
  info.set_held_ns(500'000'000);
  return info;
}

TEST(JsonOutput, SessionHasEveryNameOfTheContract) {
  const Json expected = Json::parse(R"({
    "session": "s-1", "name": "n", "labels": {"k": "v"}, "user": "ada", "uid": 7,
    "directory": "/d/2", "directories": ["/d/1", "/d/2"], "state": "sealed", "end_reason": "target_exit",
    "error": "", "degraded": ["r"], "pids": [42], "devices": [0],
    "started_at": "2023-11-14T22:13:20.123Z", "elapsed_s": 1.5, "duration_s": 10,
    "storage_limit_bytes": 0, "bytes": 18446744073709551615, "lost": 3,
    "used_bytes": 0, "aged_bytes": 0, "aged_records": 0, "window_s": 0, "expected_bytes_per_s": 9600, "held_bytes": 5, "held_s": 0.5, "pinned": false, "paused": "", "pauses": [], "perturbations": [], "warnings": [], "windows": [{"pid": 7, "door": "dynolog", "client": "kineto", "state": "told", "text": "has been told", "path": "/tmp/t"}], "kinds": [{"kind": "hbm", "unit": "device:0", "requested_hz": 50, "effective_hz": 12.5,
               "verdict": "started", "reason": "shared", "bytes": 1, "records": 2, "lost": 3,
               "bytes_per_s": 9600, "record_bytes": 24}]})");
  EXPECT_EQ(Parse(SessionJson(Info())), expected);
}

TEST(JsonOutput, StatesReasonsAndVerdicts) {
  const char* states[] = {"unknown", "pending", "armed", "running", "stopping", "sealed", "failed"};
  const char* reasons[] = {"", "stopped", "duration", "target_exit", "daemon_stop", "failed", "interrupted"};
  const char* verdicts[] = {"unknown", "started", "pending", "skipped", "failed"};
  v1::SessionInfo info = Info();
  for (int i = 0; i < 7; ++i) {
    info.set_state(static_cast<v1::SessionState>(i));
    info.set_end_reason(static_cast<v1::EndReason>(i));
    EXPECT_EQ(Parse(SessionJson(info))["state"], states[i]);
    EXPECT_EQ(Parse(SessionJson(info))["end_reason"], reasons[i]);
  }
  for (int i = 0; i < 5; ++i) {
    info.mutable_kinds(0)->set_verdict(static_cast<v1::Verdict>(i));
    EXPECT_EQ(Parse(SessionJson(info))["kinds"][0]["verdict"], verdicts[i]);
  }
}

TEST(JsonOutput, ListsAreObjectsEvenWhenEmpty) {
  EXPECT_EQ(Parse(SessionsJson({})), Json::parse(R"({"sessions": []})"));
  EXPECT_EQ(Parse(SessionsJson({Info(), Info()}))["sessions"].size(), 2U);
  const Json devices = Parse(DevicesJson({}));
  EXPECT_EQ(devices["devices"], Json::array());
  EXPECT_EQ(devices["host_kinds"], Json::array());
  EXPECT_EQ(Parse(SessionJson({}))["kinds"], Json::array());
  EXPECT_EQ(Parse(SessionJson({}))["labels"], Json::object());
  EXPECT_EQ(Parse(SessionJson({}))["started_at"], nullptr);
}

TEST(JsonOutput, Devices) {
  v1::DevicesReply reply;
  reply.set_profd_version("1");
  reply.set_driver_path("/hal.so");
  reply.set_driver_api_version(5);
  reply.add_missing_symbols("halX");
  v1::Device* device = reply.add_devices();
  device->set_device(1);
  device->set_chip("910B3");
  device->set_status(1);
  device->add_channels(3);
  v1::KindOffer* offer = device->add_kinds();
  offer->set_kind("llc");
  offer->set_min_hz(1);
  offer->set_max_hz(100);
  offer->set_default_hz(50);
  offer->add_modes("read");
  offer->set_available(true);
  v1::KindHolder* holder = device->add_holders();
  holder->set_kind("llc");
  holder->set_holder("s-1");
  const Json json = Parse(DevicesJson(reply));
  EXPECT_EQ(json["devices"][0]["device"], 1);
  EXPECT_EQ(json["devices"][0]["chip"], "910B3");
  EXPECT_EQ(json["devices"][0]["health"], "working");
  EXPECT_EQ(json["devices"][0]["kinds"],
            Json::parse(R"([{"kind": "llc", "min_hz": 1, "max_hz": 100, "default_hz": 50, "modes": ["read"],
                             "available": true, "reason": ""}])"));
  EXPECT_EQ(json["devices"][0]["holders"], Json::parse(R"([{"kind": "llc", "holder": "s-1"}])"));
  EXPECT_EQ(
      json["driver"],
      Json::parse(R"({"path": "/hal.so", "error": "", "api_version": 5, "missing_symbols": ["halX"]})"));
  device->set_status(4);
  EXPECT_EQ(Parse(DevicesJson(reply))["devices"][0]["health"], "communication lost");
}

TEST(JsonOutput, Targets) {
  v1::TargetsReply reply;
  EXPECT_EQ(Parse(TargetsJson(reply)), Json::parse(R"({"targets": []})"));
  v1::Target* target = reply.add_targets();
  target->set_pid(42);
  target->set_container_pid(7);
  target->set_parent_pid(41);
  target->set_forked(true);
  target->set_uid(1000);
  target->set_user("ada");
  target->set_executable("/bin/python3");
  target->add_command_line("python3");
  target->add_command_line("train.py");
  (*target->mutable_labels())["rank"] = "3";
  (*target->mutable_labels())["job_id"] = "4711";
  target->add_devices(0);
  target->set_agent_version("1.2");
  target->set_attachable(true);
  target->set_door("dynolog: kineto");
  target->set_registered_wall_ns(1'700'000'000'123'000'000);
  v1::AgentCapability* capability = target->add_capabilities();
  capability->set_kind("agent-range");
  capability->set_available(true);
  EXPECT_EQ(Parse(TargetsJson(reply))["targets"][0], Json::parse(R"({
      "pid": 42, "container_pid": 7, "parent_pid": 41, "forked": true, "user": "ada", "uid": 1000,
      "executable": "/bin/python3", "command_line": ["python3", "train.py"],
      "labels": {"job_id": "4711", "rank": "3"}, "devices": [0], "agent_version": "1.2", "attachable": true,
      "reason": "", "registered_at": "2023-11-14T22:13:20.123Z", "last_seen_at": null, "recording_by": "", "door": "dynolog: kineto",
      "capabilities": [{"kind": "agent-range", "available": true, "reason": ""}]})"));
}

TEST(JsonOutput, ChecksAreOkUnlessOneIsBroken) {
  std::vector<v1::Check> checks(2);
  checks[0].set_name("socket");
  checks[0].set_outcome(v1::OUTCOME_OK);
  checks[1].set_name("disk");
  checks[1].set_outcome(v1::OUTCOME_WARN);
  checks[1].set_detail("small");
  checks[1].set_remedy("tidy");
  EXPECT_EQ(Parse(ChecksJson(checks)), Json::parse(R"({"ok": true, "checks": [
      {"name": "socket", "outcome": "ok", "detail": "", "remedy": ""},
      {"name": "disk", "outcome": "warn", "detail": "small", "remedy": "tidy"}]})"));
  checks[0].set_outcome(v1::OUTCOME_BROKEN);
  EXPECT_EQ(Parse(ChecksJson(checks))["ok"], false);
}

TEST(JsonOutput, BrokenTextStaysJson) {
  v1::SessionInfo info = Info();
  info.set_error("a\"b\\c\nd\x1b \xff");
  EXPECT_EQ(Parse(SessionJson(info))["error"], "a\"b\\c\nd\x1b \xEF\xBF\xBD");
}

}  // namespace
}  // namespace profd::client
