// What is recorded, lost and refused.
#include <bit>
#include <chrono>
#include <cstdio>
#include <map>
#include <thread>

#include "base/clock.h"
#include "libagent/src/tables/domains.h"
#include "libagent/src/tables/names.h"
#include "profd/agent.hpp"
#include "tests/unit/libagent/emitter_rig.h"

extern "C" {
uint64_t RegionBytesFromC(uint32_t lanes, uint32_t slots, uint32_t names_bytes);
void MarkFromC(void);
}

namespace profd::agent::testing {
namespace {

TEST_F(EmitterTest, NothingIsRecordedUntilArmedAndAfterStop) {
  Attach();
  profd_mark(profd_intern("early"));
  EXPECT_EQ(profd_range_push(1), kUntracked);
  EXPECT_EQ(profd_range_pop(), kUntracked);
  EXPECT_EQ(profd_range_start(1), 0U);
  Arm({});
  profd_mark(profd_intern("within"));
  Disarm();
  profd_mark(profd_intern("late"));
  const auto events = Events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].name, "within");
  EXPECT_EQ(events[0].tid, static_cast<uint64_t>(::gettid()));
  EXPECT_EQ(region_->Lost(), 0U);
}

DomainFilter FilterOf(std::initializer_list<const char*> names, bool exclude) {
  DomainFilter filter{};
  filter.exclude = exclude;
  for (const char* name : names) {
    std::snprintf(filter.names[filter.count++], sizeof(filter.names[0]), "%s", name);
  }
  return filter;
}

// A mark and a range of each way in the domain.
void Say(profd_domain domain) {
  profd_event event{sizeof(event), domain, profd_intern("said"), 0, nullptr, 0};
  profd_mark_event(&event);
  profd_range_push_event(&event);
  profd_range_pop_in(domain);
  profd_range_end(profd_range_start_event(&event));
}

TEST_F(EmitterTest, OnlyDomainsThatAreWantedAreRecorded) {
  Attach();
  const profd_domain before = profd_domain_create("filter: before");
  const profd_domain other = profd_domain_create("filter: other");
  const auto recorded = [&](const DomainFilter& filter) {
    FilterDomains(filter);
    Arm({});
    // One that comes later is judged by the same words.
    const profd_domain later = profd_domain_create("filter: later");
    for (const profd_domain domain : {profd_domain{0}, before, other, later, profd_domain{4000}}) Say(domain);
    profd_mark(profd_intern("simple"));
    profd_range_push(profd_intern("simple"));
    profd_range_pop();
    profd_counter(profd_intern("of no domain"), 1);
    Disarm();
    std::map<uint32_t, int> counts;
    for (const ReadRecord& event : Events()) {
      if (event.head.kind != abi::kCounter) ++counts[event.head.domain];
    }
    EXPECT_EQ(region_->Lost(), 0U) << "what is left out is not lost";
    return std::pair(counts, later);
  };
  // Per domain a mark, push, pop, start and end; the end carries no domain.
  const auto [only, later] = recorded(FilterOf({"filter: before", "filter: later"}, false));
  EXPECT_EQ(only, (std::map<uint32_t, int>{{0, 2}, {before, 4}, {later, 4}}));
  const auto [all_but, same] = recorded(FilterOf({"filter: before", "filter: later", "default"}, true));
  EXPECT_EQ(all_but, (std::map<uint32_t, int>{{0, 2}, {other, 4}, {4000, 4}}));
  EXPECT_EQ(same, later);
  const auto [default_only, again] = recorded(FilterOf({"default"}, false));
  EXPECT_EQ(default_only, (std::map<uint32_t, int>{{0, 5 + 3}}));
  const auto [everything, once_more] = recorded(DomainFilter{});
  EXPECT_EQ(everything.size(), 5U);
}

