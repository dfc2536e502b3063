#include "format/decode/agents/agent_lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "format/op_names.h"
#include "format/records/cann.h"
#include "libagent/abi/lane.h"
#include "tests/unit/decode/collector.h"

namespace profd::format {
namespace {

constexpr uint64_t kWallNs = 1'700'000'000'000'000'000, kRawNs = 5'000'000'000'000, kTicks = 1'000'000;
constexpr uint64_t kTicksPerUs = 2000;  // 2 GHz

uint64_t At(uint64_t us) { return kTicks + us * kTicksPerUs; }
uint64_t WallAt(uint64_t us) { return kWallNs + us * 1000; }
// A counter that is not the agent's clock, 3 GHz.
uint64_t CounterAt(uint64_t us) { return 900'000'000'000'000 + us * 3000; }

class AgentLanesTest : public testing::Test {
 protected:
  AgentLanesTest() : clocks_(0, 0) {
    clocks_.Add({kRawNs, 0, kWallNs, 0, 0, 0});
    agent_.pid = 77;
    agent_.first = {kTicks, kRawNs, 0};
    agent_.latest = {kTicks + 10 * kTicksPerUs * 1'000'000, kRawNs + 10'000'000'000, 0};
  }

  // References of names given in order: 2, then behind what came before.
  uint32_t Name(std::string_view text, uint8_t type = abi::kNameText, uint16_t domain = 0,
                uint32_t number = 0) {
    const auto at = static_cast<uint32_t>(abi::kFirstNameOffset + names_.size());
    const abi::NameEntry entry{static_cast<uint32_t>(text.size()), type, 0, domain, number, 0};
    Append(names_, &entry, sizeof entry);
    Append(names_, text.data(), text.size());
    names_.resize((names_.size() + 8) / 8 * 8);
    return at / 8;
  }
  static void Append(std::vector<std::byte>& to, const void* bytes, size_t size) {
    const auto* at = static_cast<const std::byte*>(bytes);
    to.insert(to.end(), at, at + size);
  }

  abi::Record& Slot(abi::RecordKind kind, uint64_t us, uint32_t name = 0, uint64_t value = 0,
                    uint32_t detail = 0) {
    abi::Record record{};
    record.stamp = At(us);
    record.kind = static_cast<uint8_t>(kind);
    record.name = name;
    record.value = value;
    record.detail = detail;
    return slots_.emplace_back(record);
  }
  void Value(uint8_t type, uint32_t key, uint64_t bits, uint8_t more = 0) {
    abi::ValueSlot slot{};
    slot.stamp = slots_.back().stamp;
    slot.kind = abi::kValue;
    slot.more = more;
    slot.type = type;
    slot.key = key;
    slot.bits = bits;
    Put(slot);
  }
  void Text(uint32_t key, std::string_view text, bool goes_on, uint8_t more) {
    abi::ValueSlot slot{};
    slot.stamp = slots_.back().stamp;
    slot.kind = abi::kValue;
    slot.more = more;
    slot.type = abi::kText;
    slot.key = key;
    slot.bytes = static_cast<uint8_t>(text.size() | (goes_on ? abi::kTextGoesOn : 0));
    std::memcpy(slot.text, text.data(), text.size());
    Put(slot);
  }
  void Times(uint64_t begin_ns, uint64_t end_ns, uint8_t more) {
    abi::ValueSlot slot{};
    slot.stamp = slots_.back().stamp;
    slot.kind = abi::kValue;
    slot.more = more;
    slot.type = abi::kTimes;
    slot.begin_ns = begin_ns;
    slot.end_ns = end_ns;
    Put(slot);
  }
  void Put(const abi::ValueSlot& slot) {
    abi::Record record;
    std::memcpy(&record, &slot, sizeof record);
    slots_.push_back(record);
  }

  // Of one operator; the last dimension of each output tells them apart.
  void Tensors(uint64_t us, uint64_t begun_us, std::string_view op, uint32_t thread, uint32_t size) {
    const CannTensor tensors[] = {{0, 2, 1, {16, size}}, {1, 2, 1, {size}}};
    constexpr size_t kSlots = (sizeof tensors + abi::kTextBytes - 1) / abi::kTextBytes;
    abi::Record& record = Slot(abi::kTensors, us, 0, CannHash(op), std::size(tensors));
    record.category = thread;
    record.more = 1 + kSlots;
    Value(abi::kU64, 0, is_of_counter_ ? CounterAt(begun_us) : At(begun_us), kSlots);
    std::vector<char> bytes(kSlots * abi::kTextBytes);
    std::memcpy(bytes.data(), tensors, sizeof tensors);
    for (size_t i = 0; i < kSlots; ++i) {
      abi::ValueSlot slot{};
      slot.stamp = slots_.back().stamp;
      slot.kind = abi::kValue;
      slot.more = static_cast<uint8_t>(kSlots - 1 - i);
      slot.type = abi::kBytes;
      slot.bytes = abi::kTextBytes;
      std::memcpy(slot.text, bytes.data() + i * abi::kTextBytes, abi::kTextBytes);
      Put(slot);
    }
  }
  void Call(uint64_t us, uint32_t op, uint64_t correlation, uint32_t thread, uint32_t level, uint32_t node) {
    Slot(abi::kApi, us + 50, op, correlation, thread).more = 2;
    Times(WallAt(us), WallAt(us + 5), 1);
    Value(abi::kName, level, node);
  }

  Block LaneBlock(uint64_t seq = 0, uint32_t lane = 0, uint32_t tid = 7) {
    BlockHeader header{};
    header.type = static_cast<uint16_t>(BlockType::kLane);
    header.lane = lane;
    header.tid = tid;
    header.seq = seq;
    return {header, std::as_bytes(std::span(slots_))};
  }
  // Everything in one block of lane 0.
  AgentCounts Decode() {
    AgentLanes lanes(agent_, 3, clocks_, texts_, collector_);
    BlockHeader names{};
    names.lost_before = abi::kFirstNameOffset;
    lanes.Names({names, names_});
    lanes.Lane(LaneBlock());
    lanes.Finish();
    return lanes.counts();
  }
  const CollectedSpan& Span(size_t i) { return collector_.spans.at(i); }

  ManifestAgent agent_;
  ClockMap clocks_;
  bool is_of_counter_ = false;  // stamps of modules
  Texts texts_;
  Collector collector_;
  std::vector<std::byte> names_;
  std::vector<abi::Record> slots_;
};

TEST_F(AgentLanesTest, NestedRanges) {
  const uint32_t outer = Name("outer"), inner = Name("inner");
  Name("phase", abi::kNameCategory, 0, 9);
  Name("main", abi::kNameOfThread, 0, 7);
  Slot(abi::kRangePush, 10, outer).category = 9;
  Slot(abi::kRangePush, 20, inner, 0, 1);
  Slot(abi::kRangePop, 30, 0, 0, 1);
  Slot(abi::kRangePop, 40, 0, 0, 0);
  const AgentCounts counts = Decode();
  EXPECT_EQ(counts.records, 4u);
  ASSERT_EQ(collector_.spans.size(), 2u);
  EXPECT_EQ(Span(0).name, "inner");
  EXPECT_EQ(Span(0).span.begin_ns, WallAt(20));
  EXPECT_EQ(Span(0).span.end_ns, WallAt(30));
  EXPECT_EQ(Span(1).name, "outer");
  EXPECT_EQ(Span(1).span.end_ns, WallAt(40));
  EXPECT_EQ(Span(1).args.at("category"), "phase");
  EXPECT_EQ(Span(1).span.pid, 77);
  EXPECT_EQ(Span(1).span.tid, 7);
  EXPECT_EQ(collector_.threads.at(7), "main");
}

TEST_F(AgentLanesTest, LostEndsAndBegins) {
  const uint32_t name = Name("range");
  Slot(abi::kRangePop, 5, 0, 0, 0);       // began before
  Slot(abi::kRangePush, 10, name, 0, 0);  // never ends
  Slot(abi::kRangePush, 20, name, 0, 2);  // depth 1 was lost
  Slot(abi::kRangePop, 30, 0, 0, 1);      // the end of what was lost
  Slot(abi::kRangeEnd, 40, 0, 99);        // began before
  Slot(abi::kRangeStart, 50, name, 98);   // never ends
  Slot(abi::kMark, 60, name);
  const AgentCounts counts = Decode();
  EXPECT_EQ(counts.ends_alone, 3u);
  EXPECT_EQ(counts.unfinished, 3u);
  ASSERT_EQ(collector_.spans.size(), 4u);
  for (const CollectedSpan& span : collector_.spans) {
    EXPECT_EQ(span.args.contains("unfinished"), span.span.kind == SpanKind::kRange);
    EXPECT_LE(span.span.end_ns, WallAt(60));
  }
}

TEST_F(AgentLanesTest, StepsCountersMarksWithPayload) {
  const uint32_t loss = Name("loss"), key = Name("key"), shape = Name("a name");
  Slot(abi::kStepBegin, 10, 0, 12);
  Slot(abi::kCounter, 11, loss, std::bit_cast<uint64_t>(0.25), abi::kF64);
  Slot(abi::kCounter, 12, loss, static_cast<uint64_t>(int64_t{-3}), abi::kI64);
  Slot(abi::kMark, 13, loss, 5, abi::kU64).more = 5;
  Text(key, "sixteen letters.", true, 4);
  Text(key, " and more", false, 3);
  Value(abi::kI64, key, static_cast<uint64_t>(int64_t{-1}), 2);
  Value(abi::kF64, key, std::bit_cast<uint64_t>(1.5), 1);
  Value(abi::kName, key, shape, 0);
  Slot(abi::kStepEnd, 20, 0, 12);
  const AgentCounts counts = Decode();
  EXPECT_EQ(counts.records, 5u);
  EXPECT_EQ(counts.damaged_slots, 0u);
  ASSERT_EQ(collector_.spans.size(), 4u);
  EXPECT_EQ(Span(0).span.kind, SpanKind::kCounter);
  EXPECT_EQ(Span(0).span.CounterValue(), 0.25);
  EXPECT_EQ(Span(1).span.CounterValue(), -3.0);
  EXPECT_EQ(Span(2).args.at("payload"), "5");
  EXPECT_EQ(Span(2).args.at("key"), "a name");
  EXPECT_EQ(Span(3).span.kind, SpanKind::kStep);
  EXPECT_EQ(Span(3).span.value, 12u);
  EXPECT_EQ(Span(3).name, "step");
  EXPECT_EQ(Span(3).span.begin_ns, WallAt(10));
}

TEST_F(AgentLanesTest, StepsAtTheEdgesOfARecording) {
  for (const uint64_t step : {4, 5, 6}) {
    Slot(abi::kStepBegin, 10 * step, 0, step);
    Slot(abi::kStepEnd, 10 * step + 9, 0, step);
  }
  Slot(abi::kStepBegin, 70, 0, 7);  // the recording ends in it
  const auto edges = [this] {
    std::string text;
    for (const CollectedSpan& span : collector_.spans) {
      text += std::to_string(span.span.value);
      for (const auto& [key, value] : span.args) text += " " + key + "=" + value;
      text += "; ";
    }
    collector_.spans.clear();
    return text;
  };
  Decode();
  EXPECT_EQ(edges(), "4 edge=first; 5; 6 edge=last; 7 unfinished=1; ");
  slots_.pop_back();
  agent_.step_windows = {{0, 4, 0, true}, {0, 4, 0, false}, {1, 6, 0, true}};
  Decode();
  EXPECT_EQ(edges(), "4 edge=first and last; 5; 6 edge=first and last; ");
  agent_.step_windows.clear();
  agent_.end = "moved";  // the next directory goes on
  Decode();
  EXPECT_EQ(edges(), "4 edge=first; 5; 6; ");
}

TEST_F(AgentLanesTest, WhatIsOnAStreamIsOnTheDevice) {
  const uint32_t mark = Name("mark"), copy = Name("copy"), stream = Name("stream"), flag = Name("flag");
  const auto on_stream = [&] {
    slots_.back().more = 1;
    Value(abi::kU64, stream, 0x1234);
  };
  const auto half = [&](uint64_t id, uint32_t name, uint32_t device, uint32_t place, uint64_t ns,
                        uint64_t what) {
    abi::Record& record = Slot(abi::kDeviceMark, 90, name, id, place);
    record.category = device;
    record.more = 2;
    Times(ns, ns, 1);
    Value(abi::kU64, flag, what, 0);
  };
  Slot(abi::kMark, 10, mark);
  on_stream();
  Slot(abi::kMark, 12, mark);
  on_stream();
  Slot(abi::kRangeStart, 20, copy, 77);
  on_stream();
  half(77, 0, 1, 2, WallAt(200), 4);  // its end comes first, and before the program's
  Slot(abi::kRangeEnd, 30, 0, 77);
  half(5, 0, 1, 3, WallAt(100), 1);
  half(5, mark, kNoId, 7, WallAt(12) + 300, 1);
  half(77, 0, 1, 2, WallAt(150), 2);
  half(8, 0, 1, 2, WallAt(150), 2);        // of a range that nobody knows
  half(9, mark, kNoId, 8, WallAt(12), 1);  // of a thread that made none
  half(9, 0, 1, 2, WallAt(100), 1);
  EXPECT_EQ(Decode().damaged_slots, 0u);
  ASSERT_EQ(collector_.spans.size(), 5u);
  const struct Span &first = Span(0).span, &second = Span(1).span, &range = Span(2).span,
                    &mark_there = Span(3).span, &range_there = Span(4).span;
  EXPECT_EQ(range.kind, SpanKind::kRange);
  EXPECT_EQ(range.device, -1);
  EXPECT_EQ(range.flow, Flow::kBegins);
  EXPECT_NE(first.connection, second.connection);
  EXPECT_EQ(mark_there.connection, second.connection);
  EXPECT_EQ(mark_there.flow, Flow::kEnds);
  EXPECT_EQ(Span(3).name, "mark");
  EXPECT_EQ(std::pair(mark_there.device, mark_there.stream), std::pair(1, 3u));
  EXPECT_EQ(mark_there.begin_ns, WallAt(100));
  EXPECT_EQ(range_there.kind, SpanKind::kRange);
  EXPECT_EQ(range_there.connection, range.connection);
  EXPECT_EQ(Span(4).name, "copy");
  EXPECT_EQ(std::pair(range_there.device, range_there.stream), std::pair(1, 2u));
  EXPECT_EQ(std::pair(range_there.begin_ns, range_there.end_ns), std::pair(WallAt(150), WallAt(200)));
}

TEST_F(AgentLanesTest, LongTextIsOneArgument) {
  const uint32_t name = Name("mark"), key = Name("text");
  Slot(abi::kMark, 1, name).more = 2;
  Text(key, "sixteen letters.", true, 1);
  Text(key, " and more", false, 0);
  Decode();
  EXPECT_EQ(Span(0).args.at("text"), "sixteen letters. and more");
}

// Modules stamp with the counter also where the agent does not.
class AgentLanesOfTensorsTest : public AgentLanesTest, public testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Stamps, AgentLanesOfTensorsTest, testing::Bool());

TEST_P(AgentLanesOfTensorsTest, AKernelHasTheTensorsOfTheOperatorThatLaunchedIt) {
  is_of_counter_ = GetParam();
  clocks_.Add({kRawNs, CounterAt(0), kWallNs, 0, 0, 0});
  clocks_.Add({kRawNs + 10'000'000'000, CounterAt(10'000'000), WallAt(10'000'000), 0, 0, 0});
  const uint32_t matmul = Name("aclnnMatmul"), tiling = Name("Tiling"), level = Name("level"),
                 node = Name("node"), kernel = Name("MatMul_1");
  const auto run = [&](uint64_t us, uint64_t correlation) {
    Slot(abi::kKernel, us, kernel, correlation, 3).more = 1;
    Times(WallAt(us - 100), WallAt(us - 90), 0);
  };
  // From these it is learnt how far the two clocks are apart: what was said is 70 us late by them.
  constexpr uint64_t kLate = 70, kFirstNumber = 100, kBefore = 40;
  uint64_t us = 1000;
  for (uint64_t i = 0; i < kBefore; ++i) {
    us += 60 + i * i * 37 % 400;
    Tensors(us + kLate + 5, us + kLate, "aclnnMatmul", 7, 1);
    Call(us, matmul, kFirstNumber + i, 7, level, node);
    run(us + 200, kFirstNumber + i);
  }
  us += 1000;
  // The same operator twice, with other shapes; and once in another thread at the same time.
  Tensors(us + 80, us + kLate, "aclnnMatmul", 7, 100);
  Tensors(us + 81, us + kLate, "aclnnMatmul", 8, 300);
  Tensors(us + 180, us + kLate + 100, "aclnnMatmul", 7, 200);
  Call(us, matmul, 1, 7, level, node);
  // What comes in front of the next launch has the number of the one before.
  Call(us + 90, tiling, 1, 7, level, node);
  Call(us + 100, matmul, 2, 7, level, node);
  Call(us + 2, matmul, 3, 8, level, node);
  Call(us + 2, matmul, 4, 9, level, node);  // a thread that said nothing
  for (const uint64_t correlation : {2, 1, 3, 4, 5}) run(us + 300, correlation);
  const AgentCounts counts = Decode();
  EXPECT_EQ(counts.damaged_slots, 0u);
  EXPECT_EQ(counts.records, 10u + 2 * kBefore);  // tensors are none
  std::vector<std::string> inputs, outputs;
  for (const CollectedSpan& span : collector_.spans) {
    if (span.span.kind != SpanKind::kKernel || span.span.value >= kFirstNumber) continue;
    inputs.emplace_back(texts_.Get(span.detail.input_shapes));
    outputs.emplace_back(texts_.Get(span.detail.output_shapes));
    EXPECT_EQ(span.span.value < 4, texts_.Get(span.detail.input_types) == "FLOAT16");
    EXPECT_EQ(span.span.value < 4, texts_.Get(span.detail.output_formats) == "ND");
  }
  EXPECT_EQ(inputs, (std::vector<std::string>{"\"16,200\"", "\"16,100\"", "\"16,300\"", "", ""}));
  EXPECT_EQ(outputs, (std::vector<std::string>{"\"200\"", "\"100\"", "\"300\"", "", ""}));
}

TEST_F(AgentLanesTest, KernelsAndCallsShareAFlow) {
  const uint32_t name = Name("MatMul"), type = Name("type"), level = Name("level"), node = Name("node"),
                 runtime = Name("runtime"), core = Name("AI_CORE");
  abi::Record& kernel = Slot(abi::kKernel, 50, name, 5, 3);
  kernel.category = 1;
  kernel.more = 2;
  Times(WallAt(20), WallAt(30), 1);
  Value(abi::kName, type, core);
  for (const uint32_t which : {node, runtime}) {
    Slot(abi::kApi, 51, name, 5, 4711).more = 2;
    Times(WallAt(10), WallAt(12), 1);
    Value(abi::kName, level, which);
  }
  Slot(abi::kKernel, 60, name, 6, 3);  // without times: damaged
  const AgentCounts counts = Decode();
  EXPECT_EQ(counts.damaged_slots, 1u);
  ASSERT_EQ(collector_.spans.size(), 3u);
  EXPECT_EQ(Span(0).span.device, 1);
  EXPECT_EQ(Span(0).span.stream, 3u);
  EXPECT_EQ(Span(0).category, "AI_CORE");
  EXPECT_EQ(Span(0).span.begin_ns, WallAt(20));
  EXPECT_EQ(Span(0).span.flow, Flow::kEnds);
  EXPECT_EQ(Span(1).span.flow, Flow::kBegins);
  EXPECT_EQ(Span(2).span.flow, Flow::kNone);
  EXPECT_EQ(Span(1).span.tid, 4711);
  EXPECT_EQ(Span(0).span.connection, Span(1).span.connection);
  EXPECT_NE(Span(0).span.connection, 0u);
}

TEST_F(AgentLanesTest, DamageIsCountedAndTheRestIsRead) {
  const uint32_t name = Name("mark");
  Slot(abi::kMark, 10, name);
  Slot(static_cast<abi::RecordKind>(0x33), 11, name);
  Slot(abi::kMark, 12, name).more = 33;
  Slot(abi::kMark, 13, name).more = 1;  // no value slot behind it
  Slot(abi::kMark, 14, name);
  Slot(abi::kLost, 15, 0, 41);
  Slot(abi::kMark, 16, name).more = 5;  // goes on behind the block
  AgentCounts counts = Decode();
  EXPECT_EQ(counts.records, 2u);
  EXPECT_EQ(counts.damaged_slots, 4u);
  EXPECT_EQ(counts.lost, 41u);

  AgentLanes lanes(agent_, 0, clocks_, texts_, collector_);
  lanes.Lane(LaneBlock(0));
  lanes.Lane(LaneBlock(3));
  EXPECT_EQ(lanes.counts().missing_blocks, 2u);
  EXPECT_EQ(lanes.counts().blocks_before, 0u);

  // What the storage limit has removed is the begin of each lane.
  AgentLanes aged(agent_, 0, clocks_, texts_, collector_);
  aged.Lane(LaneBlock(3));
  aged.Lane(LaneBlock(5));
  EXPECT_EQ(aged.counts().missing_blocks, 4u);
  EXPECT_EQ(aged.counts().blocks_before, 3u);
}

TEST_F(AgentLanesTest, HalvesAreBlamedOnWhatIsMissing) {
  const uint32_t name = Name("range");
  Slot(abi::kRangePop, 5, 0, 0, 0);
  Slot(abi::kRangeEnd, 6, 0, 99);
  Slot(abi::kRangePush, 10, name, 0, 0);
  AgentLanes lanes(agent_, 0, clocks_, texts_, collector_);
  lanes.Lane(LaneBlock(0));
  EXPECT_EQ(lanes.counts().ends_alone, 2u);
  EXPECT_EQ(lanes.counts().halves_cut, 0u);
  lanes.Lane(LaneBlock(3));  // whose first pop ends the push of block 0
  EXPECT_EQ(lanes.counts().ends_alone, 2u);
  EXPECT_EQ(lanes.counts().halves_cut, 1u);
  lanes.Finish();
  EXPECT_EQ(lanes.counts().unfinished, 0u);
  EXPECT_EQ(lanes.counts().halves_cut, 2u);

  AgentLanes torn(agent_, 0, clocks_, texts_, collector_);
  torn.Lane(LaneBlock(0));
  torn.Finish(true);
  EXPECT_EQ(torn.counts().unfinished, 0u);
  EXPECT_EQ(torn.counts().halves_cut, 1u);
}

TEST_F(AgentLanesTest, ALaneChangesHands) {
  const uint32_t name = Name("range");
  Slot(abi::kRangePush, 10, name);
  Slot(abi::kThread, 20, 0, 8);
  Slot(abi::kRangePop, 30);
  Slot(abi::kMark, 40, name);
  const AgentCounts counts = Decode();
  EXPECT_EQ(counts.ends_alone, 1u);  // of another thread
  EXPECT_EQ(counts.unfinished, 1u);
  EXPECT_EQ(Span(0).span.tid, 7);
  EXPECT_EQ(Span(0).span.end_ns, WallAt(10));
  EXPECT_EQ(Span(1).span.tid, 8);
}

TEST_F(AgentLanesTest, NoClockNoTimes) {
  agent_.latest = agent_.first;
  EXPECT_FALSE(AgentLanes(agent_, 0, clocks_, texts_, collector_).has_clock());
  agent_.counter_hz = 2'000'000'000;
  EXPECT_TRUE(AgentLanes(agent_, 0, clocks_, texts_, collector_).has_clock());
  const uint32_t name = Name("mark");
  Slot(abi::kMark, 10, name);
  Decode();
  EXPECT_EQ(Span(0).span.begin_ns, WallAt(10));
}

}  // namespace
}  // namespace profd::format
