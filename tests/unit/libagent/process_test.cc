// What profd says to a process, and what becomes of it there.
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "libagent/abi/door.h"
#include "tests/unit/libagent/process_rig.h"

namespace profd::agent::testing {
namespace {

TEST_F(ProcessTest, ALinkedAgentStartsNothingBeforeItsFirstCallAndRegistersThen) {
  StartDaemon();
  auto child = Workload();
  EXPECT_EQ(child->Hear(), "threads 1");
  auto peer = daemon_->Accept();
  ASSERT_NE(peer, nullptr);
  EXPECT_EQ(peer->pid(), child->pid());
  const v1::AgentHello& hello = peer->hello();
  EXPECT_EQ(hello.pid(), static_cast<uint32_t>(child->pid()));
  EXPECT_EQ(hello.parent_pid(), static_cast<uint32_t>(::getpid()));
  EXPECT_EQ(hello.uid(), ::getuid());
  EXPECT_FALSE(hello.forked());
  EXPECT_EQ(std::filesystem::path(hello.executable()).filename(), "workload");
  ASSERT_EQ(hello.command_line_size(), 2);
  EXPECT_EQ(hello.command_line(1), "interactive");
  EXPECT_GT(hello.start_time_ticks(), 0U);
  EXPECT_EQ(hello.capabilities_size(), 9);
  EXPECT_EQ(child->Ask("threads"), "threads 2");
}

TEST_F(ProcessTest, LabelsComeFromTheLaunchersVariables) {
  StartDaemon();
  Child child(
      {kPrograms + "workload", "interactive"},
      Environment({"RANK=3", "LOCAL_RANK=1", "WORLD_SIZE=8", "SLURM_JOB_ID=77", "PROFD_LABELS=team=vision"}));
  auto peer = daemon_->Accept();
  ASSERT_NE(peer, nullptr);
  std::map<std::string, std::string> labels;
  for (const auto& label : peer->hello().labels()) labels[label.key()] = label.value();
  EXPECT_EQ(labels["rank"], "3");
  EXPECT_EQ(labels["local_rank"], "1");
  EXPECT_EQ(labels["world_size"], "8");
  EXPECT_EQ(labels["job_id"], "77");
  EXPECT_EQ(labels["team"], "vision");
}

TEST_F(ProcessTest, RecordsBetweenFireAndStopAgainAndAgain) {
  StartDaemon();
  auto [child, peer] = Attach();
  ASSERT_NE(peer, nullptr);
  EXPECT_EQ(child->Ask("mark 10"), "done");
  uint64_t stored = 0;
  for (int round = 0; round < 50; ++round) {
    ASSERT_EQ(peer->Arm().code(), 0U);
    EXPECT_EQ(child->Ask("mark 10"), "done");  // armed is not fired
    ASSERT_EQ(peer->Fire().code(), 0U);
    EXPECT_EQ(child->Ask("mark 100"), "done");
    const v1::AgentAck stopped = peer->Stop();
    ASSERT_EQ(stopped.code(), 0U) << stopped.message();
    EXPECT_EQ(child->Ask("mark 10"), "done");
    const auto events = EventsOf(peer->region().DrainAll());
    stored += events.size();
    EXPECT_EQ(stopped.lost(), 0U);
    ASSERT_EQ(events.size(), 100U);
    EXPECT_EQ(events.front().name, "work");
    EXPECT_EQ(events.front().tid, static_cast<uint64_t>(child->pid()));
  }
  EXPECT_EQ(stored, 5000U);
  EXPECT_EQ(peer->region().Names(abi::kNameOfThread)[std::make_pair(0U, static_cast<uint32_t>(child->pid()))],
            "main");
}

// Resident size in KiB.
long ResidentKb(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
  }
  return -1;
}

size_t OpenFiles(pid_t pid) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
    ++count;
  }
  return count;
}

TEST_F(ProcessTest, TenThousandRecordingsLeaveNothingBehind) {
  StartDaemon({.lanes = 4, .slots = 256});
  auto [child, peer] = Attach();
  ASSERT_NE(peer, nullptr);
  EXPECT_EQ(child->Ask("spin"), "done");
  long resident = 0;
  size_t files = 0;
  for (int round = 0; round < 10'000; ++round) {
    ASSERT_EQ(peer->Arm(true).code(), 0U);
    ASSERT_EQ(peer->Fire().code(), 0U);
    ASSERT_EQ(peer->Stop().code(), 0U);
    if (round == 1000) {
      resident = ResidentKb(child->pid());
      files = OpenFiles(child->pid());
    }
  }
  EXPECT_LE(ResidentKb(child->pid()), resident + 64);
  EXPECT_EQ(OpenFiles(child->pid()), files);
  EXPECT_EQ(child->Ask("stop-spinning"), "done");
}