TEST_F(EmitterTest, EveryKindKeepsItsWords) {
  Attach();
  const profd_name name = profd_intern("something");
  const profd_domain domain = profd_domain_create("library");
  Arm({});
  profd_mark(name);
  EXPECT_EQ(profd_range_push(name), 0);
  EXPECT_EQ(profd_range_push(name), 1);
  EXPECT_EQ(profd_range_pop(), 1);
  EXPECT_EQ(profd_range_pop(), 0);
  const uint64_t id = profd_range_start(name);
  profd_range_end(id);
  profd_counter(name, -5);
  profd_counter_f64(name, 2.5);
  profd_step_begin(7);
  profd_step_end(7);
  profd_event event{sizeof(event), domain, name, 42, nullptr, 0};
  EXPECT_EQ(profd_range_push_event(&event), 0);
  EXPECT_EQ(profd_range_pop_in(domain), 0);
  const auto events = Events();
  const std::vector<std::pair<int, uint64_t>> expected = {{abi::kMark, 0},
                                                          {abi::kRangePush, 0},
                                                          {abi::kRangePush, 0},
                                                          {abi::kRangePop, 0},
                                                          {abi::kRangePop, 0},
                                                          {abi::kRangeStart, id},
                                                          {abi::kRangeEnd, id},
                                                          {abi::kCounter, static_cast<uint64_t>(int64_t{-5})},
                                                          {abi::kCounter, std::bit_cast<uint64_t>(2.5)},
                                                          {abi::kStepBegin, 7},
                                                          {abi::kStepEnd, 7},
                                                          {abi::kRangePush, 0},
                                                          {abi::kRangePop, 0}};
  ASSERT_EQ(events.size(), expected.size());
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].head.kind, expected[i].first) << i;
    EXPECT_EQ(events[i].head.value, expected[i].second) << i;
    if (i > 0) {
      EXPECT_GE(events[i].head.stamp, events[i - 1].head.stamp);
    }
  }
  EXPECT_EQ(events[2].head.detail, 1U);
  EXPECT_EQ(events[3].head.detail, 1U);
  EXPECT_EQ(events[4].head.detail, 0U);
  EXPECT_NE(id, 0U);
  EXPECT_EQ(events[7].head.detail, static_cast<uint32_t>(abi::kI64));
  EXPECT_EQ(events[8].head.detail, static_cast<uint32_t>(abi::kF64));
  EXPECT_EQ(events[11].head.domain, domain);
  EXPECT_EQ(events[11].head.category, 42U);
  EXPECT_EQ(events[12].head.domain, domain);
}

TEST_F(EmitterTest, StepsAreCountedRecordedOrNot) {
  Attach();
  const abi::StepTotals& totals = region_->header()->steps;
  // Those of tests before this one are in it, too.
  profd_step_begin(10);
  const uint64_t begun = totals.begun, ended = totals.ended, ended_ns = totals.ended_ns;
  EXPECT_GE(begun, ended + 1);
  EXPECT_EQ(totals.step, 10U);
  profd_step_end(10);
  EXPECT_EQ(totals.ended, ended + 1);
  EXPECT_EQ(totals.ended_ns, ended_ns + totals.last_ns);
  profd_step_end(10);  // none runs
  EXPECT_EQ(totals.ended, ended + 1);
  Arm({});
  profd_step_begin(11);
  profd_step_end(11);
  Disarm();
  EXPECT_EQ(totals.begun, begun + 1);
  EXPECT_EQ(totals.ended, ended + 2);
  EXPECT_EQ(totals.sequence % 2, 0U);
}

TEST_F(EmitterTest, TheLastStepsAreLoggedOneByOne) {
  profd_step_begin(1);
  profd_step_end(1);
  Attach();
  const abi::StepLog& log = region_->header()->step_log;
  const uint64_t before = log.ended_before;
  constexpr uint64_t kSteps = abi::kLoggedSteps + 3;
  for (uint64_t step = 0; step < kSteps; ++step) {
    profd_step_begin(100 + step);
    EXPECT_NE(log.begin_ns, 0U);
    EXPECT_EQ(log.step, 100 + step);
    profd_step_end(100 + step);
    EXPECT_EQ(log.begin_ns, 0U);
    const abi::LoggedStep& logged = log.ended[(before + step) % abi::kLoggedSteps];
    EXPECT_EQ(logged.ended, before + step + 1);
    EXPECT_EQ(logged.step, 100 + step);
    EXPECT_EQ(logged.took_ns, region_->header()->steps.last_ns);
    EXPECT_NE(logged.begin_ns, 0U);
  }
  EXPECT_EQ(region_->header()->steps.ended, before + kSteps);
  EXPECT_EQ(log.sequence % 2, 0U);
}

