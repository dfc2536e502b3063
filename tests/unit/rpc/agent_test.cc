// The agent's stream, spoken to with a plain gRPC stub and a plain door connection.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <optional>
#include <variant>
#include <vector>

#include "base/version.h"
#include "daemon/rpc/calls/convert_agent.h"
#include "libagent/abi/door.h"
#include "libagent/abi/lane.h"
#include "profd/v1/agent.grpc.pb.h"
#include "tests/unit/rpc/served_test.h"

namespace profd::rpc {
namespace {

using base::Code;
using base::UniqueFd;
using testing::ElementsAre;
using testing::Pair;

using Stream = grpc::ClientReaderWriter<v1::AgentMessage, v1::AgentCommand>;

// A process at the door.
struct Seated {
  UniqueFd door;
  std::string ticket;
  std::vector<UniqueFd> brought;
  abi::DoorStatus status = abi::DoorStatus::kFailed;
};

// A call that is cancelled when the test forgets it.
struct Call {
  explicit Call(v1::Agent::Stub& stub, const std::string& ticket) {
    if (!ticket.empty()) context.AddMetadata("profd-ticket", ticket);
    stream = stub.Register(&context);
  }
  ~Call() {
    context.TryCancel();
    if (!finished) Finish();
  }
  Code Finish() {
    finished = true;
    v1::AgentCommand ignored;
    while (stream->Read(&ignored)) {
    }
    return static_cast<Code>(stream->Finish().error_code());
  }
  grpc::ClientContext context;
  std::unique_ptr<Stream> stream;
  bool finished = false;
};

v1::AgentMessage Hello() {
  v1::AgentMessage message;
  v1::AgentHello* hello = message.mutable_hello();
  hello->set_protocol(base::kProtocolVersion);
  hello->set_agent_version("1.2");
  hello->set_pid(5);
  hello->set_parent_pid(4);
  hello->set_forked(true);
  hello->set_start_time_ticks(99);
  hello->set_executable("/bin/python3");
  hello->add_command_line("python3");
  hello->add_command_line("train\n.py");
  v1::AgentLabel* label = hello->add_labels();
  label->set_key("rank");
  label->set_value("3");
  label = hello->add_labels();
  label->set_key("rank");
  label->set_value("4");
  hello->add_devices(1);
  hello->add_devices(0);
  hello->add_devices(1);
  v1::AgentCapability* capability = hello->add_capabilities();
  capability->set_kind("agent-range");
  capability->set_available(true);
  return message;
}

class AgentTest : public ServedTest {
 protected:
  void SetUp() override {
    ServedTest::SetUp();
    stub_ = v1::Agent::NewStub(grpc::CreateChannel("unix:" + socket_, grpc::InsecureChannelCredentials()));
  }

