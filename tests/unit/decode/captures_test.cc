// What was captured into graphs: operators by their tasks, the graphs' numbers, and launches that have them.
#include "format/decode/cann/captures.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "format/decode/cann/cann_names.h"
#include "format/decode/cann/launches.h"
#include "tests/unit/decode/collector.h"

namespace profd::format {
namespace {

constexpr uint32_t kMixAic = 4;

class CapturesTest : public testing::Test {
 protected:
  CapturesTest() {
    for (const char* line : {"11:MatMul_0", "12:MatMul", "14:kernel", "15:stride"}) names_.HashLine(line);
    for (const char* line : {"5000_13:KERNEL_AICORE", "5000_15:MEMCPY_ASYNC", "15000_1:ModelLoad"})
      names_.TypeLine(line);
  }

  static CannCapturedOp Op(uint32_t task, uint32_t tensors) {
    const auto bytes = static_cast<uint32_t>(CannCapturedOp::kBytes + tensors * sizeof(CannTensor));
    return {{kCannMagic, 5000, 6, 1, bytes, 100}, 3, 0, 7, task, kMixAic, 0x20014, 11, 12, 15, 0, 1, tensors};
  }
  static CannTensor Tensor(bool is_output, uint32_t size) { return {is_output ? 1u : 0u, 2, 1, {size, 8}}; }
  static std::vector<std::byte> Variable(uint32_t task, uint32_t tensors) {
    const CannCapturedOp op = Op(task, tensors);
    std::vector<std::byte> bytes(sizeof op + tensors * sizeof(CannTensor));
    std::memcpy(bytes.data(), &op, sizeof op);
    for (uint32_t i = 0; i < tensors; ++i) {
      const CannTensor tensor = Tensor(i + 1 == tensors, 10 + i);
      std::memcpy(bytes.data() + sizeof op + i * sizeof tensor, &tensor, sizeof tensor);
    }
    return bytes;
  }
  Launch LaunchOf(uint16_t task, uint64_t type, uint64_t kernel, uint16_t blocks = 0,
                  bool names_only = false) {
    Launches launches(names_, texts_, models_, captures_, names_only);
    launches.Add(
        CannTaskTrack{{kCannMagic, 5000, 3, 1, 40, 130}, 0, 7, task, 0, type, kernel, blocks, 0, 2, {}});
    std::vector<Launch> found;
    launches.EndWindow(
        true, 4242, [](uint64_t stamp) { return stamp; }, writer_,
        [&found](Launch&& launch) { found.push_back(std::move(launch)); });
    return std::move(found.at(0));
  }