TEST_F(EmitterTest, PayloadSurvivesWhole) {
  Attach();
  Arm({});
  const std::string long_text = "a text that takes more than one slot: " + std::string(60, 'x');
  std::vector<profd_value> values(5);
  values[0] = {profd_intern("bytes"), PROFD_U64, {.u64 = UINT64_MAX}};
  values[1] = {profd_intern("loss"), PROFD_F64, {.f64 = 0.125}};
  values[2] = {profd_intern("text"), PROFD_TEXT, {.text = long_text.c_str()}};
  values[3] = {profd_intern("empty"), PROFD_TEXT, {.text = ""}};
  values[4] = {profd_intern("op"), PROFD_NAME, {.name = profd_intern("MatMul")}};
  profd_event event{sizeof(event), 0, profd_intern("kernel"), 3, values.data(), values.size()};
  profd_mark_event(&event);
  // Nonsense is left out, the rest stays.
  values[0].type = 99;
  values[2].as.text = nullptr;
  profd_mark_event(&event);
  // Too much of it is cut at a whole value.
  const std::string huge(100'000, 'y');
  values[1] = {profd_intern("huge"), PROFD_TEXT, {.text = huge.c_str()}};
  profd_mark_event(&event);

  const auto events = Events();
  ASSERT_EQ(events.size(), 3U);
  ASSERT_EQ(events[0].values.size(), 5U);
  EXPECT_EQ(events[0].values[0].key, "bytes");
  EXPECT_EQ(events[0].values[0].bits, UINT64_MAX);
  EXPECT_EQ(std::bit_cast<double>(events[0].values[1].bits), 0.125);
  EXPECT_EQ(events[0].values[2].text, long_text);
  EXPECT_EQ(events[0].values[3].text, "");
  EXPECT_EQ(region_->Name(static_cast<uint32_t>(events[0].values[4].bits)), "MatMul");
  ASSERT_EQ(events[1].values.size(), 3U);
  EXPECT_EQ(events[1].values[0].key, "loss");
  EXPECT_TRUE(events[2].values.empty());
}

TEST_F(EmitterTest, AnOlderCallersEventIsReadAsFarAsItGoes) {
  Attach();
  Arm({});
  profd_event event{offsetof(profd_event, category), 0, profd_intern("old"), 42, nullptr, 1'000'000};
  profd_mark_event(&event);
  event.size = 2;
  profd_mark_event(&event);
  profd_mark_event(nullptr);
  const auto events = Events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].name, "old");
  EXPECT_EQ(events[0].head.category, 0U);
}

