// What CANN's own collector records of operators beside their tasks, and which model's they are.
#include "format/decode/cann/operator_records.h"

#include <gtest/gtest.h>

#include "format/decode/cann/cann_names.h"
#include "format/decode/cann/model_calls.h"
#include "tests/unit/decode/collector.h"

namespace profd::format {
namespace {

CannApiRecord Call(uint32_t thread, uint64_t begin, uint64_t end, uint64_t model, uint16_t level = 15000) {
  return {kCannMagic, level, 5, thread, 0, begin, end, model};
}

CannHead Head(uint64_t stamp, uint32_t thread = 1) { return {kCannMagic, 15000, 9, thread, 232, stamp}; }

TEST(CannNames, WhatACallOfAscendClIs) {
  EXPECT_EQ(AclApiTag(0x050001), "ACL_NN");
  EXPECT_EQ(AclApiTag(0x070001), "HOST_HCCL");
  EXPECT_EQ(AclApiTag(0x080001), "8");
  EXPECT_EQ(AclApiTag(0xffff0000), "65535");
}

TEST(ModelCalls, TheCallAroundAMomentOfAThread) {
  ModelCalls calls;
  calls.Add(Call(2, 300, 400, 22));
  calls.Add(Call(1, 300, 400, 12));
  calls.Add(Call(1, 100, 200, 11));
  calls.Add(Call(1, 120, 180, 99));  // inside of another one
  calls.Add(Call(1, 150, 250, 98));  // half inside
  calls.Add(Call(1, 500, 600, 13, 10000));
  calls.Add(Call(3, 700, kCannEvent, 31));
  calls.Add(Call(3, 800, kCannEvent, 31));
  calls.Add(Call(3, 900, kCannEvent, 32));  // without another end
  CannApiRecord foreign = Call(1, 1000, 1100, 14);
  foreign.magic = 1;
  calls.Add(foreign);
  calls.Finish();
  const auto none = kNoId;
  EXPECT_EQ(calls.At(1, 99), none);
  for (const uint64_t stamp : {100, 150, 200}) EXPECT_EQ(calls.At(1, stamp), 11u) << stamp;
  EXPECT_EQ(calls.At(1, 220), none);
  EXPECT_EQ(calls.At(1, 350), 12u);
  EXPECT_EQ(calls.At(2, 350), 22u);
  for (const uint64_t stamp : {550, 1050}) EXPECT_EQ(calls.At(1, stamp), none) << stamp;
  EXPECT_EQ(calls.At(3, 750), 31u);
  EXPECT_EQ(calls.At(3, 950), none);
  EXPECT_EQ(calls.At(4, 350), none);
}

class OperatorRecordsTest : public testing::Test {
 protected:
  OperatorRecordsTest() {
    for (const char* line : {"11:FusedConv", "12:Conv", "13:Bias", "14:resnet"}) names_.HashLine(line);
    models_.Add(Call(1, 100, 200, 7));
    models_.Add(Call(1, 300, 400, 8));
    models_.Finish();
  }

  Texts texts_;
  CannNames names_{texts_};
  ModelCalls models_;
  Collector collector_;
  SpanWriter writer_{collector_, texts_};
  OperatorRecords records_{names_, writer_, 4242};
};

TEST_F(OperatorRecordsTest, Memory) {
  records_.Take(CannMemory{Head(50, 3), 0xABC, -77, 11, 1000, 2000, 5, 20, {}}, 9050);
  writer_.Flush();
  ASSERT_EQ(collector_.spans.size(), 1u);
  const CollectedSpan& span = collector_.spans[0];
  EXPECT_EQ(span.span.kind, SpanKind::kOpMemory);
  EXPECT_EQ(std::tuple(span.span.begin_ns, span.span.end_ns, span.span.pid, span.span.tid, span.span.device),
            std::tuple(9050u, 9050u, 4242, 3, 5));
  EXPECT_EQ(std::tuple(span.name, span.category), std::tuple("FusedConv", "GE"));
  EXPECT_EQ(
      span.args,
      (std::map<std::string, std::string>{
          {"size", "-77"}, {"address", "2748"}, {"total allocated", "1000"}, {"total reserved", "2000"}}));
}

TEST_F(OperatorRecordsTest, WhatOneWasMadeOf) {
  records_.Take(CannModel{Head(1), 14, 1, 7, {}});
  records_.Take(CannFusedOp{Head(150), 11, 3, 1, 2, 3, 4, 5, {12, 13, 99}, {}}, models_, 9150);
  records_.Take(CannFusedOp{Head(350), 11, 0, 1, 2, 3, 4, 5, {}, {}}, models_, 9350);
  records_.Take(CannFusedOp{Head(450), 11, 1, 1, 2, 3, 4, 5, {12}, {}}, models_, 9450);
  writer_.Flush();
  ASSERT_EQ(collector_.spans.size(), 3u);
  const CollectedSpan& span = collector_.spans[0];
  EXPECT_EQ(span.span.kind, SpanKind::kFusedOp);
  EXPECT_EQ(std::tuple(span.name, span.category, span.span.value), std::tuple("FusedConv", "resnet", 7u));
  EXPECT_EQ(span.args, (std::map<std::string, std::string>{{"parts", "Conv;Bias;99"},
                                                           {"input", "1"},
                                                           {"output", "2"},
                                                           {"weight", "3"},
                                                           {"workspace", "4"},
                                                           {"total", "5"}}));
  // Of a model without a name, and of none.
  EXPECT_EQ(std::tuple(collector_.spans[1].category, collector_.spans[1].span.value), std::tuple("", 8u));
  EXPECT_EQ(std::tuple(collector_.spans[2].category, collector_.spans[2].span.value), std::tuple("", kNoId));
}

TEST_F(OperatorRecordsTest, Damage) {
  CannMemory memory{Head(1), 0, 1, 11, 0, 0, 0xFFFF, 20, {}};
  CannFusedOp fused{Head(1), 11, CannFusedOp::kMostParts, 1, 2, 3, 4, 5, {}, {}};
  CannModel model{Head(1), 14, 1, 7, {}};
  EXPECT_FALSE(IsDamage(memory) || IsDamage(fused) || IsDamage(model));
  memory.device = 0x10000;
  fused.count = CannFusedOp::kMostParts + 1;
  model.head.magic = 0;
  EXPECT_TRUE(IsDamage(memory) && IsDamage(fused) && IsDamage(model));
}

}  // namespace
}  // namespace profd::format
