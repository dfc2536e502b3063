#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <future>
#include <limits>
#include <vector>

#include "base/version.h"
#include "tests/unit/rpc/served_test.h"

namespace profd::rpc {
namespace {

using base::Code;
using client::ControlClient;
using session::Fake;
using testing::ElementsAre;
using testing::HasSubstr;

session::SessionInfo Info(session::State state) {
  session::SessionInfo info;
  info.id = "s-1";
  info.name = "née";
  info.labels = {{"job", "llm"}, {"rank", "0"}};
  info.uid = 7;
  info.user = "ada";
  info.directory = "/out/PROF_2";
  info.directories = {"/out/PROF_1", "/out/PROF_2"};
  info.state = state;
  info.end_reason = session::EndReason::kNone;
  info.error = "e";
  info.degraded = {"d1", "d2"};
  info.pids = {42, 43};
  info.devices = {0, 5};
  info.start_wall_ns = 1'700'000'000'000'000'000;
  info.elapsed_ns = 2;
  info.duration_ns = 3;
  info.storage_limit_bytes = 4;
  info.bytes = 5;
  info.lost = 6;
  info.used_bytes = 7;
  info.aged_bytes = 8;
  info.aged_records = 9;
  info.window_ns = 10;
  info.kinds = {{format::Kind::kHbm, "device:0", 50, 25, session::Verdict::kStarted, "shared", 10, 11, 12},
                {format::Kind::kLlc, "device:0", 50, 0, session::Verdict::kFailed, "occupied", 0, 0, 0}};
  return info;
}

class RpcTest : public ServedTest {
 protected:
  static void Put(const session::SessionInfo& info) {
    const std::lock_guard lock(Fake().mutex);
    Fake().sessions[info.id] = info;
  }
};

TEST_F(RpcTest, HelloNeedsNoTicket) {
  ControlClient control(socket_, "");
  const base::Result<v1::HelloReply> hello = control.Hello();
  ASSERT_TRUE(hello.ok()) << hello.status().message();
  EXPECT_EQ((*hello).profd_version(), base::kVersion);
}

TEST_F(RpcTest, EverythingElseNeedsOne) {
  Put(Info(session::State::kRunning));
  const std::string wrong(64, 'a');
  for (const std::string& ticket : {std::string(), wrong}) {
    ControlClient control(socket_, ticket);
    EXPECT_EQ(control.Start({}).Now().status().code(), Code::kUnauthenticated);
    EXPECT_EQ(control.Stop({}).Now().status().code(), Code::kUnauthenticated);
    EXPECT_EQ(control.Get("s-1").Now().status().code(), Code::kUnauthenticated);
    EXPECT_EQ(control.List().Now().status().code(), Code::kUnauthenticated);
    EXPECT_EQ(control.Devices().Now().status().code(), Code::kUnauthenticated);
    EXPECT_EQ(control.Doctor(0).Now().status().code(), Code::kUnauthenticated);
    EXPECT_EQ(control.Watch("s-1", 0, [](const v1::SessionInfo&) { ADD_FAILURE(); }).status().code(),
              Code::kUnauthenticated);
  }
}

TEST_F(RpcTest, TheDriversCallsComeAsTheyWere) {
  driver::TapedCall read{
      .began_ns = 5, .ended_ns = 9, .device = 3, .channel = 50, .call = "prof_channel_read"};
  read.code = 2;
  read.given = {std::byte{1}};
  read.answered = {std::byte{0}, std::byte{0xff}};
  driver::TapedCall count{.call = "drvGetDevNum"};
  count.code = -4;
  {
    const std::lock_guard lock(Fake().mutex);
    Fake().tape = {.calls = {read, count}, .left_out = {.calls = 7, .bytes = 70}};
  }
  const client::DoorClient door = Knock();
  v1::TapeRequest request;
  request.set_order(v1::TAPE_ORDER_BEGIN);
  request.add_devices(3);
  request.set_most_bytes(99);
  ControlClient control(socket_, door.ticket());
  const auto reply = control.Ask<v1::TapeReply>(request, ControlClient::Patience::kQuick).Now();
  ASSERT_TRUE(reply.ok()) << reply.status().message();
  ASSERT_EQ(reply->calls_size(), 2);
  EXPECT_EQ(
      reply->calls(0).ShortDebugString(),
      R"(call: "prof_channel_read" device: 3 channel: 50 began_ns: 5 ended_ns: 9 code: 2 given: "\001" answered: "\000\377")");
  EXPECT_FALSE(reply->calls(1).has_device());
  EXPECT_EQ(reply->calls(1).code(), -4);
  EXPECT_EQ(reply->left_out_calls(), 7U);
  EXPECT_EQ(reply->left_out_bytes(), 70U);
  const std::lock_guard lock(Fake().mutex);
  EXPECT_EQ(Fake().taped.what, session::TapeOrder::What::kBegin);
  EXPECT_THAT(Fake().taped.devices, ElementsAre(3));
  EXPECT_EQ(Fake().taped.most_bytes, 99U);
}

TEST_F(RpcTest, TicketEndsWithItsDoor) {
  Put(Info(session::State::kRunning));
  std::string ticket;
  {
    const client::DoorClient door = Knock();
    ticket = door.ticket();
    EXPECT_TRUE(ControlClient(socket_, ticket).Get("s-1").Now().ok());
  }
  // The door hears of the close in its own time.
  while (tickets_.Find(ticket).ok()) std::this_thread::yield();
  EXPECT_EQ(ControlClient(socket_, ticket).Get("s-1").Now().status().code(), Code::kUnauthenticated);
}

TEST_F(RpcTest, StartCarriesTheWholeRequestAndTheWholeAnswer) {
  Put(Info(session::State::kRunning));
  v1::SessionSpec spec;
  v1::KindRequest* kind = spec.add_kinds();
  kind->set_kind("llc");
  kind->set_mode("write");
  kind->set_hz(12.5);
  spec.set_preset("all");
  spec.add_pids(42);
  spec.add_devices(3);
  spec.set_duration_ns(1);
  spec.set_delay_ns(2);
  spec.set_storage_limit_bytes(300'000'000);
  spec.set_name("n");
  (*spec.mutable_labels())["k"] = "v";

  const client::DoorClient door = Knock();
  const base::Result<v1::SessionInfo> reply = ControlClient(socket_, door.ticket()).Start(spec).Now();
  ASSERT_TRUE(reply.ok()) << reply.status().message();

  const std::lock_guard lock(Fake().mutex);
  EXPECT_EQ(Fake().caller.uid, ::getuid());
  EXPECT_EQ(Fake().caller.pid, ::getpid());
  EXPECT_NE(Fake().caller.user, "");
  const session::SessionSpec& got = Fake().started;
  ASSERT_EQ(got.kinds.size(), 1U);
  EXPECT_EQ(got.kinds[0].kind, format::Kind::kLlc);
  EXPECT_EQ(got.kinds[0].mode, "write");
  EXPECT_EQ(got.kinds[0].hz, 12.5);
  EXPECT_EQ(got.preset, "all");
  EXPECT_THAT(got.pids, ElementsAre(42));
  EXPECT_FALSE(got.all_devices);
  EXPECT_THAT(got.devices, ElementsAre(3U));
  EXPECT_EQ(got.duration_ns, 1U);
  EXPECT_EQ(got.delay_ns, 2U);
  EXPECT_EQ(got.storage_limit_bytes, 300'000'000U);
  EXPECT_EQ(got.name, "n");
  EXPECT_THAT(got.labels, ElementsAre(testing::Pair("k", "v")));
  EXPECT_FALSE(got.output_dir);

  const v1::SessionInfo& info = *reply;
  EXPECT_EQ(info.session(), "s-1");
  EXPECT_EQ(info.name(), "née");
  EXPECT_EQ(info.labels().at("job"), "llm");
  EXPECT_EQ(info.uid(), 7U);
  EXPECT_EQ(info.user(), "ada");
  EXPECT_EQ(info.directory(), "/out/PROF_2");
  EXPECT_THAT(info.directories(), ElementsAre("/out/PROF_1", "/out/PROF_2"));
  EXPECT_EQ(info.state(), v1::SESSION_STATE_RUNNING);
  EXPECT_EQ(info.end_reason(), v1::END_REASON_UNSPECIFIED);
  EXPECT_EQ(info.error(), "e");
  EXPECT_THAT(info.degraded(), ElementsAre("d1", "d2"));
  EXPECT_THAT(info.pids(), ElementsAre(42, 43));
  EXPECT_THAT(info.devices(), ElementsAre(0U, 5U));
  EXPECT_EQ(info.start_wall_ns(), 1'700'000'000'000'000'000U);
  EXPECT_EQ(info.elapsed_ns(), 2U);
  EXPECT_EQ(info.duration_ns(), 3U);
  EXPECT_EQ(info.storage_limit_bytes(), 4U);
  EXPECT_EQ(info.bytes(), 5U);
  EXPECT_EQ(info.lost(), 6U);
  EXPECT_EQ(info.used_bytes(), 7U);
  EXPECT_EQ(info.aged_bytes(), 8U);
  EXPECT_EQ(info.aged_records(), 9U);
  EXPECT_EQ(info.window_ns(), 10U);
  ASSERT_EQ(info.kinds_size(), 2);
  EXPECT_EQ(info.kinds(0).kind(), "hbm");
  EXPECT_EQ(info.kinds(0).unit(), "device:0");
  EXPECT_EQ(info.kinds(0).requested_hz(), 50);
  EXPECT_EQ(info.kinds(0).effective_hz(), 25);
  EXPECT_EQ(info.kinds(0).verdict(), v1::VERDICT_STARTED);
  EXPECT_EQ(info.kinds(0).reason(), "shared");
  EXPECT_EQ(info.kinds(0).bytes(), 10U);
  EXPECT_EQ(info.kinds(0).records(), 11U);
  EXPECT_EQ(info.kinds(0).lost(), 12U);
  EXPECT_EQ(info.kinds(1).verdict(), v1::VERDICT_FAILED);
}

TEST_F(RpcTest, EveryNameOfStateReasonAndVerdictGetsThrough) {
  using session::EndReason;
  using session::State;
  using session::Verdict;
  const client::DoorClient door = Knock();
  ControlClient control(socket_, door.ticket());
  session::SessionInfo info = Info(State::kRunning);
  for (int i = 0; i <= static_cast<int>(State::kFailed); ++i) {
    info.state = static_cast<State>(i);
    Put(info);
    EXPECT_EQ(static_cast<int>((*control.Get("s-1").Now()).state()), i + 1);
  }
  for (int i = 0; i <= static_cast<int>(EndReason::kLease); ++i) {
    info.end_reason = static_cast<EndReason>(i);
    Put(info);
    EXPECT_EQ(static_cast<int>((*control.Get("s-1").Now()).end_reason()), i);
  }
  for (int i = 0; i <= static_cast<int>(Verdict::kFailed); ++i) {
    info.kinds[0].verdict = static_cast<Verdict>(i);
    Put(info);
    EXPECT_EQ(static_cast<int>((*control.Get("s-1").Now()).kinds(0).verdict()), i + 1);
  }
}

TEST_F(RpcTest, OutputDirectoryArrivesOnceAndOnlyThroughTheDoor) {
  Put(Info(session::State::kRunning));
  const base::UniqueFd dir(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY));
  const client::DoorClient door = Knock(dir.get());
  ControlClient control(socket_, door.ticket());
  v1::SessionSpec spec;
  spec.set_output(folder_);
  ASSERT_TRUE(control.Start(spec).Now().ok());
  {
    const std::lock_guard lock(Fake().mutex);
    EXPECT_EQ(Fake().started.output, folder_);
    struct stat sent {};
    struct stat received {};
    ASSERT_EQ(::fstat(dir.get(), &sent), 0);
    ASSERT_EQ(::fstat(Fake().started.output_dir->fd.get(), &received), 0);
    EXPECT_EQ(sent.st_ino, received.st_ino);
  }
  EXPECT_EQ(control.Start(spec).Now().status().code(), Code::kInvalidArgument);
  const client::DoorClient other = Knock();
  EXPECT_EQ(ControlClient(socket_, other.ticket()).Start(spec).Now().status().code(), Code::kInvalidArgument);
}

TEST_F(RpcTest, TheDirectoryToMoveToComesThroughTheDoor) {
  Put(Info(session::State::kSealed));
  const base::UniqueFd dir(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY));
  const client::DoorClient door = Knock(dir.get());
  ControlClient control(socket_, door.ticket());
  ASSERT_TRUE(control.Move("s-1", folder_).Now().ok());
  {
    const std::lock_guard lock(Fake().mutex);
    EXPECT_EQ(Fake().moved_to.first, folder_);
    struct stat sent {};
    struct stat received {};
    ASSERT_EQ(::fstat(dir.get(), &sent), 0);
    ASSERT_EQ(::fstat(Fake().moved_to.second->fd.get(), &received), 0);
    EXPECT_EQ(sent.st_ino, received.st_ino);
  }
  EXPECT_EQ(control.Move("s-1", folder_).Now().status().code(), Code::kInvalidArgument);
}

