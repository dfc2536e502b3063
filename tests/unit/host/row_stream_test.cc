#include "daemon/host/rows/row_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

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
  // Two rows under way and one that waits; the next have no room.
  for (uint64_t ms = 1; ms <= 9; ++ms) EXPECT_EQ(stream_->Append(At(ms), "abc\n"), ms <= 3) << ms;
  EXPECT_FALSE(output_->EndTick(1000 * kMs)) << "wants to be called again soon";
  writer_->Drain();
  EXPECT_TRUE(stream_->Append(At(10), "end\n"));
  EXPECT_TRUE(output_->EndTick(10 * kMs));
  ASSERT_TRUE(output_->Finish());
  EXPECT_EQ(File().text, "abc\nabc\nabc\nend\n");
  ASSERT_EQ(File().losses.size(), 1u);
  const format::Loss& loss = File().losses[0];
  EXPECT_EQ(loss.where, format::Loss::Where::kPool);
  EXPECT_EQ(loss.from_ns, At(4).raw_ns);
  EXPECT_EQ(loss.to_ns, At(9).raw_ns);
  EXPECT_EQ(loss.records, 6u);
  EXPECT_EQ(loss.bytes, 24u);
  EXPECT_EQ(stats_->read_records + stats_->lost_records, 10u);
}

TEST_F(RowStreamTest, AFewChunksServeManyFiles) {
  Make(100, 2);
  constexpr int kFiles = 20;
  std::vector<RowStream*> streams;
  for (int i = 0; i < kFiles; ++i) {
    streams.push_back(&output_->AddStream("host", "file" + std::to_string(i), stats_));
    EXPECT_TRUE(streams.back()->Append(At(1), "1\n"));
  }
  int calls = 1;
  for (; !output_->EndTick(1000 * kMs); ++calls) writer_->Drain();
  writer_->Drain();
  EXPECT_EQ(calls, kFiles / 2);
  for (int i = 0; i < kFiles; ++i) EXPECT_EQ(writer_->Text(3, "file" + std::to_string(i)), "1\n");
  EXPECT_EQ(stats_->lost_records, 0u);
}

TEST_F(RowStreamTest, ManyFilesHoldNoMoreThanThePipe) {
  Make(100, 2);
  uint64_t kept = 0;
  for (int i = 0; i < 20; ++i) {
    RowStream& stream = output_->AddStream("host", "file" + std::to_string(i), stats_);
    for (int row = 0; row < 5; ++row) kept += stream.Append(At(1), "0123456789abcdefghi\n");
  }
  // Ten rows wait, and two chunks' worth went when there was no room.
  EXPECT_EQ(stats_->read_records, kept);
  EXPECT_EQ(stats_->lost_records, 100 - kept);
  EXPECT_LE(kept * 20, 2u * 100 + 2u * 100);
  EXPECT_GE(kept * 20, 2u * 100);
  while (!output_->Finish()) writer_->Drain();
  writer_->Drain();
  EXPECT_TRUE(writer_->Ended(3));
  uint64_t stored = 0;
  for (int i = 0; i < 20; ++i) stored += writer_->File(3, "file" + std::to_string(i))->records;
  EXPECT_EQ(stored, kept);
}

TEST_F(RowStreamTest, ALineThatIsNoMeasurementIsLostUncounted) {
  Make(4, 1);
  EXPECT_TRUE(stream_->Append(At(1), "abc\n"));
  EXPECT_TRUE(stream_->Append(At(2), "abc\n"));
  EXPECT_FALSE(stream_->Append(At(3), "abc\n", 0));
  while (!output_->Finish()) writer_->Drain();
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

TEST_F(RowStreamTest, AFullQueueDelaysAndLosesNothing) {
  Make(100, 4);
  chunk::Item filler;
  filler.what = chunk::Item::What::kLoss;
  filler.key = {.trace = 3, .stream = 5};
  filler.loss = {.from_ns = 1, .to_ns = 1, .records = 1};
  while (writer_->pipe().Push(filler)) {
  }
  // Announced late: until then its rows have to wait.
  RowStream& late = output_->AddStream("host", "late", stats_);
  EXPECT_TRUE(late.Append(At(1), "x\n"));
  stream_->Lose(format::Loss::Where::kSampler, 5, 9, 4);
  EXPECT_TRUE(stream_->Append(At(9), "b\n"));
  EXPECT_FALSE(output_->Finish());
  EXPECT_FALSE(writer_->Ended(3));
  File();
  ASSERT_TRUE(output_->Finish());
  EXPECT_EQ(File().text, "b\n");
  EXPECT_EQ(writer_->Text(3, "late"), "x\n");
  EXPECT_EQ(std::ranges::count(File().losses, 4u, &format::Loss::records), 1);
  EXPECT_EQ(stats_->lost_records, 4u);
  EXPECT_TRUE(writer_->Ended(3));
}

// A file system that takes nothing, when others wait, too.
TEST(RowsOfALedger, ThatWaitTakeNoMoreThanTheirPart) {
  constexpr uint64_t kMiB = 1 << 20;
  const auto ledger = std::make_shared<chunk::Ledger>(kMiB);
  base::WakeUp bell;
  chunk::Pipe pipe("sample", kMiB, 32, bell, {ledger, 2});
  {
    SampleRequest request;
    request.pipe = &pipe;
    request.make_spec = FakeWriter::MakeSpec;
    Output output(request);
    const auto stats = std::make_shared<chunk::StreamStats>();
    RowStream& stream = output.AddStream("host", "rows", stats);
    const std::string row(1000, 'x');
    for (uint64_t i = 0; i < 20'000; ++i) stream.Append(At(i), row);
    EXPECT_LE(ledger->taken(), 3 * kMiB) << "two chunks, and one of rows";
    EXPECT_GT(stats->read_bytes, 2 * kMiB);
    EXPECT_LE(stats->read_bytes, 3 * kMiB);
    EXPECT_EQ(stats->read_records + stats->lost_records, 20'000U);
    for (chunk::Item item; pipe.Pop(item);) {
      if (item.what == chunk::Item::What::kChunk) pipe.Return(item.chunk);
    }
    EXPECT_TRUE(stream.Append(At(20'000), row)) << "once it takes some again";
  }
  EXPECT_EQ(ledger->taken(), 2 * kMiB) << "those of the pipe";
}

}  // namespace
}  // namespace profd::host