TEST_F(ProcessTest, AProgramWithItsOwnGrpcIsNotDisturbed) {
  // The program is profd's side as well: grpc++ and protobuf, with the same messages, beside the agent's.
  Child child({kPrograms + "grpc_host", socket_}, Environment());
  EXPECT_EQ(child.Hear(), "recorded 1000 lost 0");
  EXPECT_EQ(child.Wait(), 0);
}

TEST_F(ProcessTest, ForksFromBusyThreadsWhileCommandsCome) {
  StartDaemon();
  Child child({kPrograms + "workload", "fork-storm"}, Environment());
  // The forked children register too, and come and go.
  std::shared_ptr<AgentPeer> peer;
  do {
    peer = daemon_->Accept();
    ASSERT_NE(peer, nullptr);
  } while (peer->pid() != child.pid());
  int rounds = 0;
  for (; rounds < 100'000; ++rounds) {
    if (peer->Arm(true).code() != 0 || peer->Fire().code() != 0 || peer->Stop().code() != 0) break;
  }
  EXPECT_GT(rounds, 0);
  EXPECT_EQ(child.Hear(), "forked 400 failed 0");
  EXPECT_EQ(child.Wait(), 0);
}

TEST_F(ProcessTest, CommandsThatMakeNoSenseAreAnswered) {
  StartDaemon();
  auto [child, peer] = Attach();
  ASSERT_NE(peer, nullptr);
  EXPECT_EQ(peer->Fire().code(), 9U);
  EXPECT_EQ(peer->Stop().code(), 0U);
  EXPECT_EQ(peer->Command({}).code(), 12U);
  v1::AgentCommand arm;
  arm.mutable_arm()->add_kinds("agent-nonsense");
  EXPECT_EQ(peer->Command(arm).code(), 3U);
  ASSERT_EQ(peer->Arm().code(), 0U);
  v1::AgentCommand fire;
  fire.mutable_fire()->set_at_raw_ns(~0ULL);
  EXPECT_EQ(peer->Command(fire).code(), 3U);
  v1::AgentCommand pair;
  pair.mutable_pair_clocks();
  const uint64_t before = peer->region().header()->clock.latest.ticks;
  EXPECT_EQ(peer->Command(pair).code(), 0U);
  EXPECT_GT(peer->region().header()->clock.latest.ticks, before);
}

TEST_F(ProcessTest, OneWordArmsAndFires) {
  StartDaemon();
  auto [child, peer] = Attach();
  ASSERT_NE(peer, nullptr);
  v1::AgentCommand arm;
  arm.mutable_arm()->set_fire(true);
  for (int round = 0; round < 3; ++round) {
    const v1::AgentAck begun = peer->Command(arm);
    ASSERT_EQ(begun.code(), 0U) << begun.message();
    EXPECT_GT(begun.ticks(), 0U);
    EXPECT_EQ(child->Ask("mark 7"), "done");
    ASSERT_EQ(peer->Stop().code(), 0U);
    EXPECT_EQ(child->Ask("mark 1"), "done");
    EXPECT_EQ(EventsOf(peer->region().DrainAll()).size(), 7U);
  }
  EXPECT_EQ(peer->Fire().code(), 9U);  // nothing is left armed
}

TEST_F(ProcessTest, FiresAtTheAppointedInstant) {
  StartDaemon();
  auto [child, peer] = Attach();
  ASSERT_NE(peer, nullptr);
  ASSERT_EQ(peer->Arm().code(), 0U);
  const auto raw_ns = [] {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
  };
  const uint64_t at = raw_ns() + 50'000'000;
  v1::AgentCommand fire;
  fire.mutable_fire()->set_at_raw_ns(at);
  ASSERT_EQ(peer->Command(fire).code(), 0U);
  EXPECT_GE(raw_ns(), at);
  EXPECT_EQ(child->Ask("mark 1"), "done");
  EXPECT_EQ(EventsOf(peer->region().DrainAll()).size(), 1U);
}