  Seated KnockAsAgent() const {
    Seated seated;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (socket_ + abi::kDoorSuffix).copy(address.sun_path, sizeof(address.sun_path) - 1);
    seated.door.Reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(seated.door.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    const abi::DoorHello hello{abi::kDoorMagic, abi::kDoorVersion,
                               static_cast<uint8_t>(abi::DoorRole::kAgent), 0};
    EXPECT_EQ(::send(seated.door.get(), &hello, sizeof(hello), MSG_NOSIGNAL),
              static_cast<ssize_t>(sizeof(hello)));
    abi::DoorWelcome welcome{};
    iovec part{&welcome, sizeof(welcome)};
    alignas(cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    EXPECT_EQ(::recvmsg(seated.door.get(), &message, MSG_CMSG_CLOEXEC),
              static_cast<ssize_t>(sizeof(welcome)));
    for (cmsghdr* item = CMSG_FIRSTHDR(&message); item != nullptr; item = CMSG_NXTHDR(&message, item)) {
      const size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i) {
        int fd;
        std::memcpy(&fd, CMSG_DATA(item) + i * sizeof(int), sizeof(fd));
        seated.brought.emplace_back(fd);
      }
    }
    seated.status = static_cast<abi::DoorStatus>(welcome.status);
    seated.ticket.assign(welcome.ticket, sizeof(welcome.ticket));
    return seated;
  }
  std::shared_ptr<agent::Peer> Peer() {
    return OnCtl([this] { return agents_.Find(::getpid()); });
  }
  std::shared_ptr<agent::Peer> AwaitPeer() {
    std::shared_ptr<agent::Peer> peer;
    while ((peer = Peer()) == nullptr) std::this_thread::yield();
    return peer;
  }
  void AwaitNoPeer() {
    while (Peer() != nullptr) std::this_thread::yield();
  }
  // How a call with this ticket ends that says `message` first.
  Code Refusal(const std::string& ticket, const v1::AgentMessage& message) {
    Call call(*stub_, ticket);
    call.stream->Write(message);
    return call.Finish();
  }

  std::unique_ptr<v1::Agent::Stub> stub_;
};

TEST_F(AgentTest, TheWelcomeBringsTheSealedLanesAndTheirBell) {
  const Seated seated = KnockAsAgent();
  ASSERT_EQ(seated.status, abi::DoorStatus::kWelcome);
  ASSERT_EQ(seated.brought.size(), 2U);
  const int seals = ::fcntl(seated.brought[0].get(), F_GET_SEALS);
  EXPECT_EQ(seals & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  abi::RegionHeader header{};
  ASSERT_EQ(::pread(seated.brought[0].get(), &header, sizeof(header), 0),
            static_cast<ssize_t>(sizeof(header)));
  EXPECT_EQ(header.magic, abi::kRegionMagic);
  EXPECT_EQ(header.lane_count, 2U);
  const uint64_t one = 1;
  EXPECT_EQ(::write(seated.brought[1].get(), &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
}

TEST_F(AgentTest, RegistersWithWhatItSaysAndWhatTheKernelSays) {
  const Seated seated = KnockAsAgent();
  Call call(*stub_, seated.ticket);
  ASSERT_TRUE(call.stream->Write(Hello()));
  const auto peer = AwaitPeer();
  EXPECT_EQ(peer->identity().pid, ::getpid());
  EXPECT_EQ(peer->identity().uid, ::getuid());
  EXPECT_NE(peer->identity().user, "");
  const agent::Hello& hello = peer->hello();
  EXPECT_EQ(hello.agent_version, "1.2");
  EXPECT_EQ(hello.pid, 5U);
  EXPECT_EQ(hello.parent_pid, 4U);
  EXPECT_TRUE(hello.forked);
  EXPECT_EQ(hello.start_time_ticks, 99U);
  EXPECT_EQ(hello.executable, "/bin/python3");
  EXPECT_THAT(hello.command_line, ElementsAre("python3", "train?.py"));
  EXPECT_THAT(hello.labels, ElementsAre(Pair("rank", "3")));
  EXPECT_THAT(hello.devices, ElementsAre(0U, 1U));
  ASSERT_EQ(hello.capabilities.size(), 1U);
  EXPECT_TRUE(hello.capabilities[0].available);
}

TEST_F(AgentTest, CommandsGoOutAndAcksComeBack) {
  const Seated seated = KnockAsAgent();
  Call call(*stub_, seated.ticket);
  ASSERT_TRUE(call.stream->Write(Hello()));
  const auto peer = AwaitPeer();
  std::promise<agent::Ack> armed;
  std::promise<agent::Ack> fired;
  std::promise<agent::StepWindow> window;
  OnCtl([&] {
    agent::Arm arm;
    arm.kinds = {format::Kind::kAgentMark};
    arm.flight_recorder = true;
    arm.steps = {1, 2, 3, 4, 5};
    arm.fire = true;
    peer->OnStepWindow([&](const agent::StepWindow& opened) { window.set_value(opened); });
    peer->Send(arm, 60'000'000'000, [&](const agent::Ack& ack) { armed.set_value(ack); });
    peer->Send(agent::Fire{17}, 60'000'000'000, [&](const agent::Ack& ack) { fired.set_value(ack); });
    peer->Send(agent::StopRecording{}, 60'000'000'000, [](const agent::Ack&) {});
    peer->Send(agent::PairClocks{}, 60'000'000'000, [](const agent::Ack&) {});
  });
  std::vector<v1::AgentCommand> commands(4);
  for (v1::AgentCommand& command : commands) ASSERT_TRUE(call.stream->Read(&command));
  ASSERT_TRUE(commands[0].has_arm());
  EXPECT_THAT(commands[0].arm().kinds(), ElementsAre("agent-mark"));
  EXPECT_TRUE(commands[0].arm().flight_recorder());
  EXPECT_TRUE(commands[0].arm().fire());
  EXPECT_EQ(commands[0].arm().steps().skip_first(), 1U);
  EXPECT_EQ(commands[0].arm().steps().repeat(), 5U);
  EXPECT_EQ(commands[1].fire().at_raw_ns(), 17U);
  EXPECT_TRUE(commands[2].has_stop());
  EXPECT_TRUE(commands[3].has_pair_clocks());

  v1::AgentMessage message;
  v1::AgentAck* ack = message.mutable_ack();
  ack->set_command_id(commands[0].id());
  ack->set_ticks(1000);
  ack->set_slots(10);
  ack->set_lost(2);
  ack->set_lost_without_lane(1);
  ASSERT_TRUE(call.stream->Write(message));
  const agent::Ack first = armed.get_future().get();
  EXPECT_TRUE(first.status.ok());
  EXPECT_EQ(first.ticks, 1000U);
  EXPECT_EQ(first.slots, 10U);
  EXPECT_EQ(first.lost, 2U);
  EXPECT_EQ(first.lost_without_lane, 1U);
  ack->set_command_id(commands[1].id());
  ack->set_code(4711);  // no code at all
  ack->set_message("no");
  ASSERT_TRUE(call.stream->Write(message));
  EXPECT_EQ(fired.get_future().get().status.code(), Code::kUnknown);

  v1::AgentMessage step;
  step.mutable_step_window()->set_step(12);
  step.mutable_step_window()->set_opened(true);
  ASSERT_TRUE(call.stream->Write(step));
  const agent::StepWindow opened = window.get_future().get();
  EXPECT_EQ(opened.step, 12U);
  EXPECT_TRUE(opened.opened);
}

TEST_F(AgentTest, GoesWithItsStreamAndWithItsDoor) {
  {
    const Seated seated = KnockAsAgent();
    Call call(*stub_, seated.ticket);
    ASSERT_TRUE(call.stream->Write(Hello()));
    AwaitPeer();
    call.context.TryCancel();
    AwaitNoPeer();
  }
  Seated seated = KnockAsAgent();
  Call call(*stub_, seated.ticket);
  ASSERT_TRUE(call.stream->Write(Hello()));
  AwaitPeer();
  seated.door.Reset();
  AwaitNoPeer();
  EXPECT_EQ(call.Finish(), Code::kUnavailable);
}

TEST_F(AgentTest, TicketsOpenOnlyTheirOwnDoor) {
  const Seated seated = KnockAsAgent();
  const client::DoorClient client = Knock();
  EXPECT_EQ(Refusal("", Hello()), Code::kUnauthenticated);
  EXPECT_EQ(Refusal(std::string(64, 'a'), Hello()), Code::kUnauthenticated);
  EXPECT_EQ(Refusal(client.ticket(), Hello()), Code::kPermissionDenied);
  EXPECT_EQ(client::ControlClient(socket_, seated.ticket).List().Now().status().code(),
            Code::kPermissionDenied);
}

TEST_F(AgentTest, RefusesBadManners) {
  const Seated seated = KnockAsAgent();
  EXPECT_EQ(Refusal(seated.ticket, v1::AgentMessage()), Code::kInvalidArgument);
  v1::AgentMessage ack;
  ack.mutable_ack();
  EXPECT_EQ(Refusal(seated.ticket, ack), Code::kInvalidArgument);
  v1::AgentMessage labels = Hello();
  for (int i = 0; i < 65; ++i) labels.mutable_hello()->add_labels()->set_key(std::to_string(i));
  EXPECT_EQ(Refusal(seated.ticket, labels), Code::kInvalidArgument);
  v1::AgentMessage devices = Hello();
  for (int i = 0; i < 65; ++i) devices.mutable_hello()->add_devices(i);
  EXPECT_EQ(Refusal(seated.ticket, devices), Code::kInvalidArgument);
  v1::AgentMessage huge = Hello();
  huge.mutable_hello()->set_executable(std::string(64 << 10, 'x'));
  EXPECT_EQ(Refusal(seated.ticket, huge), Code::kInvalidArgument);
  huge.mutable_hello()->set_executable(std::string(5 << 20, 'x'));
  EXPECT_NE(Refusal(seated.ticket, huge), Code::kOk);
  EXPECT_EQ(Peer(), nullptr);

  Call call(*stub_, seated.ticket);
  ASSERT_TRUE(call.stream->Write(Hello()));
  AwaitPeer();
  EXPECT_EQ(Refusal(seated.ticket, Hello()), Code::kAlreadyExists);
  ASSERT_TRUE(call.stream->Write(Hello()));
  EXPECT_EQ(call.Finish(), Code::kInvalidArgument);
  AwaitNoPeer();
}

TEST_F(AgentTest, LongTextsAreCut) {
  const Seated seated = KnockAsAgent();
  Call call(*stub_, seated.ticket);
  v1::AgentMessage message = Hello();
  message.mutable_hello()->set_executable(std::string(10'000, 'x'));
  message.mutable_hello()->mutable_labels(0)->set_value(std::string(1000, 'v'));
  ASSERT_TRUE(call.stream->Write(message));
  const auto peer = AwaitPeer();
  EXPECT_EQ(peer->hello().executable.size(), 1024U);
  EXPECT_EQ(peer->hello().labels.at("rank").size(), 256U);
}

TEST_F(AgentTest, NoMoreThanTheRegistryTakes) {
  std::vector<Seated> seated;
  for (int i = 0; i < 3; ++i) seated.push_back(KnockAsAgent());
  EXPECT_EQ(seated.back().status, abi::DoorStatus::kWelcome);
  const Seated refused = KnockAsAgent();
  EXPECT_EQ(refused.status, abi::DoorStatus::kBusy);
  EXPECT_TRUE(refused.brought.empty());
  EXPECT_TRUE(client::ControlClient(socket_, Knock().ticket()).Hello().ok()) << "clients count apart";
  seated.pop_back();
  while (KnockAsAgent().status != abi::DoorStatus::kWelcome) std::this_thread::yield();
}

TEST_F(AgentTest, OneThatDoesNotReadIsClosed) {
  const Seated seated = KnockAsAgent();
  Call call(*stub_, seated.ticket);
  ASSERT_TRUE(call.stream->Write(Hello()));
  const auto peer = AwaitPeer();
  agent::Arm large;
  large.kinds.assign(8000, format::Kind::kAgentMark);
  while (!OnCtl([&] {
    if (!peer->gone()) peer->Send(large, 60'000'000'000, [](const agent::Ack&) {});
    return peer->gone();
  })) {
  }
  EXPECT_EQ(Peer(), nullptr);
}

TEST(AgentAck, SaysWhichKindsCannotBeHad) {
  v1::AgentAck ack;
  v1::AgentCapability* memory = ack.add_missing();
  memory->set_kind("agent-memory");
  memory->set_reason("needs a preload");
  v1::AgentCapability* kernels = ack.add_missing();
  kernels->set_kind("agent-kernel");
  kernels->set_reason("CANN is not loaded yet");
  kernels->set_later(true);
  ack.add_missing()->set_kind("of a younger agent");
  ack.set_message("agent-api: in words, too");
  const std::vector<agent::Missing> expected = {{format::Kind::kAgentMemory, "needs a preload", false},
                                                {format::Kind::kAgentKernel, "CANN is not loaded yet", true}};
  EXPECT_EQ(DecodeAck(ack).missing, expected);
}

// An agent that is older than the field says it in words.
TEST(AgentAck, OfAnOlderAgent) {
  using format::Kind;
  const auto said = [](uint32_t code, const char* message) {
    v1::AgentAck ack;
    ack.set_code(code);
    ack.set_message(message);
    return DecodeAck(ack).missing;
  };
  using All = std::vector<agent::Missing>;
  EXPECT_EQ(said(0, ""), All());
  EXPECT_EQ(said(0, "agent-memory: needs a preload; agent-api: this libmspti.so refuses it"),
            (All{{Kind::kAgentMemory, "needs a preload"}, {Kind::kAgentApi, "this libmspti.so refuses it"}}));
  for (const uint32_t code : {0U, 9U}) {
    EXPECT_EQ(said(code, "MSPTI kinds: pending: CANN is not loaded yet"),
              (All{{Kind::kAgentKernel, "CANN is not loaded yet", true},
                   {Kind::kAgentComm, "CANN is not loaded yet", true},
                   {Kind::kAgentApi, "CANN is not loaded yet", true},
                   {Kind::kAgentMemory, "CANN is not loaded yet", true}}));
  }
  EXPECT_EQ(said(14, "the lanes are in use"), All());
  EXPECT_EQ(said(0, "MSPTI takes long to stop: what it still reports is not recorded"), All());
}

TEST_F(AgentTest, ShutdownEndsTheStreams) {
  const Seated seated = KnockAsAgent();
  Call call(*stub_, seated.ticket);
  ASSERT_TRUE(call.stream->Write(Hello()));
  AwaitPeer();
  StopCtl();
  server_->Shutdown();
  EXPECT_EQ(call.Finish(), Code::kUnavailable);
}

}  // namespace
}  // namespace profd::rpc
