// Programs that know nothing of the agent, or speak to the vendor's libraries or NVTX; Python.
#include <algorithm>
#include <bit>
#include <chrono>

#include "tests/unit/libagent/process_rig.h"

namespace profd::agent::testing {
namespace {

TEST_F(ProcessTest, PreloadedIntoProgramsThatKnowNothingOfIt) {
  StartDaemon();
  // Longer than a second: registered, though nobody calls the API.
  Child python({"python3", "-c", "import sys; sys.stdin.readline()"}, Environment({"LD_PRELOAD=" + kAgent}));
  auto peer = daemon_->Accept();
  ASSERT_NE(peer, nullptr);
  EXPECT_EQ(peer->pid(), python.pid());
  EXPECT_TRUE(peer->hello().command_line(0).ends_with("python3")) << peer->hello().command_line(0);
  EXPECT_EQ(python.Finish(), 0);
  // Shorter: never seen. The shell and its children work as ever.
  const auto before = std::chrono::steady_clock::now();
  Child shell({"bash", "-c", "for i in 1 2 3; do /bin/true; done; echo $(expr 1 + 2)"},
              Environment({"LD_PRELOAD=" + kAgent}));
  EXPECT_EQ(shell.Hear(), "3");
  EXPECT_EQ(shell.Wait(), 0);
  const bool was_short = std::chrono::steady_clock::now() - before < std::chrono::milliseconds(900);
  EXPECT_TRUE(daemon_->AcceptWithin(1) == nullptr || !was_short);
}

// Its calls would be missed. The program is gone before it is a second old: without CANN none of them would
// be seen. Of one a busy machine may run the agent too late.
TEST_F(ProcessTest, PreloadedIntoAProgramThatLoadsCannAtOnce) {
  StartDaemon();
  std::shared_ptr<AgentPeer> peer;
  for (int attempt = 0; attempt < 20 && peer == nullptr; ++attempt) {
    Child python({"python3", "-c", "import ctypes, sys, time; ctypes.CDLL(sys.argv[1]); time.sleep(0.8)",
                  std::string(PROFD_BUILD_DIR) + "/sim/libprofapi.so"},
                 Environment({"LD_PRELOAD=" + kAgent}));
    peer = daemon_->AcceptWithin(2);
    if (peer != nullptr) {
      EXPECT_EQ(peer->pid(), python.pid());
    }
  }
  EXPECT_NE(peer, nullptr);
}

// What an instrumented program that knows nothing of us had to say, recorded.
struct Recorded {
  std::vector<ReadRecord> events;
  std::string worked;
  std::string last_words;
};

Recorded Record(FakeDaemon& daemon, Child& child, std::shared_ptr<AgentPeer>* peer_out) {
  Recorded recorded;
  child.Hear();
  auto peer = daemon.Accept();
  *peer_out = peer;
  EXPECT_NE(peer, nullptr);
  if (peer == nullptr) return recorded;
  EXPECT_EQ(peer->Arm().code(), 0U);
  EXPECT_EQ(peer->Fire().code(), 0U);
  recorded.worked = child.Ask("go");
  EXPECT_EQ(peer->Stop().code(), 0U);
  recorded.events = EventsOf(peer->region().DrainAll());
  child.CloseInput();
  recorded.last_words = child.Hear();
  return recorded;
}

std::vector<std::string> NamesOf(const std::vector<ReadRecord>& events, abi::RecordKind kind) {
  std::vector<std::string> names;
  for (const ReadRecord& event : events) {
    if (event.head.kind == kind) names.push_back(event.name);
  }
  return names;
}

const std::vector<std::string> kMstxMarks = {"host mark", "device mark",    "",
                                             "in domain", "default domain", "a handle that is none"};

TEST_F(ProcessTest, AnMstxProgramIsRecordedUnmodified) {
  StartDaemon();
  for (const std::string& way : {"MSTX_INJECTION_PATH=" + kAgent, "LD_PRELOAD=" + kAgent}) {
    Child child({kPrograms + "mstx_program"}, Environment({way}));
    std::shared_ptr<AgentPeer> peer;
    const Recorded recorded = Record(*daemon_, child, &peer);
    ASSERT_NE(peer, nullptr);
    EXPECT_EQ(recorded.worked, "worked 0");
    EXPECT_EQ(NamesOf(recorded.events, abi::kMark), kMstxMarks);
    EXPECT_EQ(NamesOf(recorded.events, abi::kRangeStart),
              (std::vector<std::string>{"overlap one", "overlap two", "all reduce"}));
    std::multiset<uint64_t> started;
    std::multiset<uint64_t> ended;
    const auto domains = peer->region().Names(abi::kNameDomain);
    for (const ReadRecord& event : recorded.events) {
      if (event.head.kind == abi::kRangeStart) started.insert(event.head.value);
      if (event.head.kind == abi::kRangeEnd) ended.insert(event.head.value);
      if (event.name == "in domain" || event.name == "all reduce") {
        const auto domain = domains.find({event.head.domain, 0});
        ASSERT_NE(domain, domains.end());
        EXPECT_EQ(domain->second, "communication");
      }
      if (event.name == "device mark") {
        ASSERT_EQ(event.values.size(), 1U);
        EXPECT_EQ(event.values[0].key, "stream");
        EXPECT_EQ(event.values[0].bits, 0x1234U);
      }
    }
    EXPECT_EQ(started, ended);
  }
}

TEST_F(ProcessTest, TheVendorsMstxTargetStillGetsEverything) {
  StartDaemon();
  const std::string vendor = kPrograms + "libprofapi.so";
  // In the process from the beginning, and loaded half way through.
  Child early({kPrograms + "mstx_program"},
              Environment({"LD_PRELOAD=" + vendor, "MSTX_INJECTION_PATH=" + kAgent}));
  std::shared_ptr<AgentPeer> peer;
  Recorded recorded = Record(*daemon_, early, &peer);
  EXPECT_EQ(recorded.worked, "worked 0");
  EXPECT_EQ(NamesOf(recorded.events, abi::kMark), kMstxMarks);
  EXPECT_EQ(recorded.last_words,
            "vendor marks=3 starts=3 ends=3 foreign=0 domain_marks=3 domains=2 unknown=0");
  for (const ReadRecord& event : recorded.events) {
    // The vendor's ids are ours: what both recorded can be joined.
    if (event.head.kind == abi::kRangeStart) {
      EXPECT_LT(event.head.value, 200U);
    }
  }

  Child late({kPrograms + "mstx_program", vendor}, Environment({"MSTX_INJECTION_PATH=" + kAgent}));
  recorded = Record(*daemon_, late, &peer);
  EXPECT_EQ(recorded.worked, "worked 0");
  EXPECT_EQ(NamesOf(recorded.events, abi::kMark).size(), 2 * kMstxMarks.size());
  EXPECT_EQ(recorded.last_words,
            "vendor marks=3 starts=3 ends=3 foreign=0 domain_marks=3 domains=2 unknown=0");
}

TEST_F(ProcessTest, AnNvtxProgramIsRecordedUnmodified) {
  StartDaemon();
  Child child({kPrograms + "nvtx_program"}, Environment({"NVTX_INJECTION64_PATH=" + kAgent}));
  std::shared_ptr<AgentPeer> peer;
  const Recorded recorded = Record(*daemon_, child, &peer);
  ASSERT_NE(peer, nullptr);
  EXPECT_EQ(recorded.worked, "worked 0");
  EXPECT_EQ(NamesOf(recorded.events, abi::kMark),
            (std::vector<std::string>{"mark", "wide \u00e4\u6f22\U0001F600", "registered text", "", ""}));
  EXPECT_EQ(NamesOf(recorded.events, abi::kRangePush),
            (std::vector<std::string>{"outer", "inner", "in the domain"}));
  EXPECT_EQ(NamesOf(recorded.events, abi::kRangeStart),
            (std::vector<std::string>{"across threads", "in the domain"}));
  EXPECT_EQ(NamesOf(recorded.events, abi::kRangePop).size(), 3U);
  EXPECT_EQ(NamesOf(recorded.events, abi::kRangeEnd).size(), 2U);
  Region& region = peer->region();
  const auto domains = region.Names(abi::kNameDomain);
  ASSERT_EQ(domains.size(), 1U);
  EXPECT_EQ(domains.begin()->second, "library");
  const uint32_t domain = domains.begin()->first.first;
  const auto categories = region.Names(abi::kNameCategory);
  EXPECT_EQ(categories.at({domain, 5}), "five");
  EXPECT_EQ(categories.at({0, 6}), "six");
  EXPECT_EQ(region.Names(abi::kNameOfThread).at({0, 4711}), "some thread");
  for (const ReadRecord& event : recorded.events) {
    if (event.name == "registered text") {
      EXPECT_EQ(event.head.domain, domain);
      EXPECT_EQ(event.head.category, 5U);
      ASSERT_EQ(event.values.size(), 2U);
      EXPECT_EQ(event.values[0].key, "color");
      EXPECT_EQ(event.values[0].bits, 0xFF00FF00U);
      EXPECT_EQ(event.values[1].key, "payload");
      EXPECT_EQ(std::bit_cast<double>(event.values[1].bits), 0.5);
    }
    if (event.name == "in the domain" && event.head.kind == abi::kRangePush) {
      ASSERT_EQ(event.values.size(), 2U);
      EXPECT_EQ(static_cast<int64_t>(event.values[1].bits), -3);
    }
  }
  // The old program's attributes: category yes, message no.
  const auto old = std::find_if(recorded.events.begin(), recorded.events.end(),
                                [](const ReadRecord& event) { return event.head.category == 77; });
  ASSERT_NE(old, recorded.events.end());
  EXPECT_EQ(old->head.name, 0U);
}

TEST_F(ProcessTest, PythonRecordsToo) {
  StartDaemon();
  constexpr char kScript[] = R"(
import sys, profd
profd.mark("before")
print("ready", flush=True)
sys.stdin.readline()
with profd.range("forward", category=2, batch=32, loss=0.5, layer="conv"):
    profd.mark("inside")
@profd.range("decorated")
def work():
    profd.counter("queue", 3)
    profd.counter("rate", 1.5)
work()
for i, _ in enumerate(profd.steps("ab")):
    pass
with profd.step(7):
    pass
try:
    with profd.range("fails"):
        raise ValueError
except ValueError:
    pass
print("worked 0", flush=True)
sys.stdin.readline()
)";
  Child child({"python3", "-c", kScript},
              Environment({"PYTHONPATH=" PROFD_SOURCE_DIR "/libagent/python", "PROFD_AGENT_LIBRARY=" + kAgent,
                           "PYTHONDONTWRITEBYTECODE=1"}));
  std::shared_ptr<AgentPeer> peer;
  const Recorded recorded = Record(*daemon_, child, &peer);
  EXPECT_EQ(recorded.worked, "worked 0");
  EXPECT_EQ(NamesOf(recorded.events, abi::kMark), (std::vector<std::string>{"inside"}));
  EXPECT_EQ(NamesOf(recorded.events, abi::kRangePush),
            (std::vector<std::string>{"forward", "decorated", "fails"}));
  EXPECT_EQ(NamesOf(recorded.events, abi::kRangePop).size(), 3U);
  EXPECT_EQ(NamesOf(recorded.events, abi::kCounter), (std::vector<std::string>{"queue", "rate"}));
  EXPECT_EQ(NamesOf(recorded.events, abi::kStepBegin).size(), 3U);
  EXPECT_EQ(NamesOf(recorded.events, abi::kStepEnd).size(), 3U);
  for (const ReadRecord& event : recorded.events) {
    if (event.name != "forward") continue;
    EXPECT_EQ(event.head.category, 2U);
    ASSERT_EQ(event.values.size(), 3U);
    EXPECT_EQ(event.values[0].key, "batch");
    EXPECT_EQ(event.values[0].bits, 32U);
    EXPECT_EQ(std::bit_cast<double>(event.values[1].bits), 0.5);
    EXPECT_EQ(event.values[2].text, "conv");
  }
}

}  // namespace
}  // namespace profd::agent::testing