TEST_F(ProcessTest, StepWindowsFollowTheSchedule) {
  StartDaemon();
  auto [child, peer] = Attach();
  ASSERT_NE(peer, nullptr);
  v1::AgentCommand arm;
  auto* steps = arm.mutable_arm()->mutable_steps();
  steps->set_skip_first(2);
  steps->set_wait(1);
  steps->set_warmup(1);
  steps->set_active(2);
  steps->set_repeat(2);
  ASSERT_EQ(peer->Command(arm).code(), 0U);
  ASSERT_EQ(peer->Fire().code(), 0U);
  EXPECT_EQ(child->Ask("steps 20"), "done");
  std::vector<uint64_t> said;
  for (int i = 0; i < 4; ++i) {
    const auto message = peer->Next();
    ASSERT_TRUE(message && message->has_step_window());
    EXPECT_EQ(message->step_window().opened(), i % 2 == 0);
    EXPECT_EQ(message->step_window().cycle(), static_cast<uint64_t>(i / 2));
    EXPECT_EQ(message->step_window().last(), i / 2 == 1);
    said.push_back(message->step_window().step());
  }
  EXPECT_EQ(said, (std::vector<uint64_t>{4, 5, 8, 9}));
  std::vector<uint64_t> begun;
  int ranges = 0;
  for (const ReadRecord& record : EventsOf(peer->region().DrainAll())) {
    if (record.head.kind == abi::kStepBegin) begun.push_back(record.head.value);
    ranges += record.head.kind == abi::kRangePush && record.name == "forward" ? 1 : 0;
  }
  EXPECT_EQ(begun, (std::vector<uint64_t>{4, 5, 8, 9}));
  EXPECT_EQ(ranges, 4);
  EXPECT_EQ(peer->Stop().code(), 0U);
}

TEST_F(ProcessTest, ComesBackWhenProfdDoes) {
  StartDaemon();
  auto [child, peer] = Attach();
  ASSERT_NE(peer, nullptr);
  for (int round = 0; round < 5; ++round) {
    ASSERT_EQ(peer->Arm().code(), 0U);
    ASSERT_EQ(peer->Fire().code(), 0U);
    EXPECT_EQ(child->Ask("mark 5"), "done");
    daemon_.reset();
    EXPECT_EQ(child->Ask("mark 5"), "done");  // unaware
    // A service manager may take the folder away as well.
    if (round % 2 == 1) std::filesystem::remove_all(folder_);
    EXPECT_EQ(child->Ask("mark 5"), "done");
    std::filesystem::create_directory(folder_);
    StartDaemon();
    peer = daemon_->Accept();
    ASSERT_NE(peer, nullptr) << "round " << round;
    EXPECT_EQ(EventsOf(peer->region().DrainAll()).size(), 0U);       // nothing recorded until told again
    EXPECT_EQ(peer->region().Names(abi::kNameOfThread).size(), 1U);  // but every name known
  }
  EXPECT_EQ(child->Ask("threads"), "threads 2");
}

TEST_F(ProcessTest, ABrokenOffCallIsMadeAgain) {
  StartDaemon();
  auto [child, peer] = Attach();
  ASSERT_NE(peer, nullptr);
  ASSERT_EQ(peer->Arm().code(), 0U);
  ASSERT_EQ(peer->Fire().code(), 0U);
  peer->Cancel();
  auto again = daemon_->Accept();
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->pid(), child->pid());
  ASSERT_EQ(again->Arm().code(), 0U);
}

TEST_F(ProcessTest, DoesNotPesterAFullProfd) {
  StartDaemon();
  daemon_->full = true;
  auto child = Workload();
  while (daemon_->turned_away == 0) ::usleep(1000);  // between two looks at what a thread counts
  ::usleep(1'000'000);  // it must not ask again: there is no event of what does not happen
  EXPECT_EQ(daemon_->turned_away, 1);
  // A restarted one is asked at once.
  daemon_.reset();
  StartDaemon();
  EXPECT_NE(daemon_->Accept(), nullptr);
}

TEST_F(ProcessTest, WithoutAFolderThereIsNoThread) {
  std::filesystem::remove_all(folder_);
  auto child = Workload();
  child->Hear();
  EXPECT_EQ(child->Ask("mark 1"), "done");
  std::string threads;
  for (int i = 0; i < 6000 && threads != "threads 1"; ++i) {
    threads = child->Ask("threads");
    ::usleep(10'000);  // between two looks: a thread that ends tells nobody
  }
  EXPECT_EQ(threads, "threads 1");
  EXPECT_EQ(child->Finish(), 0);
}

TEST_F(ProcessTest, AForkedChildRegistersItselfOnItsFirstCall) {
  StartDaemon();
  auto [child, parent] = Attach();
  ASSERT_NE(parent, nullptr);
  ASSERT_EQ(parent->Arm(true).code(), 0U);
  ASSERT_EQ(parent->Fire().code(), 0U);
  const std::string forked = child->Ask("fork");
  auto peer = daemon_->Accept();
  ASSERT_NE(peer, nullptr);
  EXPECT_EQ("child " + std::to_string(peer->pid()), forked);
  EXPECT_TRUE(peer->hello().forked());
  EXPECT_EQ(peer->hello().parent_pid(), static_cast<uint32_t>(child->pid()));
  ASSERT_EQ(peer->Arm().code(), 0U);
  ASSERT_EQ(peer->Fire().code(), 0U);
  EXPECT_EQ(child->Ask("mark"), "done");
  const auto events = EventsOf(peer->region().DrainAll());
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].name, "from the child");
  EXPECT_EQ(events[0].tid, static_cast<uint64_t>(peer->pid()));
  // The parent's own recording and stream go on.
  EXPECT_EQ(EventsOf(parent->region().DrainAll()).size(), 0U);
  EXPECT_EQ(child->Ask("quit"), "reaped 0");
  EXPECT_TRUE(peer->WaitGone());
  EXPECT_EQ(child->Ask("mark 3"), "done");
  EXPECT_EQ(EventsOf(parent->region().DrainAll()).size(), 3U);
}