TEST_F(RpcTest, BadRequestsNeverReachTheManager) {
  Put(Info(session::State::kRunning));
  const client::DoorClient door = Knock();
  ControlClient control(socket_, door.ticket());
  std::vector<v1::SessionSpec> bad(6);
  bad[0].add_pids(0);
  bad[1].add_pids(-5);
  bad[2].set_all_devices(true);
  bad[2].add_devices(0);
  bad[3].add_kinds()->set_hz(-1);
  bad[4].add_kinds()->set_hz(std::numeric_limits<double>::quiet_NaN());
  bad[5].set_storage_limit_bytes(199'999'999);
  for (const v1::SessionSpec& spec : bad) {
    EXPECT_EQ(control.Start(spec).Now().status().code(), Code::kInvalidArgument) << spec.ShortDebugString();
  }
  v1::SessionSpec many;
  for (int i = 0; i < 1025; ++i) many.add_kinds()->set_kind("hbm");
  EXPECT_EQ(control.Start(many).Now().status().code(), Code::kInvalidArgument);
  v1::StopRequest two;
  two.set_all(true);
  two.set_pid(1);
  EXPECT_EQ(control.Stop(two).Now().status().code(), Code::kInvalidArgument);
  EXPECT_EQ(control.Stop({}).Now().status().code(), Code::kInvalidArgument);
  v1::SessionSpec huge;
  huge.set_name(std::string(5 << 20, 'x'));
  EXPECT_EQ(control.Start(huge).Now().status().code(), Code::kResourceExhausted);
  const std::lock_guard lock(Fake().mutex);
  EXPECT_EQ(Fake().caller.pid, 0);
}