TEST_F(EmitterTest, FullRingDropsTheNewestAndCountsThem) {
  Attach({.lanes = 2, .slots = 256});
  Arm({});
  constexpr uint64_t kEmitted = 1000;
  for (uint64_t i = 0; i < kEmitted; ++i) profd_counter(1, static_cast<int64_t>(i));
  auto first = region_->Drain(0);
  const auto kept = EventsOf(first);
  EXPECT_EQ(kept.size() + region_->Lost(), kEmitted);
  EXPECT_GE(kept.size(), 250U);
  for (size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(kept[i].head.value, i);  // the oldest stayed
  uint64_t wakes = 0;
  EXPECT_EQ(::read(region_->wake(), &wakes, sizeof(wakes)), static_cast<ssize_t>(sizeof(wakes)));
  EXPECT_EQ(wakes, 2U);  // at half, and when full

  // The first record with room again is preceded by the loss.
  profd_counter(1, 12345);
  const auto second = region_->Drain(0);
  ASSERT_GE(second.size(), 2U);
  EXPECT_EQ(second[0].head.kind, abi::kLost);
  EXPECT_EQ(second[0].head.value, region_->Lost());
  EXPECT_GE(second[0].head.stamp, kept.back().head.stamp);
  EXPECT_LE(second[0].head.stamp, second[0].head.last_stamp);
  EXPECT_EQ(EventsOf(second).back().head.value, 12345U);
}

TEST_F(EmitterTest, LossAndStorageAddUpWhateverTheReaderDoes) {
  Attach({.lanes = 1, .slots = 256});
  Arm({});
  constexpr uint64_t kEmitted = 200'000;
  std::atomic<bool> done{false};
  uint64_t stored = 0;
  uint64_t said_lost = 0;
  uint64_t last = 0;
  const auto drain = [&] {
    for (const ReadRecord& record : region_->Drain(0)) {
      if (record.head.kind == abi::kLost) said_lost += record.head.value;
      if (IsOwn(record)) continue;
      ++stored;
      if (record.head.kind == abi::kCounter) {
        EXPECT_GT(record.head.value, last);
        last = record.head.value;
      }
    }
  };
  std::thread writer([&] {
    profd_value value{1, PROFD_TEXT, {.text = "seventeen letters"}};
    profd_event event{sizeof(event), 0, 1, 0, &value, 1};
    for (uint64_t i = 1; i <= kEmitted; ++i) {
      if (i % 7 == 0) {
        profd_mark_event(&event);
      } else {
        profd_counter(1, static_cast<int64_t>(i));
      }
    }
    done = true;
  });
  while (!done) drain();
  writer.join();
  drain();
  EXPECT_EQ(stored + region_->Lost(), kEmitted);
  EXPECT_LE(said_lost, region_->Lost());
}

TEST_F(EmitterTest, ATailThatMakesNoSenseLosesRecordsOnly) {
  Attach({.lanes = 1, .slots = 256});
  Arm({});
  profd_mark(1);
  std::atomic_ref(region_->lane(0)->tail).store(~0ULL / 3);
  for (int i = 0; i < 1000; ++i) profd_mark(1);
  EXPECT_GT(region_->Lost(), 0U);
  EXPECT_LE(region_->Head(0), 256U);
}

TEST_F(EmitterTest, FlightRecorderKeepsTheNewest) {
  constexpr uint64_t kSlots = 256;
  Attach({.lanes = 1, .slots = kSlots});
  Arm({.overwrite = true});
  for (uint64_t i = 0; i < 10'000; ++i) profd_counter(1, static_cast<int64_t>(i));
  EXPECT_EQ(region_->Lost(), 0U);
  const uint64_t from = region_->Head(0) + abi::kMaxRecordSlots - kSlots;
  const auto records = region_->Read(0, from);
  const auto events = EventsOf(records);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().head.value, 9'999U);
  for (size_t i = 1; i < events.size(); ++i) EXPECT_EQ(events[i].head.value, events[i - 1].head.value + 1);
  // Whoever reads any half ring learns whose it is.
  EXPECT_GE(records.size() - events.size(), 1U);
}

TEST_F(EmitterTest, FlightRecorderSnapshotsAreNeverTorn) {
  constexpr uint64_t kSlots = 256;
  Attach({.lanes = 1, .slots = kSlots});
  Arm({.overwrite = true});
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (uint64_t i = 1; !done; ++i) {
      Owner* owner = Enter(Generation());
      if (owner == nullptr) continue;
      // All words tell the same number, but for the stamp.
      EmitAndLeave(owner, abi::kCounter, 0, static_cast<uint32_t>(i), i, static_cast<uint32_t>(i));
    }
  });
  uint64_t checked = 0;
  while (region_->Head(0) < kSlots) std::this_thread::yield();
  for (int round = 0; round < 20'000 || checked == 0; ++round) {
    const uint64_t head = region_->Head(0);
    uint64_t copy[kSlots][4];
    for (uint64_t i = 0; i < kSlots; ++i) {
      const auto* slot = reinterpret_cast<const uint64_t*>(&region_->At(0, head - kSlots + i));
      for (int word = 0; word < 4; ++word) {
        copy[i][word] = std::atomic_ref(const_cast<uint64_t&>(slot[word])).load(std::memory_order_relaxed);
      }
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    const uint64_t valid_from = std::atomic_ref(region_->lane(0)->head).load(std::memory_order_relaxed) +
                                abi::kMaxRecordSlots - kSlots;
    for (uint64_t i = 0; i < kSlots; ++i) {
      if (head - kSlots + i < valid_from || (copy[i][1] & 0xFF) != abi::kCounter) continue;
      const auto number = static_cast<uint32_t>(copy[i][2]);
      ASSERT_EQ(copy[i][1] >> 32, number);
      ASSERT_EQ(copy[i][3], uint64_t{number} << 32);
      ++checked;
    }
  }
  done = true;
  writer.join();
  EXPECT_GT(checked, 0U);
}

TEST_F(EmitterTest, OnlyTheKindsAskedFor) {
  Attach();
  Arm({.kinds = 1U << abi::kCounter});
  profd_mark(1);
  EXPECT_EQ(profd_range_push(1), 0);
  profd_counter(1, 1);
  EXPECT_EQ(profd_range_pop(), 0);
  const auto events = Events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].head.kind, abi::kCounter);
  EXPECT_EQ(region_->Lost(), 0U);
}