TEST_F(ProcessTest, TheStreamOfADeadParentEndsThoughItsForkedChildLives) {
  StartDaemon();
  auto [child, parent] = Attach();
  ASSERT_NE(parent, nullptr);
  const std::string forked = child->Ask("fork");
  auto peer = daemon_->Accept();
  ASSERT_NE(peer, nullptr);
  ::kill(child->pid(), SIGKILL);
  EXPECT_TRUE(parent->WaitGone());
  EXPECT_EQ(peer->Arm().code(), 0U);
  ::kill(peer->pid(), SIGKILL);
}

TEST_F(ProcessTest, AKilledJobLosesNothingItPublished) {
  StartDaemon();
  auto [child, peer] = Attach();
  ASSERT_NE(peer, nullptr);
  ASSERT_EQ(peer->Arm().code(), 0U);
  ASSERT_EQ(peer->Fire().code(), 0U);
  EXPECT_EQ(child->Ask("mark 1000"), "done");
  EXPECT_EQ(child->Ask("spin"), "done");
  ::kill(child->pid(), SIGKILL);
  EXPECT_TRUE(peer->WaitGone());
  uint64_t counters = 0;
  for (const ReadRecord& record : EventsOf(peer->region().DrainAll()))
    counters += record.head.kind == abi::kCounter;
  EXPECT_EQ(counters, 1000U);
}

TEST_F(ProcessTest, ExitWhileRecordingKeepsItsStatus) {
  StartDaemon();
  auto [child, peer] = Attach();
  ASSERT_NE(peer, nullptr);
  ASSERT_EQ(peer->Arm(true).code(), 0U);
  ASSERT_EQ(peer->Fire().code(), 0U);
  EXPECT_EQ(child->Ask("mark 10"), "done");
  child->Tell("exit");
  const int status = child->Wait();
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_EQ(EventsOf(peer->region().DrainAll()).size(), 10U);
}

TEST_F(ProcessTest, ExitMayMeetTheAttach) {
  StartDaemon();
  for (int i = 0; i < 100; ++i) {
    auto child = Workload({"exit-race"});
    EXPECT_EQ(child->Wait(), 0) << "round " << i;
  }
}

TEST_F(ProcessTest, AStoppedProfdBlocksNobody) {
  // A door that nobody attends: the agent's thread waits there, the program doesn't.
  const int listener = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (socket_ + abi::kDoorSuffix).copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(listener, 8), 0);
  auto child = Workload();
  child->Hear();
  EXPECT_EQ(child->Ask("mark 1000"), "done");
  EXPECT_EQ(child->Ask("fork").substr(0, 5), "child");
  EXPECT_EQ(child->Ask("quit"), "reaped 0");
  EXPECT_EQ(child->Finish(), 0);
  ::close(listener);
}

TEST_F(ProcessTest, AFullRingBlocksNobodyWhenNobodyReads) {
  StartDaemon({.lanes = 2, .slots = 256});
  auto [child, peer] = Attach();
  ASSERT_NE(peer, nullptr);
  ASSERT_EQ(peer->Arm().code(), 0U);
  ASSERT_EQ(peer->Fire().code(), 0U);
  EXPECT_EQ(child->Ask("mark 100000"), "done");
  const v1::AgentAck stopped = peer->Stop();
  EXPECT_EQ(EventsOf(peer->region().DrainAll()).size() + stopped.lost(), 100'000U);
}

TEST_F(ProcessTest, SurvivesBeingUnloaded) {
  StartDaemon();
  Child child({kPrograms + "plugin_host", kAgent}, Environment());
  EXPECT_EQ(child.Hear(), "threads 2");
  EXPECT_NE(daemon_->Accept(), nullptr);
  EXPECT_EQ(child.Finish(), 0);
}

}  // namespace
}  // namespace profd::agent::testing