TEST_F(RpcTest, ErrorsArriveAsTheyWere) {
  const client::DoorClient door = Knock();
  ControlClient control(socket_, door.ticket());
  for (int code = 1; code <= 16; ++code) {
    const auto expected = static_cast<Code>(code);
    if (expected == Code::kCancelled || expected == Code::kUnimplemented ||
        expected == Code::kDeadlineExceeded) {
      continue;  // gRPC's own; profctl explains them itself
    }
    {
      const std::lock_guard lock(Fake().mutex);
      Fake().start_error = {static_cast<Code>(code), "profd: größer als 100 Hz"};
    }
    const base::Status status = control.Start({}).Now().status();
    EXPECT_EQ(static_cast<int>(status.code()), code);
    EXPECT_EQ(status.message(), "profd: größer als 100 Hz");
  }
  {
    const std::lock_guard lock(Fake().mutex);
    Fake().start_error = {Code::kInvalidArgument, std::string(100'000, 'x')};
  }
  EXPECT_EQ(control.Start({}).Now().status().code(), Code::kInvalidArgument)
      << "a message too long for a header";
}

TEST_F(RpcTest, StopListDevicesAndDoctor) {
  Put(Info(session::State::kRunning));
  {
    const std::lock_guard lock(Fake().mutex);
    session::NodeReport& node = Fake().node;
    node.profd_version = "v";
    node.driver_path = "/lib/hal.so";
    node.driver_error = "none";
    node.driver_api_version = 0x72316;
    node.missing_symbols = {"halX"};
    session::DeviceReport& device = node.devices.emplace_back();
    device.facts.id = 1;
    device.facts.chip_name = "910B3";
    device.facts.status = 4;
    device.facts.split_mode = 1;
    device.facts.ai_core_num = 24;
    device.facts.channels = {1, 2};
    device.kinds = {{format::Kind::kHbm, 1, 100, 50, {"read", "write"}, true, "r"}};
    device.holders = {{"hbm", "s-1"}};
    node.host_kinds = {{format::Kind::kHostCpu, 1, 50, 50, {}, false, "no"}};
    Fake().checks = {{"driver", session::Check::Outcome::kBroken, "gone", "install it"},
                     {"disk", session::Check::Outcome::kWarn, "small", "tidy"},
                     {"host", session::Check::Outcome::kOk, "fine", ""}};
  }
  const client::DoorClient door = Knock();
  ControlClient control(socket_, door.ticket());
  EXPECT_EQ((*control.List().Now()).sessions_size(), 1);

  const v1::DevicesReply devices = *control.Devices().Now();
  EXPECT_EQ(devices.profd_version(), "v");
  EXPECT_EQ(devices.driver_path(), "/lib/hal.so");
  EXPECT_EQ(devices.driver_error(), "none");
  EXPECT_EQ(devices.driver_api_version(), 0x72316U);
  EXPECT_THAT(devices.missing_symbols(), ElementsAre("halX"));
  ASSERT_EQ(devices.devices_size(), 1);
  EXPECT_EQ(devices.devices(0).device(), 1U);
  EXPECT_EQ(devices.devices(0).chip(), "910B3");
  EXPECT_EQ(devices.devices(0).status(), 4);
  EXPECT_TRUE(devices.devices(0).virtual_npu());
  EXPECT_EQ(devices.devices(0).ai_cores(), 24);
  EXPECT_THAT(devices.devices(0).channels(), ElementsAre(1U, 2U));
  const v1::KindOffer& offer = devices.devices(0).kinds(0);
  EXPECT_EQ(offer.kind(), "hbm");
  EXPECT_EQ(offer.min_hz(), 1);
  EXPECT_EQ(offer.max_hz(), 100);
  EXPECT_EQ(offer.default_hz(), 50);
  EXPECT_THAT(offer.modes(), ElementsAre("read", "write"));
  EXPECT_TRUE(offer.available());
  EXPECT_EQ(offer.reason(), "r");
  EXPECT_EQ(devices.devices(0).holders(0).holder(), "s-1");
  EXPECT_FALSE(devices.host_kinds(0).available());

  const v1::DoctorReply doctor = *control.Doctor(99).Now();
  ASSERT_EQ(doctor.checks_size(), 3);
  EXPECT_EQ(doctor.checks(0).outcome(), v1::OUTCOME_BROKEN);
  EXPECT_EQ(doctor.checks(0).remedy(), "install it");
  EXPECT_EQ(doctor.checks(1).outcome(), v1::OUTCOME_WARN);
  EXPECT_EQ(doctor.checks(2).outcome(), v1::OUTCOME_OK);

  v1::StopRequest stop;
  stop.set_pid(42);
  const v1::StopReply stopped = *control.Stop(stop).Now();
  ASSERT_EQ(stopped.sessions_size(), 1);
  EXPECT_EQ(stopped.sessions(0).state(), v1::SESSION_STATE_SEALED);
  const std::lock_guard lock(Fake().mutex);
  EXPECT_EQ(Fake().doctor_pid, 99);
  EXPECT_EQ(Fake().stopped.pid, 42);
}

TEST_F(RpcTest, WatchFollowsTheStatesToTheEnd) {
  Put(Info(session::State::kArmed));
  const client::DoorClient door = Knock();
  ControlClient control(socket_, door.ticket());
  std::vector<v1::SessionState> seen;
  const base::Result<v1::SessionInfo> last =
      control.Watch("s-1", 3'600'000, [&seen](const v1::SessionInfo& info) {
        seen.push_back(info.state());
        if (info.state() == v1::SESSION_STATE_ARMED) Put(Info(session::State::kRunning));
        if (info.state() == v1::SESSION_STATE_RUNNING) Put(Info(session::State::kSealed));
      });
  ASSERT_TRUE(last.ok()) << last.status().message();
  EXPECT_EQ((*last).state(), v1::SESSION_STATE_SEALED);
  EXPECT_THAT(seen,
              ElementsAre(v1::SESSION_STATE_ARMED, v1::SESSION_STATE_RUNNING, v1::SESSION_STATE_SEALED));
}

TEST_F(RpcTest, WatchRepeatsTheStateEveryPeriod) {
  Put(Info(session::State::kRunning));
  const client::DoorClient door = Knock();
  ControlClient control(socket_, door.ticket());
  int running = 0;
  ASSERT_TRUE(control
                  .Watch("s-1", 1,
                         [&running](const v1::SessionInfo& info) {
                           if (info.state() == v1::SESSION_STATE_RUNNING && ++running == 3)
                             Put(Info(session::State::kFailed));
                         })
                  .ok());
  EXPECT_GE(running, 3);
}

TEST_F(RpcTest, WatchOfNothingIsNotFound) {
  const client::DoorClient door = Knock();
  ControlClient control(socket_, door.ticket());
  EXPECT_EQ(control.Watch("s-9", 0, [](const v1::SessionInfo&) { ADD_FAILURE(); }).status().code(),
            Code::kNotFound);
}

TEST_F(RpcTest, WatcherThatLeavesIsForgotten) {
  Put(Info(session::State::kRunning));
  const client::DoorClient door = Knock();
  {
    ControlClient control(socket_, door.ticket());
    EXPECT_EQ(
        control.Watch("s-1", 0, [&control](const v1::SessionInfo&) { control.CancelAll(); }).status().code(),
        Code::kCancelled);
  }
  EXPECT_TRUE(ControlClient(socket_, door.ticket()).Get("s-1").Now().ok());
}

// The daemon's stop: the last value, not a torn connection.
TEST_F(RpcTest, ShutdownTellsWatchersTheEnd) {
  Put(Info(session::State::kRunning));
  const client::DoorClient door = Knock();
  ControlClient control(socket_, door.ticket());
  std::promise<void> watching;
  auto watch = std::async(std::launch::async, [&] {
    bool first = true;
    return control.Watch("s-1", 3'600'000, [&](const v1::SessionInfo&) {
      if (std::exchange(first, false)) watching.set_value();
    });
  });
  watching.get_future().wait();
  StopCtl();
  session::SessionInfo sealed = Info(session::State::kSealed);
  sealed.end_reason = session::EndReason::kDaemonStop;
  Put(sealed);
  server_->Shutdown();
  const base::Result<v1::SessionInfo> last = watch.get();
  ASSERT_TRUE(last.ok()) << last.status().message();
  EXPECT_EQ((*last).end_reason(), v1::END_REASON_DAEMON_STOP);
}

TEST_F(RpcTest, ShutdownAnswersWhatIsOpen) {
  Put(Info(session::State::kRunning));
  Fake().never_answer = true;
  const client::DoorClient door = Knock();
  ControlClient control(socket_, door.ticket());
  auto start = std::async(std::launch::async, [&] { return control.Start({}).Now(); });
  std::atomic<bool> watching = false;
  auto watch = std::async(std::launch::async,
                          [&] { return control.Watch("s-1", 0, [&](const auto&) { watching = true; }); });
  for (bool asked = false; !asked || !watching;) {
    const std::lock_guard lock(Fake().mutex);
    asked = !Fake().unanswered.empty();
  }
  StopCtl();
  // ctl has stopped: this one waits in its queue for ever.
  auto queued = std::async(std::launch::async, [&] { return control.List().Now(); });
  server_->Shutdown();
  EXPECT_EQ(start.get().status().code(), Code::kUnavailable);
  EXPECT_EQ(watch.get().status().code(), Code::kUnavailable);
  EXPECT_EQ(queued.get().status().code(), Code::kUnavailable);
  // Too late, and harmless.
  Fake().unanswered.front()(Info(session::State::kRunning));
}

TEST_F(RpcTest, AnAnswerDroppedUnspokenIsAnAnswer) {
  Fake().never_answer = true;
  const client::DoorClient door = Knock();
  ControlClient control(socket_, door.ticket());
  auto start = std::async(std::launch::async, [&] { return control.Start({}).Now(); });
  for (bool asked = false; !asked;) {
    const std::lock_guard lock(Fake().mutex);
    asked = !Fake().unanswered.empty();
  }
  Fake().unanswered.clear();
  EXPECT_EQ(start.get().status().code(), Code::kUnavailable);
}

TEST_F(RpcTest, SocketIsForEverybodyAndGoesWithTheServer) {
  struct stat found {};
  ASSERT_EQ(::stat(socket_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0666U);
  ASSERT_EQ(::stat((socket_ + ".door").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0666U);
  StopCtl();
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(socket_));
  const base::Status gone = ControlClient(socket_, "").Hello().status();
  EXPECT_EQ(gone.code(), Code::kUnavailable);
  EXPECT_THAT(gone.message(), HasSubstr(socket_));
}

}  // namespace
}  // namespace profd::rpc