TEST_F(EmitterTest, AbsurdCallsDoNoHarm) {
  Attach();
  Arm({});
  EXPECT_EQ(profd_range_pop(), -1);
  EXPECT_EQ(profd_range_pop_in(70'000), -1);
  profd_range_end(0);
  profd_range_end(0xDEADBEEF);
  EXPECT_EQ(profd_intern(nullptr), 0U);
  EXPECT_EQ(profd_intern(""), 0U);
  EXPECT_EQ(profd_domain_create(nullptr), 0U);
  profd_name_thread(nullptr);
  profd_name_category(99'999, 1, nullptr);
  profd_step_end(3);
  const auto events = Events();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].head.value, 0xDEADBEEF);
}

TEST_F(EmitterTest, RangesInMoreDomainsThanAThreadTracksAreStillRecorded) {
  Attach();
  Arm({});
  profd_event event{sizeof(event), 0, 1, 0, nullptr, 0};
  for (uint32_t domain = 1; domain <= 20; ++domain) {
    event.domain = domain;
    const int depth = profd_range_push_event(&event);
    EXPECT_EQ(depth, domain < 8 ? 0 : kUntracked);
    EXPECT_EQ(profd_range_pop_in(domain), depth);
  }
  EXPECT_EQ(Events().size(), 40U);
}

TEST_F(EmitterTest, ErrnoIsTheCallers) {
  Attach({.lanes = 1, .slots = 256});
  Arm({});
  errno = 4711;
  for (int i = 0; i < 1000; ++i) profd_mark(1);
  profd_intern("a new name");
  std::thread([] {
    errno = 4712;
    profd_mark(1);
    EXPECT_EQ(errno, 4712);
  }).join();
  EXPECT_EQ(errno, 4711);
}

TEST_F(EmitterTest, RefusesRegionsThatCouldChangeUnderIt) {
  Region unsealed;
  EXPECT_EQ(AttachRegion(unsealed.fd(), -1), AttachError::kNotSealed);
  const auto refused = [](auto change) {
    Region region;
    change(region);
    region.Seal();
    return AttachRegion(region.fd(), -1) == AttachError::kGeometry;
  };
  EXPECT_TRUE(refused([](Region& r) { r.header()->magic ^= 1; }));
  EXPECT_TRUE(refused([](Region& r) { r.header()->version = 2; }));
  EXPECT_TRUE(refused([](Region& r) { r.header()->record_bytes = 64; }));
  EXPECT_TRUE(refused([](Region& r) { r.header()->lane_count = 0; }));
  EXPECT_TRUE(refused([](Region& r) { r.header()->lane_count = 9; }));
  EXPECT_TRUE(refused([](Region& r) { r.header()->lane_count = 0xFFFFFFFF; }));
  EXPECT_TRUE(refused([](Region& r) { r.header()->lane_slots = 4095; }));
  EXPECT_TRUE(refused([](Region& r) { r.header()->lane_slots = 8192; }));
  EXPECT_TRUE(refused([](Region& r) { r.header()->names_bytes += 1; }));
  EXPECT_TRUE(refused([](Region& r) { EXPECT_EQ(::ftruncate(r.fd(), 4096), 0); }));
  int pipe_fds[2];
  ASSERT_EQ(::pipe(pipe_fds), 0);
  EXPECT_EQ(AttachRegion(pipe_fds[0], -1), AttachError::kNotSealed);
  ::close(pipe_fds[0]);
  ::close(pipe_fds[1]);
}

TEST_F(EmitterTest, HolesPunchedIntoTheRegionReadAsNothing) {
  Attach();
  Arm({});
  profd_mark(1);
  ASSERT_EQ(::fallocate(region_->fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                        static_cast<off_t>(region_->bytes())),
            0);
  for (int i = 0; i < 100; ++i) profd_mark(1);  // no crash, and nothing out of bounds
  EXPECT_EQ(region_->At(0, 0).kind, 0);
}

TEST_F(EmitterTest, ClockPairsMakeALine) {
  Attach();
  const abi::LaneClock first = region_->header()->clock;
  EXPECT_NE(first.counter, static_cast<uint32_t>(abi::kCounterNone));
  EXPECT_EQ(first.first.ticks, first.latest.ticks);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // a line needs two points that lie apart
  const uint64_t before = base::RawNs();
  const uint64_t stamp = Arm({});
  const uint64_t after = base::RawNs();
  const abi::LaneClock clock = region_->header()->clock;
  EXPECT_EQ(clock.sequence % 2, 0U);
  EXPECT_EQ(clock.first.ticks, first.first.ticks);
  const double ns_per_tick = static_cast<double>(clock.latest.raw_ns - clock.first.raw_ns) /
                             static_cast<double>(clock.latest.ticks - clock.first.ticks);
  const double at = static_cast<double>(clock.latest.raw_ns) +
                    (static_cast<double>(stamp) - static_cast<double>(clock.latest.ticks)) * ns_per_tick;
  const auto slack = static_cast<double>(clock.first.error_ns + clock.latest.error_ns + 1000);
  EXPECT_GE(at, static_cast<double>(before) - slack);
  EXPECT_LE(at, static_cast<double>(after) + slack);
}

TEST_F(EmitterTest, MacrosAndScopes) {
  Attach();
  MarkFromC();  // off: nothing
  Arm({});
  MarkFromC();
  {
    PROFD_SCOPE("outer");
    const ScopedRange inner("inner");
    const ScopedStep step(9);
  }
  std::thread taker;
  {
    MovableRange range(profd_intern("handed over"));
    taker = std::thread([moved = std::move(range)]() mutable { const MovableRange here = std::move(moved); });
  }
  taker.join();
  std::multiset<std::string> names;
  for (const ReadRecord& record : Events()) names.insert(record.name);
  EXPECT_EQ(names, (std::multiset<std::string>{"from C", "range from C", "", "counter from C", "outer",
                                               "inner", "", "", "", "", "handed over", ""}));
}

TEST(LayoutTest, CAndCppAgree) {
  EXPECT_EQ(RegionBytesFromC(8, 4096, 1 << 20), abi::RegionBytes(8, 4096, 1 << 20));
  EXPECT_EQ(RegionBytesFromC(8, 4095, 1 << 20), 0U);
  EXPECT_EQ(abi::RingsOffset(8) % abi::kRegionAlignment, 0U);
  EXPECT_EQ(abi::NamesOffset(3, 256) % abi::kRegionAlignment, 0U);
  EXPECT_GE(abi::NamesOffset(3, 256), abi::RingOffset(3, 256, 3));
}

}  // namespace
}  // namespace profd::agent::testing
