#include "daemon/host/row_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "tests/unit/host/harness.h"

namespace profd::host {
namespace {

constexpr uint64_t kMs = 1'000'000;

Tick At(uint64_t ms) { return {.number = ms, .raw_ns = ms * kMs + 1, .mono_ns = ms * kMs}; }

class RowStreamTest : public ::testing::Test {
 protected:
  void Make(size_t chunk_bytes, size_t chunks) {
    writer_ = std::make_unique<FakeWriter>(chunk_bytes, chunks);
    request_.trace = 3;
    request_.first_stream = 5;
    request_.pipe = &writer_->pipe();
    request_.make_spec = FakeWriter::MakeSpec;
    output_ = std::make_unique<Output>(request_);
    stream_ = &output_->AddStream("host", "rows", stats_);
  }
  const StoredFile& File() {
    writer_->Drain();
    return *writer_->File(3, "rows");
  }

  SampleRequest request_;
  chunk::StreamStatsPtr stats_ = std::make_shared<chunk::StreamStats>();
  std::unique_ptr<FakeWriter> writer_;
  std::unique_ptr<Output> output_;
  RowStream* stream_ = nullptr;
};

TEST_F(RowStreamTest, ARowNeverLiesInTwoChunks) {
  Make(10, 8);
  EXPECT_TRUE(stream_->Append(At(1), "1234\n"));
  EXPECT_TRUE(stream_->Append(At(2), "1234\n"));
  EXPECT_TRUE(stream_->Append(At(3), "12345\n"));
  EXPECT_TRUE(stream_->Append(At(4), "12345\n"));
  ASSERT_TRUE(output_->Finish());
  EXPECT_EQ(File().text, "1234\n1234\n12345\n12345\n");
  EXPECT_EQ(File().chunks, 3u);
  EXPECT_EQ(File().records, 4u);
  EXPECT_EQ(stats_->read_records, 4u);
  EXPECT_EQ(stats_->read_bytes, 22u);
  EXPECT_EQ(stats_->last_data_ns, 4 * kMs + 1);
  EXPECT_TRUE(writer_->Ended(3));
}

TEST_F(RowStreamTest, WaitsForMoreRowsUnlessTheyComeTooLate) {
  Make(1000, 8);
  stream_->Append(At(1000), "a\n");
  output_->EndTick(1020 * kMs);
  stream_->Append(At(1020), "b\n");
  output_->EndTick(1100 * kMs);
  EXPECT_EQ(File().text, "");
  stream_->Append(At(1100), "c\n");
  output_->EndTick(1120 * kMs);
  EXPECT_EQ(File().text, "a\nb\nc\n");
  EXPECT_NE(output_->TakeKick(), nullptr);
  EXPECT_EQ(output_->TakeKick(), nullptr) << "one kick for one push";
  // At 1 Hz a row must not wait for the next.
  stream_->Append(At(2000), "d\n");
  output_->EndTick(3000 * kMs);
  EXPECT_EQ(File().text, "a\nb\nc\nd\n");
}

TEST_F(RowStreamTest, ARowLargerThanAChunkIsCounted) {
  Make(4, 8);
  EXPECT_FALSE(stream_->Append(At(1), "12345\n"));
  EXPECT_TRUE(stream_->Append(At(2), "abc\n"));
  ASSERT_TRUE(output_->Finish());
  EXPECT_EQ(File().text, "abc\n");
  ASSERT_EQ(File().losses.size(), 1u);
  EXPECT_EQ(File().losses[0].records, 1u);
  EXPECT_EQ(File().losses[0].bytes, 6u);
  EXPECT_EQ(stats_->lost_records, 1u);
}

TEST_F(RowStreamTest, NoFreeChunkIsCountedOverTheWholeTime) {
  Make(4, 2);
  for (uint64_t ms = 1; ms <= 9; ++ms) EXPECT_EQ(stream_->Append(At(ms), "abc\n"), ms <= 2) << ms;
  writer_->Drain();
  EXPECT_TRUE(stream_->Append(At(10), "end\n"));
  ASSERT_TRUE(output_->Finish());
  EXPECT_EQ(File().text, "abc\nabc\nend\n");
  ASSERT_EQ(File().losses.size(), 1u);
  const format::Loss& loss = File().losses[0];
  EXPECT_EQ(loss.where, format::Loss::Where::kPool);
  EXPECT_EQ(loss.from_ns, At(3).raw_ns);
  EXPECT_EQ(loss.to_ns, At(9).raw_ns);
  EXPECT_EQ(loss.records, 7u);
  EXPECT_EQ(loss.bytes, 28u);
  EXPECT_EQ(stats_->read_records + stats_->lost_records, 10u);
}

TEST_F(RowStreamTest, WhenChunksRunOutTheOthersAreHandedOver) {
  Make(100, 2);
  RowStream& second = output_->AddStream("host", "second", std::make_shared<chunk::StreamStats>());
  RowStream& third = output_->AddStream("host", "third", std::make_shared<chunk::StreamStats>());
  stream_->Append(At(1), "1\n");
  second.Append(At(1), "2\n");
  EXPECT_FALSE(third.Append(At(1), "3\n"));
  output_->EndTick(2 * kMs);
  writer_->Drain();
  EXPECT_TRUE(third.Append(At(2), "3\n")) << "the chunks of the first two have come back";
}

TEST_F(RowStreamTest, ALineThatIsNoMeasurementIsLostUncounted) {
  Make(4, 1);
  EXPECT_TRUE(stream_->Append(At(1), "abc\n"));
  EXPECT_FALSE(stream_->Append(At(2), "abc\n", 0));
  ASSERT_TRUE(output_->Finish());
  EXPECT_TRUE(File().losses.empty());
  EXPECT_EQ(stats_->lost_records, 0u);
}

TEST_F(RowStreamTest, ALossStandsBetweenWhatCameBeforeAndAfter) {
  Make(100, 8);
  stream_->Append(At(1), "a\n");
  stream_->Lose(format::Loss::Where::kSampler, 5, 9, 4);
  stream_->Append(At(9), "b\n");
  ASSERT_TRUE(output_->Finish());
  std::string order;
  for (chunk::Item item; writer_->pipe().Pop(item);) {
    if (item.what == chunk::Item::What::kChunk) order += static_cast<char>(item.chunk->data[0]);
    if (item.what == chunk::Item::What::kLoss) order += std::to_string(item.loss.records);
    if (item.what == chunk::Item::What::kEnd) order += '.';
  }
  EXPECT_EQ(order, "a4b.");
}

TEST_F(RowStreamTest, AFullQueueDelaysButLosesNothingUncounted) {
  Make(100, 4);
  chunk::Item filler;
  filler.what = chunk::Item::What::kLoss;
  filler.key = {.trace = 3, .stream = 5};
  filler.loss = {.from_ns = 1, .to_ns = 1, .records = 1};
  while (writer_->pipe().Push(filler)) {
  }
  // Announced late: until then its rows have nowhere to go.
  RowStream& late = output_->AddStream("host", "late", stats_);
  EXPECT_FALSE(late.Append(At(1), "x\n"));
  stream_->Lose(format::Loss::Where::kSampler, 5, 9, 4);
  EXPECT_TRUE(stream_->Append(At(9), "b\n")) << "chunks always fit";
  EXPECT_FALSE(output_->Finish());
  EXPECT_FALSE(writer_->Ended(3));
  File();
  EXPECT_TRUE(late.Append(At(10), "y\n"));
  ASSERT_TRUE(output_->Finish());
  EXPECT_EQ(File().text, "b\n");
  EXPECT_EQ(writer_->Text(3, "late"), "y\n");
  EXPECT_EQ(writer_->File(3, "late")->losses.size(), 1u);
  EXPECT_EQ(std::ranges::count(File().losses, 4u, &format::Loss::records), 1);
  EXPECT_EQ(stats_->lost_records, 5u);
  EXPECT_TRUE(writer_->Ended(3));
}

}  // namespace
}  // namespace profd::host