  Texts texts_;
  CannNames names_{texts_};
  ModelCalls models_;
  Captures captures_{names_, texts_};
  Collector collector_;
  SpanWriter writer_{collector_, texts_};
};

TEST_F(CapturesTest, ALaunchHasTheOperatorThatWasCaptured) {
  const std::vector<CannTensor> room = {Tensor(false, 16), Tensor(true, 4), {}};
  captures_.Add(Op(5, 2), room, true);
  const Launch launch = LaunchOf(5, 13, 14);
  EXPECT_TRUE(launch.is_compute && launch.has_info && launch.hf32 && launch.is_dynamic);
  EXPECT_EQ(texts_.Get(launch.op_name), "MatMul_0");
  EXPECT_EQ(texts_.Get(launch.op_type), "MatMul");
  EXPECT_EQ(texts_.Get(launch.op_task_type), "MIX_AIC");
  EXPECT_EQ(texts_.Get(launch.attributes), "stride");
  EXPECT_EQ(launch.blocks, 0x14u);
  EXPECT_EQ(launch.mix_blocks, 0x28u);
  EXPECT_EQ(texts_.Get(launch.tensors[0]), "\"16,8\"");
  EXPECT_EQ(texts_.Get(launch.tensors[3]), "\"4,8\"");
  EXPECT_EQ(LaunchOf(5, 13, 14, 30).blocks, 30u);  // the launch knows better
  EXPECT_EQ(LaunchOf(5, 13, 14, 30).mix_blocks, 60u);
}

TEST_F(CapturesTest, OfOthersTheKernelsName) {
  captures_.Add(Op(5, 0), {}, false);
  const Launch launch = LaunchOf(6, 13, 14);
  EXPECT_TRUE(launch.is_compute);
  EXPECT_FALSE(launch.has_info);
  EXPECT_EQ(texts_.Get(launch.op_name), "kernel");
  EXPECT_EQ(texts_.Get(launch.op_task_type), "AI_CORE");
  EXPECT_FALSE(LaunchOf(6, 13, 0).is_compute);   // without a name
  EXPECT_FALSE(LaunchOf(6, 15, 14).is_compute);  // no kernel
}

TEST_F(CapturesTest, NamesOnly) {
  captures_.Add(Op(5, 0), {}, true);
  const Launch launch = LaunchOf(5, 13, 14, 0, true);
  EXPECT_TRUE(launch.is_compute);
  EXPECT_FALSE(launch.has_info);
  EXPECT_EQ(texts_.Get(launch.op_name), "MatMul_0");
  EXPECT_EQ(launch.op_type, 0u);
  EXPECT_EQ(launch.blocks, 0u);
}

TEST_F(CapturesTest, RecordsAsLongAsTheirTensors) {
  std::vector<std::byte> file;
  for (const uint32_t tensors : {0u, 5u, 1u}) {
    const auto record = Variable(tensors, tensors);
    file.insert(file.end(), record.begin(), record.end());
  }
  // Read in pieces of every size.
  for (const size_t size : {size_t{1}, size_t{50}, size_t{200}, file.size()}) {
    Captures captures(names_, texts_);
    std::vector<std::byte> piece;
    for (size_t at = 0; at < file.size(); at += size) {
      const size_t end = std::min(file.size(), at + size);
      piece.insert(piece.end(), file.begin() + static_cast<std::ptrdiff_t>(at),
                   file.begin() + static_cast<std::ptrdiff_t>(end));
      const size_t left = captures.TakeVariable(piece);
      piece.erase(piece.begin(), piece.end() - static_cast<std::ptrdiff_t>(left));
    }
    captures.AddCut(piece.size());
    EXPECT_EQ(captures.records(), 3u);
    EXPECT_EQ(captures.damaged(), 0u);
    ASSERT_NE(captures.OpOf(0, 7, 5), nullptr);
    EXPECT_EQ(texts_.Get(captures.OpOf(0, 7, 5)->tensors[0]), "\"10,8;11,8;12,8;13,8\"");
    EXPECT_EQ(texts_.Get(captures.OpOf(0, 7, 5)->tensors[3]), "\"14,8\"");
    EXPECT_EQ(captures.OpOf(0, 7, 2), nullptr);
  }
}

TEST_F(CapturesTest, DamageIsCounted) {
  CannCapturedOp foreign = Op(5, 0);
  foreign.head.magic = 1;
  captures_.Add(foreign, {}, false);
  captures_.Add(Op(6, 3), {}, false);  // more tensors than there are
  std::vector<std::byte> cut = Variable(7, 4);
  cut.resize(cut.size() - 1);
  captures_.AddCut(captures_.TakeVariable(cut));
  std::vector<std::byte> endless = Variable(8, 1);
  const uint32_t bytes = UINT32_MAX;
  std::memcpy(endless.data() + offsetof(CannHead, bytes), &bytes, sizeof bytes);
  EXPECT_EQ(captures_.TakeVariable(endless), 0u);
  EXPECT_EQ(captures_.records(), 4u);
  EXPECT_EQ(captures_.damaged(), 4u);
  for (const uint32_t task : {5u, 6u, 7u, 8u}) EXPECT_EQ(captures_.OpOf(0, 7, task), nullptr);
}

TEST_F(CapturesTest, GraphsByStreamAndBatch) {
  const auto capture = [&](uint64_t stamp, uint16_t stream, uint16_t model, bool ended = false) {
    captures_.Add(CannCapture{{kCannMagic, 5000, 7, 1, 40, stamp}, ended, stream, 2, model, 0, {}});
  };
  capture(100, 7, 40);
  capture(100, 7, 40);  // told twice
  capture(150, 8, 41);
  capture(180, UINT16_MAX, 40, true);
  capture(200, 7, 42);
  EXPECT_EQ(captures_.ModelOf(0, 7, 0, 130), 40u);
  EXPECT_EQ(captures_.ModelOf(0, 7, 0, 99), kNoId);
  EXPECT_EQ(captures_.ModelOf(0, 7, 1, 230), 42u);
  EXPECT_EQ(captures_.ModelOf(0, 7, 2, 230), kNoId);
  EXPECT_EQ(captures_.ModelOf(1, 7, 0, 130), kNoId);
  EXPECT_EQ(LaunchOf(5, 13, 14).model, 40u);
}

}  // namespace
}  // namespace profd::format
