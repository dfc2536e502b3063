// The agent's MSPTI source in real processes, against the simulated libraries.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "tests/unit/libagent/child.h"
#include "tests/unit/libagent/fake_daemon.h"

namespace profd::agent::testing {
namespace {

constexpr int kOk = 0, kPrecondition = 9;
const std::string kBuild = PROFD_BUILD_DIR;
const std::string kProgram = kBuild + "/tests/libagent_programs/cann_program";

// The simulated job works by the clock.
void SleepMs(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// A toolkit of its own, a profd, and a process between them.
class MsptiTest : public ::testing::Test {
 protected:
  struct Options {
    std::string mspti = "truth: $DIR/truth, disable_ms: 0";
    std::string library = "/sim/libmspti.so";  // empty: not installed
    std::string router = "/sim/libprofapi.so";
    bool preload = false;
    Geometry geometry{.lanes = 8, .slots = 1U << 16, .names_bytes = 1U << 20};
  };

  void Begin() { Begin(Options{}); }
  void Begin(Options options) {
    char name[] = "/tmp/profd-mspti-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    std::filesystem::create_directory(folder_ + "/lib64");
    const auto install = [&](const std::string& library, const char* as) {
      std::filesystem::create_symlink(kBuild + library, folder_ + "/lib64/" + as);
    };
    if (!options.router.empty()) install(options.router, "libprofapi.so");
    if (!options.library.empty()) install(options.library, "libmspti.so");
    for (size_t at; (at = options.mspti.find("$DIR")) != std::string::npos;)
      options.mspti.replace(at, 4, folder_);
    std::ofstream(folder_ + "/sim.yaml") << "scenario: {step_ms: 20}\nmspti: {" << options.mspti << "}\n";
    daemon_ = std::make_unique<FakeDaemon>(folder_ + "/profd.sock", options.geometry);
    std::vector<std::string> environment = {"PROFD_ADDRESS=" + folder_ + "/profd.sock",
                                            "PROFD_SIM_CONFIG=" + folder_ + "/sim.yaml",
                                            "ASCEND_HOME_PATH=" + folder_};
    if (options.preload) environment.push_back("LD_PRELOAD=" + folder_ + "/lib64/libmspti.so");
    child_ = std::make_unique<Child>(std::vector<std::string>{kProgram}, environment);
    ASSERT_EQ(child_->Hear(), "ready");
    peer_ = daemon_->Accept();
    ASSERT_NE(peer_, nullptr);
  }
  void TearDown() override {
    child_.reset();
    daemon_.reset();
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  void LoadCann() { ASSERT_EQ(child_->Ask("load " + folder_ + "/lib64/libprofapi.so"), "done"); }
  static v1::AgentAck Arm(AgentPeer& peer, std::initializer_list<const char*> kinds) {
    v1::AgentCommand command;
    command.mutable_arm();
    for (const char* kind : kinds) command.mutable_arm()->add_kinds(kind);
    return peer.Command(command);
  }
  void Record(std::initializer_list<const char*> kinds) {
    const v1::AgentAck armed = Arm(*peer_, kinds);
    ASSERT_EQ(armed.code(), kOk) << armed.message();
    ASSERT_EQ(armed.message(), "");
    ASSERT_EQ(peer_->Fire().code(), kOk);
  }
  // The devices work for a while, inside the recording.
  void Work(int ms, bool drain = true) {
    for (const char* device : {"0", "1"}) EXPECT_EQ(child_->Ask(std::string("open ") + device), "done");
    const auto begin = std::chrono::steady_clock::now();
    const size_t before = records_.size();
    // Who reads sees something of the devices however busy the machine is.
    const auto is_seen = [&] {
      return std::any_of(records_.begin() + static_cast<ptrdiff_t>(before), records_.end(),
                         [](const ReadRecord& record) {
                           return record.head.kind == abi::kKernel || record.head.kind == abi::kComm ||
                                  record.head.kind == abi::kApi;
                         });
    };
    for (;;) {
      const auto passed = std::chrono::steady_clock::now() - begin;
      if (passed > std::chrono::milliseconds(ms) && (!drain || is_seen())) break;
      ASSERT_LT(passed, std::chrono::seconds(60)) << "the devices do not work";
      SleepMs(5);
      if (drain) Drain();
    }
    for (const char* device : {"0", "1"}) EXPECT_EQ(child_->Ask(std::string("close ") + device), "done");
    SleepMs(50);
  }
  // Stops while somebody reads, as profd does.
  v1::AgentAck Stop() {
    v1::AgentAck ack;
    std::atomic<bool> stopped{false};
    std::thread stopping([&] {
      ack = peer_->Stop();
      stopped = true;
    });
    while (!stopped) {
      Drain();
      SleepMs(2);
    }
    stopping.join();
    Drain();
    return ack;
  }
  void Drain() {
    for (ReadRecord& record : peer_->region().DrainAll()) {
      if (record.head.kind == abi::kLost) lost_said_ += record.head.value;
      if (record.head.kind == abi::kTensors) {
        tensors_.push_back(std::move(record));
      } else if (!IsOwn(record)) {
        records_.push_back(std::move(record));
      }
    }
  }
  std::vector<ReadRecord> Of(abi::RecordKind kind) const {
    std::vector<ReadRecord> found;
    std::copy_if(records_.begin(), records_.end(), std::back_inserter(found),
                 [&](const ReadRecord& record) { return record.head.kind == kind; });
    return found;
  }
  // What the library delivered of its kinds.
  std::map<std::string, uint64_t> Delivered() const {
    nlohmann::json latest;
    std::ifstream file(folder_ + "/truth");
    for (std::string line; std::getline(file, line);) latest = nlohmann::json::parse(line);
    std::map<std::string, uint64_t> counts;
    for (const auto& [kind, truth] : latest["kinds"].items()) counts[kind] = truth["delivered"];
    return counts;
  }
  static std::map<std::string, ReadValue> Values(const ReadRecord& record) {
    std::map<std::string, ReadValue> values;
    for (const ReadValue& value : record.values) values[value.key] = value;
    return values;
  }
  std::string NameOf(const ReadValue& value) {
    return peer_->region().Name(static_cast<uint32_t>(value.bits));
  }
  std::string Status(const std::string& key) { return child_->Ask("status " + key); }
  // One that has done its work is there for a moment more.
  void ExpectThreads(const std::string& count) {
    for (int i = 0; i < 6000 && Status("Threads") != count; ++i) SleepMs(10);
    EXPECT_EQ(Status("Threads"), count);
  }

  std::string folder_;
  std::unique_ptr<FakeDaemon> daemon_;
  std::unique_ptr<Child> child_;
  std::shared_ptr<AgentPeer> peer_;
  std::vector<ReadRecord> records_;
  std::vector<ReadRecord> tensors_;  // which describe records, and count as none
  uint64_t lost_said_ = 0;
};

constexpr std::initializer_list<const char*> kWithoutMemory = {"agent-kernel", "agent-comm", "agent-api"};
constexpr std::initializer_list<const char*> kAll = {"agent-kernel", "agent-comm", "agent-api",
                                                     "agent-memory"};

TEST_F(MsptiTest, EverythingDeliveredIsRecorded) {
  Begin({.preload = true});
  LoadCann();
  Record(kAll);
  Work(300);
  EXPECT_EQ(Stop().code(), kOk);
  auto delivered = Delivered();
  EXPECT_GT(delivered["kernel"], 100U);
  EXPECT_EQ(Of(abi::kKernel).size(), delivered["kernel"]);
  EXPECT_EQ(Of(abi::kComm).size(), delivered["communication"]);
  EXPECT_EQ(Of(abi::kApi).size(), delivered["acl_api"] + delivered["node_api"] + delivered["runtime_api"]);
  EXPECT_EQ(Of(abi::kMemory).size(), delivered["memory"] + delivered["memset"] + delivered["memcpy"]);
  EXPECT_EQ(delivered.count("api") + delivered.count("marker"), 0U);  // neither twice
  EXPECT_EQ(peer_->region().Lost(), 0U);

  std::set<std::string> kernels, levels, memory;
  for (const ReadRecord& record : Of(abi::kKernel)) {
    kernels.insert(record.name.substr(0, record.name.find('_')));
    EXPECT_LE(record.head.category, 1U);
    EXPECT_TRUE(record.head.detail == 2 || record.head.detail == 3);
    ASSERT_EQ(record.values.at(0).type, abi::kTimes);
    EXPECT_GT(record.values[0].end_ns, record.values[0].bits);
    EXPECT_TRUE(NameOf(Values(record).at("type")).starts_with("KERNEL_"));
  }
  EXPECT_EQ(kernels, (std::set<std::string>{"Adam", "MatMul"}));
  for (const ReadRecord& record : Of(abi::kComm)) {
    EXPECT_EQ(record.name, "hcom_allReduce");
    EXPECT_TRUE(Values(record).at("name").text.starts_with("hcom_allReduce__662_"));
    EXPECT_EQ(Values(record).at("count").bits, 1U << 20);
    EXPECT_EQ(NameOf(Values(record).at("data_type")), "fp16");
    EXPECT_EQ(NameOf(Values(record).at("algorithm")), "Ring");
    EXPECT_EQ(NameOf(Values(record).at("group")), "group_world");
  }
  for (const ReadRecord& record : Of(abi::kApi)) levels.insert(NameOf(Values(record).at("level")));
  EXPECT_EQ(levels, (std::set<std::string>{"acl", "node", "runtime"}));
  for (const ReadRecord& record : Of(abi::kMemory)) {
    memory.insert(record.name);
    EXPECT_GE(Values(record).at("bytes").bits, 2U << 20);
    if (record.name != "memcpy") continue;
    EXPECT_EQ(NameOf(Values(record).at("copy")), "host to device");
  }
  EXPECT_EQ(memory, (std::set<std::string>{"free", "malloc", "memcpy", "memset"}));
}

// They come from the moment on when a kernel has told which device is used.
TEST_F(MsptiTest, TensorsOfOperators) {
  Begin();
  LoadCann();
  Record({"agent-kernel", "agent-api"});
  EXPECT_EQ(child_->Ask("open 0"), "done");
  const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (tensors_.empty() && std::chrono::steady_clock::now() < latest) {
    SleepMs(5);
    Drain();
  }
  EXPECT_EQ(child_->Ask("close 0"), "done");
  EXPECT_EQ(Stop().code(), kOk);
  ASSERT_FALSE(tensors_.empty());
  EXPECT_EQ(Of(abi::kKernel).size(), Delivered()["kernel"]);  // MSPTI goes on as without
  EXPECT_EQ(peer_->region().Lost(), 0U);
  for (const ReadRecord& record : tensors_) {
    EXPECT_EQ(record.head.category, static_cast<uint32_t>(child_->pid()));
    EXPECT_EQ(record.head.detail, 3U);
    EXPECT_EQ(record.head.more, 1 + 9);  // 3 · 44 bytes
    EXPECT_EQ(record.values.at(0).type, abi::kU64);
    EXPECT_EQ(record.values.at(1).type, abi::kBytes);
  }
  // The modules stop when the recording does.
  const size_t told = tensors_.size();
  Record({"agent-comm"});
  Work(60);
  EXPECT_EQ(Stop().code(), kOk);
  EXPECT_EQ(tensors_.size(), told);
}

TEST_F(MsptiTest, StopsAndStartsAgain) {
  Begin();
  LoadCann();
  for (int round = 0; round < 3; ++round) {
    records_.clear();
    Record(kWithoutMemory);
    Work(60);
    EXPECT_EQ(Stop().message(), "");
    EXPECT_GT(Of(abi::kKernel).size(), 0U);
    ExpectThreads("3");  // main, profd-agent, sim-manager
  }
}

TEST_F(MsptiTest, OnlyTheKindsThatAreWanted) {
  Begin();
  LoadCann();
  Record({"agent-comm", "agent-mark"});
  EXPECT_EQ(child_->Ask("mark"), "done");
  Work(60);
  EXPECT_EQ(Stop().code(), kOk);
  EXPECT_EQ(Delivered().size(), 1U);
  EXPECT_GT(Of(abi::kComm).size(), 0U);
  EXPECT_EQ(Of(abi::kMark).size(), 1U);
  EXPECT_EQ(Of(abi::kComm).size() + 1, records_.size());
}

TEST_F(MsptiTest, OnlyTheCallsThatAreWanted) {
  Begin();
  LoadCann();
  for (const auto& [bits, names] : std::map<uint32_t, std::set<std::string>>{
           {v1::CALL_LEVELS_ACL | v1::CALL_LEVELS_NODE, {"acl", "node"}},
           {v1::CALL_LEVELS_RUNTIME, {"runtime"}}}) {
    records_.clear();
    v1::AgentCommand command;
    command.mutable_arm()->add_kinds("agent-api");
    command.mutable_arm()->set_call_levels(bits);
    ASSERT_EQ(peer_->Command(command).message(), "");
    ASSERT_EQ(peer_->Fire().code(), kOk);
    Work(60);
    EXPECT_EQ(Stop().code(), kOk);
    std::set<std::string> levels;
    for (const ReadRecord& record : Of(abi::kApi)) levels.insert(NameOf(Values(record).at("level")));
    EXPECT_EQ(levels, names);
  }
}

TEST_F(MsptiTest, StepWindowsHoldTheirOwnKernels) {
  Begin();
  LoadCann();
  v1::AgentCommand command;
  command.mutable_arm()->add_kinds("agent-kernel");
  command.mutable_arm()->mutable_steps()->set_wait(1);
  command.mutable_arm()->mutable_steps()->set_active(1);
  command.mutable_arm()->mutable_steps()->set_repeat(2);
  ASSERT_EQ(peer_->Command(command).message(), "");
  ASSERT_EQ(peer_->Fire().code(), kOk);
  EXPECT_EQ(child_->Ask("open 0"), "done");
  EXPECT_EQ(child_->Ask("steps 5"), "done");  // of 100 ms; the second and the fourth are recorded
  EXPECT_EQ(Stop().code(), kOk);
  std::vector<std::pair<uint64_t, uint64_t>> kernels;
  for (const ReadRecord& record : Of(abi::kKernel)) {
    kernels.emplace_back(record.values.at(0).bits, record.values[0].end_ns);
  }
  std::sort(kernels.begin(), kernels.end());
  ASSERT_GT(kernels.size(), 100U);
  EXPECT_LT(kernels.size(), Delivered()["kernel"]);
  EXPECT_EQ(peer_->region().Lost(), 0U);  // what was not asked for is not lost
  int gaps = 0;
  for (size_t i = 1; i < kernels.size(); ++i)
    gaps += kernels[i].first > kernels[i - 1].second + 60'000'000 ? 1 : 0;
  EXPECT_EQ(gaps, 1);
}

constexpr char kSim[] = "/sim/libmspti.so", kRouter[] = "/sim/libprofapi.so";
struct RefusedCase {
  const char* name;
  const char* router;
  bool load;
  const char* library;
  const char* mspti;
  const char* kind;
  const char* reason;
};
class MsptiRefusedTest : public MsptiTest, public ::testing::WithParamInterface<RefusedCase> {};
TEST_P(MsptiRefusedTest, SaysWhy) {
  const RefusedCase& wanted = GetParam();
  Begin({.mspti = wanted.mspti, .library = wanted.library, .router = wanted.router});
  if (wanted.load) LoadCann();
  const v1::AgentAck alone = Arm(*peer_, {wanted.kind});
  EXPECT_EQ(alone.code(), kPrecondition);
  EXPECT_NE(alone.message().find(wanted.reason), std::string::npos) << alone.message();
  // Beside others it is a note.
  const v1::AgentAck beside = Arm(*peer_, {wanted.kind, "agent-mark"});
  EXPECT_EQ(beside.code(), kOk);
  EXPECT_EQ(beside.message(), alone.message());
  EXPECT_EQ(peer_->Fire().code(), kOk);
  EXPECT_EQ(child_->Ask("mark"), "done");
  EXPECT_EQ(Stop().code(), kOk);
  EXPECT_EQ(Of(abi::kMark).size(), 1U);
  EXPECT_EQ(child_->Finish(), 0);
}
INSTANTIATE_TEST_SUITE_P(
    Reasons, MsptiRefusedTest,
    ::testing::Values(
        RefusedCase{"OldRouter", "/tests/libagent_programs/libprofapi.so", true, kSim, "", "agent-api",
                    "too old"},
        RefusedCase{"NoLibrary", kRouter, true, "", "", "agent-kernel", "libmspti.so is missing"},
        RefusedCase{"NoMspti", kRouter, true, "/sim/empty/libascend_hal.so", "", "agent-comm",
                    "lacks functions"},
        RefusedCase{"Busy", kRouter, true, kSim, "busy: true", "agent-kernel", "held by another subscriber"},
        RefusedCase{"Preload", kRouter, true, kSim, "", "agent-memory", "LD_PRELOAD=libmspti.so"}),
    [](const auto& info) { return std::string(info.param.name); });

constexpr std::chrono::milliseconds kAtOnce{500};
// Where libprofapi.so is missing the library would end the process.
class MsptiLateTest : public MsptiTest {
 protected:
  void CannComesWhileItRecords(uint64_t* missed_ns);
};
void MsptiLateTest::CannComesWhileItRecords(uint64_t* missed_ns) {
  using Clock = std::chrono::steady_clock;
  Begin();
  const v1::AgentAck armed = Arm(*peer_, {"agent-kernel", "agent-mark"});
  EXPECT_EQ(armed.code(), kOk);
  EXPECT_EQ(armed.message(), "MSPTI kinds: pending: CANN is not loaded yet") << "for a profd that is older";
  ASSERT_EQ(armed.missing_size(), 4);
  for (const v1::AgentCapability& one : armed.missing()) {
    EXPECT_EQ(one.reason(), "CANN is not loaded yet") << one.kind();
    EXPECT_TRUE(one.later() && !one.available()) << one.kind();
  }
  EXPECT_EQ(armed.missing(0).kind(), "agent-kernel");
  ASSERT_EQ(peer_->Fire().code(), kOk);
  EXPECT_EQ(child_->Ask("mark"), "done");
  const auto before = Clock::now();
  LoadCann();
  const auto told = peer_->Next();
  ASSERT_TRUE(told && told->has_capabilities());
  bool kernels = false;
  for (const auto& one : told->capabilities().capabilities())
    kernels = kernels || (one.kind() == "agent-kernel" && one.available() && !one.later());
  EXPECT_TRUE(kernels);
  v1::AgentCommand add;
  add.mutable_add_kinds()->add_kinds("agent-kernel");
  const v1::AgentAck added = peer_->Command(add);
  EXPECT_EQ(added.code(), kOk);
  EXPECT_EQ(added.message(), "");
  // What it had done before is no secret, and not more than there was time for.
  *missed_ns = added.missed_ns();
  EXPECT_GT(*missed_ns, 0U);
  EXPECT_LT(std::chrono::nanoseconds(*missed_ns), Clock::now() - before + kAtOnce);
  Work(100);
  EXPECT_EQ(Stop().code(), kOk);
  EXPECT_EQ(Of(abi::kMark).size(), 1U);
  EXPECT_GT(Of(abi::kKernel).size(), 0U);
  EXPECT_EQ(Of(abi::kKernel).size(), Delivered()["kernel"]);
}
// It is seen at once, unless a busy machine keeps the agent from looking: of several one is.
TEST_F(MsptiLateTest, CannMayComeWhileItRecords) {
  uint64_t missed_ns = INT64_MAX;
  for (int attempt = 0; attempt < 5 && std::chrono::nanoseconds(missed_ns) >= kAtOnce; ++attempt) {
    if (attempt > 0) TearDown();
    records_.clear();
    ASSERT_NO_FATAL_FAILURE(CannComesWhileItRecords(&missed_ns));
  }
  EXPECT_LT(std::chrono::nanoseconds(missed_ns), kAtOnce);
}

// profd has to make way first: the agent asks, even though CANN is there.
TEST_F(MsptiTest, ItAsksBeforeItBeginsWhereItIsTold) {
  Begin();
  LoadCann();
  v1::AgentCommand command;
  command.mutable_arm()->add_kinds("agent-kernel");
  command.mutable_arm()->set_announce(true);
  const v1::AgentAck armed = peer_->Command(command);
  EXPECT_EQ(armed.code(), kOk);
  EXPECT_EQ(armed.message(), "MSPTI kinds: pending: CANN is loaded, its kinds are about to begin");
  const auto told = peer_->Next();
  ASSERT_TRUE(told && told->has_capabilities());
  EXPECT_EQ(Status("Threads"), "2");  // main, profd-agent: nothing is subscribed
  EXPECT_EQ(Stop().code(), kOk);
}

TEST_F(MsptiTest, ItDescribesItselfAnew) {
  Begin();
  LoadCann();
  v1::AgentCommand command;
  command.mutable_describe();
  EXPECT_EQ(peer_->Command(command).code(), kOk);
  const auto told = peer_->Next();
  ASSERT_TRUE(told && told->has_capabilities());
  for (const auto& one : told->capabilities().capabilities()) EXPECT_FALSE(one.later()) << one.kind();
}

TEST_F(MsptiTest, AnotherToolsSubscription) {
  Begin();
  LoadCann();
  EXPECT_EQ(child_->Ask("subscribe " + folder_ + "/lib64/libmspti.so"), "0");
  const v1::AgentAck ack = Arm(*peer_, {"agent-kernel"});
  EXPECT_EQ(ack.code(), kPrecondition);
  EXPECT_NE(ack.message().find("held by another subscriber"), std::string::npos) << ack.message();
}

TEST_F(MsptiTest, CapabilitiesSayWhatCanBeExpected) {
  Begin({.library = ""});
  const auto capability = [&](const std::string& kind) {
    for (const auto& one : peer_->hello().capabilities()) {
      if (one.kind() == kind) return (one.available() ? "yes: " : "no: ") + one.reason();
    }
    return std::string("none");
  };
  EXPECT_EQ(capability("agent-range").substr(0, 3), "yes");
  EXPECT_EQ(capability("agent-kernel"), "yes: CANN is not loaded yet");
  TearDown();
  Begin({.preload = true});
  EXPECT_EQ(capability("agent-memory"), "yes: ");
}

TEST_F(MsptiTest, AnOldLibraryHasItsOwnKindOfCalls) {
  Begin({.library = "/sim/old/libmspti.so", .preload = true});
  LoadCann();
  Record(kAll);
  Work(100);
  EXPECT_EQ(Stop().code(), kOk);
  auto delivered = Delivered();
  EXPECT_GT(delivered["api"], 0U);
  EXPECT_EQ(Of(abi::kApi).size(), delivered["api"]);
  EXPECT_EQ(Of(abi::kKernel).size(), delivered["kernel"]);
}

struct OddCase {
  const char* name;
  const char* mspti;
  bool all_read;
};
class MsptiOddTest : public MsptiTest, public ::testing::WithParamInterface<OddCase> {};
TEST_P(MsptiOddTest, NothingIsMiscounted) {
  // Lanes that hold all of it: a reader that the machine keeps from its turn loses nothing.
  Begin({.mspti = std::string("truth: $DIR/truth, disable_ms: 0, ") + GetParam().mspti,
         .geometry = {.lanes = 8, .slots = 1U << 20, .names_bytes = 1U << 20}});
  LoadCann();
  Record(kWithoutMemory);
  Work(400);
  EXPECT_EQ(Stop().code(), kOk);
  uint64_t delivered = 0;
  for (const auto& [kind, count] : Delivered()) delivered += count;
  EXPECT_GT(records_.size(), 0U);
  if (GetParam().all_read) {
    EXPECT_EQ(records_.size() + peer_->region().Lost(), delivered);
    EXPECT_EQ(peer_->region().Lost(), 0U);
  } else {
    // Behind what it doesn't know the walker can't count: it reckons how many there are.
    EXPECT_LT(records_.size(), delivered);
    EXPECT_GT(records_.size() + peer_->region().Lost(), delivered / 2);
    EXPECT_LT(records_.size() + peer_->region().Lost(), delivered * 2);
  }
  EXPECT_EQ(child_->Finish(), 0);
}
INSTANTIATE_TEST_SUITE_P(
    Behaviours, MsptiOddTest,
    ::testing::Values(OddCase{"UnknownKind", "unknown_every: 50", false},
                      OddCase{"LargerKernels", "larger_kernels: true", false},
                      OddCase{"Texts", "odd_texts: true, free_texts: true", true},
                      OddCase{"Missing", "missing_every: 2, drop_every: 7", true},
                      OddCase{"Jitter", "complete_jitter_us: 20000, rates: {kernel: 20000}", true},
                      OddCase{"ClockSteps", "clock: {resync_s: 0.05, step_us: 2000}", true}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(MsptiTest, ClockThatJumps) {
  Begin({.mspti = "truth: $DIR/truth, disable_ms: 0, clock: {resync_s: 0.05, jump_s: -600, jump_at_s: 0.1}"});
  LoadCann();
  Record({"agent-kernel"});
  Work(300);
  EXPECT_EQ(Stop().code(), kOk);
  // Times that can't be right don't cost records while the recording runs; at its end they can't be told
  // apart.
  EXPECT_GT(Of(abi::kKernel).size(), 0U);
}

TEST_F(MsptiTest, NobodyReadsAndEveryRecordIsAccountedFor) {
  Begin({.mspti = "truth: $DIR/truth, disable_ms: 0, rates: {kernel: 400000}",
         .geometry = {.lanes = 4, .slots = 4096, .names_bytes = 1U << 20}});
  LoadCann();
  Record({"agent-kernel"});
  Work(3000, false);
  const v1::AgentAck ack = Stop();
  EXPECT_EQ(ack.code(), kOk) << ack.message();
  const uint64_t delivered = Delivered()["kernel"];
  EXPECT_GT(delivered, 100'000U);  // many times what the lanes hold
  EXPECT_EQ(records_.size() + peer_->region().Lost(), delivered);
  EXPECT_GT(peer_->region().Lost(), 0U);
}

TEST_F(MsptiTest, ASlowLibraryDoesNotHoldTheAcknowledgement) {
  Begin({.mspti = "truth: $DIR/truth, disable_ms: 0, unsubscribe_ms: 5000"});
  LoadCann();
  Record({"agent-kernel"});
  Work(60);
  const v1::AgentAck ack = Stop();
  EXPECT_EQ(ack.code(), kOk);
  EXPECT_NE(ack.message().find("takes long to stop"), std::string::npos) << ack.message();
  EXPECT_EQ(Of(abi::kKernel).size(), Delivered()["kernel"]);
  const v1::AgentAck again = Arm(*peer_, {"agent-kernel"});
  EXPECT_NE(again.message().find("still busy"), std::string::npos) << again.message();
  EXPECT_EQ(child_->Finish(), 0);
}

TEST_F(MsptiTest, ForkWhileSubscribed) {
  Begin();
  LoadCann();
  Record(kWithoutMemory);
  child_->Tell("fork");
  EXPECT_EQ(child_->Hear(), "child");
  const auto forked = daemon_->Accept();
  ASSERT_NE(forked, nullptr);
  const v1::AgentAck ack = Arm(*forked, {"agent-kernel"});
  EXPECT_EQ(ack.code(), kPrecondition);
  EXPECT_NE(ack.message().find("forked child"), std::string::npos) << ack.message();
  EXPECT_EQ(child_->Ask("exit"), "reaped 0");
  Work(60);
  EXPECT_EQ(Stop().code(), kOk);
  EXPECT_EQ(Of(abi::kKernel).size(), Delivered()["kernel"]);
}

// A child that is forked while CANN is awaited registers without a call of its own.
TEST_F(MsptiTest, ForkBeforeCann) {
  Begin();
  EXPECT_EQ(Arm(*peer_, {"agent-kernel"}).message(), "MSPTI kinds: pending: CANN is not loaded yet");
  EXPECT_EQ(peer_->Fire().code(), kOk);
  child_->Tell("worker");
  ASSERT_EQ(child_->Hear(), "worker");
  LoadCann();
  const auto parent = std::exchange(peer_, daemon_->Accept());
  ASSERT_NE(peer_, nullptr);
  EXPECT_TRUE(peer_->hello().forked());
  Record({"agent-kernel"});
  Work(60);
  EXPECT_EQ(Stop().code(), kOk);
  EXPECT_GT(Of(abi::kKernel).size(), 0U);
  EXPECT_EQ(Of(abi::kKernel).size(), Delivered()["kernel"]);
  EXPECT_EQ(child_->Ask("quit"), "reaped 0");
  EXPECT_EQ(parent->Stop().code(), kOk);
}

TEST_F(MsptiTest, ExitWhileSubscribed) {
  Begin();
  LoadCann();
  Record(kWithoutMemory);
  Work(60);
  child_->Tell("exit");
  const int status = child_->Wait();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3) << status;
  EXPECT_TRUE(peer_->WaitGone());
  Drain();
  // What was still in the vendor's buffer, too.
  EXPECT_GT(Of(abi::kKernel).size(), 0U);
  EXPECT_EQ(Of(abi::kKernel).size(), Delivered()["kernel"]);
}

TEST_F(MsptiTest, ProfdGoesWhileSubscribed) {
  Begin();
  LoadCann();
  Record(kWithoutMemory);
  Work(60);
  peer_->Cancel();
  EXPECT_TRUE(peer_->WaitGone());
  peer_ = daemon_->Accept();
  ASSERT_NE(peer_, nullptr);
  records_.clear();
  Record(kWithoutMemory);
  Work(60);
  EXPECT_EQ(Stop().code(), kOk);
  EXPECT_GT(Of(abi::kKernel).size(), 0U);
}

TEST_F(MsptiTest, ManyCyclesLeaveNothing) {
  Begin();
  LoadCann();
  const auto cycle = [&] {
    Record(kWithoutMemory);
    EXPECT_EQ(child_->Ask("open 0"), "done");
    EXPECT_EQ(Stop().message(), "");
  };
  for (int i = 0; i < 20; ++i) cycle();
  const long before = std::stol(Status("VmRSS"));
  for (int i = 0; i < 100; ++i) cycle();
  EXPECT_LT(std::stol(Status("VmRSS")), before + 1024);
  ExpectThreads("3");
}

}  // namespace
}  // namespace profd::agent::testing
