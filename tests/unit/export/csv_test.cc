// Tables: cells, quoting, order of rows, what is added up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "client/export/csv/csv_spans.h"
#include "client/export/read/sources/overlap.h"
#include "client/export/views/keyed_stats.h"
#include "client/export/write/csv_file.h"
#include "client/export/write/output.h"
#include "format/decode/catalogue.h"
#include "format/decode/span_writer.h"

namespace profd::client {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class CsvTest : public testing::Test {
 protected:
  CsvTest() : folder_(fs::temp_directory_path() / ("csv_test." + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    facts_.devices.resize(1);
    facts_.devices[0].device = 0;
    facts_.devices[0].chip = format::Chip::k910B;
  }
  ~CsvTest() override { fs::remove_all(folder_); }
  std::vector<std::string> Lines(const std::string& kind) const {
    std::ifstream file(folder_ / (kind + "_1.csv"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  std::unique_ptr<ExportOutput> Make(bool vendor_compatible = false) {
    return MakeTablesOutput(folder_.string(), "1", false, facts_, {vendor_compatible, false}).value();
  }

  const fs::path folder_;
  CaptureFacts facts_;
  format::Texts texts_;
};

TEST_F(CsvTest, Cells) {
  CsvFolder folder(folder_.string(), "1");
  CsvFile* csv = folder.Open("kind", "a,b");
  csv->Text("plain");
  csv->Text("a,\"b\"\nc");
  csv->Device(-1);
  csv->Na();
  csv->Us(1'234'567);
  csv->Us(0, "000");
  csv->Stamp(1'700'000'000'000'000'001);
  csv->Rounded(95.36749);
  csv->Rounded(4);
  csv->Rounded(std::nan(""));
  csv->Fixed(2450);
  csv->Trimmed(4);
  csv->Trimmed(4.25);
  csv->Trimmed(0);
  csv->Shortest(0.1);
  csv->Text(std::string(100'000, 'x'));
  csv->Text("");
  csv->End();
  EXPECT_FALSE(fs::exists(folder_ / "kind_1.csv"));
  ASSERT_TRUE(folder.Finish().ok());
  std::ifstream file(folder_ / "kind_1.csv");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(text,
            "a,b\nplain,\"a,\"\"b\"\"\nc\",host,N/A,1234.567,0.000000,1700000000000000.001\t,95.367,4.0,,"
            "2450.000,4,4.25,0,0.1," +
                std::string(100'000, 'x') + ",\n");
}

TEST_F(CsvTest, NoFolderIsAnError) {
  auto output = MakeTablesOutput("/nonexistent/folder", "1", false, facts_, {}).value();
  format::RowBatch batch;
  batch.series = format::FindSeries("ddr");
  batch.device = 0;
  batch.wall_ns = {1};
  batch.values = {1, 2};
  output->Rows(batch);
  EXPECT_FALSE(output->Finish().ok());
}

TEST(Quantile, ExactThenNearlySo) {
  Quantile few;
  EXPECT_TRUE(std::isnan(few.At(0.98)));
  few.Add(0);
  few.Add(-1);
  for (int i = 1; i <= 50; ++i) few.Add(i);
  EXPECT_EQ(few.At(0.98), 50);  // the one behind 49 × 0.98
  EXPECT_EQ(few.At(0.5), 26);
  Quantile many;
  for (int i = 1; i <= 1'000'000; ++i) many.Add(i);
  EXPECT_NEAR(many.At(0.98), 980'000, 100);
}

TEST(KeyedStats, SumsByKeyWithoutWhatIsNoNumber) {
  KeyedStats stats;
  format::RowBatch batch;
  batch.series = format::FindSeries("hbm");
  batch.device = 1;
  for (int i = 0; i < 6; ++i) {
    batch.wall_ns.push_back(static_cast<uint64_t>(i));
    batch.keys.insert(batch.keys.end(), {i % 3, 0});
    batch.values.push_back(i < 3 ? std::nan("") : i);
  }
  stats.Add(batch);
  batch.device = -1;
  stats.Add(batch);
  stats.Label(1, 0, 2, "two");
  const auto entries = stats.Sorted();
  ASSERT_EQ(entries.size(), 6u);
  EXPECT_EQ(entries[0]->device, 1);
  EXPECT_EQ(entries[5]->device, -1);
  EXPECT_EQ(entries[2]->labels[0], "two");
  EXPECT_EQ(entries[2]->stats[0].Mean(), 5);
  EXPECT_EQ(entries[2]->stats[0].count, 1u);
  EXPECT_EQ(entries[2]->first_ns, 2u);
  EXPECT_EQ(entries[2]->last_ns, 5u);
}

TEST_F(CsvTest, TasksInOrderOfTheirBegin) {
  auto output = Make();
  {
    format::SpanWriter writer(*output, texts_);
    for (const uint64_t begin : {3000, 1000, 2000}) {
      format::Span& span = writer.Add(format::SpanKind::kTask);
      span.begin_ns = begin;
      span.end_ns = begin + 500;
      span.device = 0;
      span.stream = 7;
      span.value = begin / 1000;
      span.category = texts_.Intern("KERNEL_AICORE");
      format::TaskDetail& detail = writer.AddDetail();
      detail.has_op = begin != 1000;
      detail.op_name = texts_.Intern("op");
      detail.op_type = begin == 3000 ? texts_.Intern("MatMul") : 0;
    }
    writer.Flush();
  }
  ASSERT_TRUE(output->Finish().ok());
  EXPECT_THAT(Lines("task_time"), ElementsAre(testing::_, "0,op,KERNEL_AICORE,7,1,0.500,1.000\t,1.500\t",
                                              "0,op,KERNEL_AICORE,7,2,0.500,2.000\t,2.500\t",
                                              "0,op,KERNEL_AICORE,7,3,0.500,3.000\t,3.500\t"));
  const auto operators = Lines("op_summary");
  ASSERT_EQ(operators.size(), 3u);
  // No launch of the host tells of states, shapes and blocks.
  EXPECT_EQ(operators[1], "0,4294967295,2,7,op,N/A,N/A,2.000\t,0.500,0,N/A,N/A,N/A,,,,,,,N/A");
  EXPECT_EQ(operators[2], "0,4294967295,3,7,op,MatMul,N/A,3.000\t,0.500,0.500000,N/A,N/A,N/A,,,,,,,N/A");
  EXPECT_EQ(Lines("op_statistic").at(1), "0,MatMul,N/A,1,0.5,0.5,0.5,0.5,100");
}

TEST_F(CsvTest, VectorCoresHaveOneNameWhoeverTellsOfTheTask) {
  for (const bool vendor_compatible : {false, true}) {
    auto output = Make(vendor_compatible);
    format::SpanWriter writer(*output, texts_);
    for (const uint64_t begin : {1000, 2000}) {
      format::Span& span = writer.Add(format::SpanKind::kTask);
      span.begin_ns = begin;
      span.end_ns = begin + 500;
      span.device = 0;
      span.category = texts_.Intern(begin == 1000 ? "AIV_SQE" : "KERNEL_AIVEC");
      format::TaskDetail& detail = writer.AddDetail();
      detail.has_op = begin == 2000;
      if (detail.has_op) detail.op_task_type = texts_.Intern("AI_VECTOR_CORE");
    }
    writer.Flush();
    ASSERT_TRUE(output->Finish().ok());
    EXPECT_THAT(
        Lines("task_time"),
        ElementsAre(testing::_, testing::HasSubstr(vendor_compatible ? ",AIV_SQE," : ",AI_VECTOR_CORE,"),
                    testing::HasSubstr(",AI_VECTOR_CORE,")));
  }
}

TEST_F(CsvTest, CallsAndCollectives) {
  auto output = Make();
  format::SpanWriter writer(*output, texts_);
  for (const uint64_t us : {10, 20, 60}) {
    format::Span& call = writer.Add(format::SpanKind::kApi);
    call.end_ns = us * 1000;
    call.name = texts_.Intern("launch");
    call.category = texts_.Intern("node");
    format::Span& collective = writer.Add(format::SpanKind::kComm);
    collective.begin_ns = 1000;
    collective.end_ns = 1000 + us * 1000;
    collective.device = 0;
    collective.name = texts_.Intern("hcom_allReduce__483_" + std::to_string(us));
  }
  writer.Flush();
  ASSERT_TRUE(output->Finish().ok());
  EXPECT_EQ(Lines("api_statistic").at(1), "host,node,launch,90,3,30,10,60,466.667");
  EXPECT_EQ(Lines("communication_statistic").at(1), "0,hcom_allReduce_,3,90,10,30,60,100");
  EXPECT_THAT(Lines("op_summary").at(1), testing::HasSubstr(",COMMUNICATION,"));
}

// The vendor's older exporter repeats the calls of the host for every device; one of a later chip has none.
TEST_F(CsvTest, CallsOnceMoreForEveryDevice) {
  facts_.devices.resize(3);
  for (const size_t device : {0, 1, 2}) facts_.devices[device].device = static_cast<int>(device);
  facts_.devices[0].chip = facts_.devices[1].chip = format::Chip::k910;
  facts_.devices[2].chip = format::Chip::k910B;
  for (const bool vendor_compatible : {true, false}) {
    auto output = Make(vendor_compatible);
    format::SpanWriter writer(*output, texts_);
    format::Span& call = writer.Add(format::SpanKind::kApi);
    call.end_ns = 10'000;
    call.name = texts_.Intern("launch");
    call.category = texts_.Intern("node");
    writer.Flush();
    ASSERT_TRUE(output->Finish().ok());
    const std::vector<std::string> lines = Lines("api_statistic");
    const std::vector<std::string> rows(lines.begin() + 1, lines.end());
    if (vendor_compatible) {
      EXPECT_THAT(rows, ElementsAre("0,node,launch,10,1,10,10,10,0", "1,node,launch,10,1,10,10,10,0"));
    } else {
      EXPECT_THAT(rows, ElementsAre("host,node,launch,10,1,10,10,10,0"));
    }
  }
}

// --- overlap

TEST(Overlap, MergedAndWithout) {
  EXPECT_THAT(Merged({{5, 7}, {1, 3}, {3, 4}, {6, 6}}), ElementsAre(Period{1, 4}, Period{5, 7}));
  EXPECT_TRUE(Merged({}).empty());
  EXPECT_THAT(Without({{0, 10}, {20, 30}}, {{2, 4}, {9, 22}, {25, 26}}),
              ElementsAre(Period{0, 2}, Period{4, 9}, Period{22, 25}, Period{26, 30}));
  EXPECT_THAT(Without({{5, 6}}, {{0, 10}}), ElementsAre());
}

class Periods : public format::SpanSink {
 public:
  void Spans(const format::SpanBatch& batch) override {
    for (const format::Span& span : batch.spans) {
      if (span.kind == format::SpanKind::kOverlap) found[span.value].push_back({span.begin_ns, span.end_ns});
    }
  }
  std::map<uint64_t, std::vector<Period>> found;
};

TEST(Overlap, InPiecesTheSameAsAtOnce) {
  format::Texts texts;
  std::mt19937 random(5);
  std::vector<format::Span> spans;
  for (uint64_t i = 0; i < 3000; ++i) {
    format::Span span;
    span.kind = random() % 3 == 0 ? format::SpanKind::kComm : format::SpanKind::kKernel;
    span.begin_ns = 1000 + i * 100 + random() % 50;
    span.end_ns = span.begin_ns + random() % 130;
    span.device = 0;
    spans.push_back(span);
  }
  std::map<uint64_t, std::vector<Period>> found[2];
  for (const size_t window : {1'000'000, 64}) {
    Periods sink;
    Overlap overlap(sink, texts, window);
    for (size_t at = 0; at < spans.size(); at += 10) {
      format::SpanBatch batch;
      batch.texts = &texts;
      batch.spans.assign(spans.begin() + static_cast<ptrdiff_t>(at),
                         spans.begin() + static_cast<ptrdiff_t>(at + 10));
      overlap.Spans(batch);
    }
    overlap.Finish();
    EXPECT_EQ(overlap.late(), 0u);
    found[window == 64] = sink.found;
  }
  for (uint64_t kind = 0; kind < 4; ++kind) {
    // A cut in the middle of something leaves two halves that touch.
    EXPECT_EQ(Merged(found[0][kind]), Merged(found[1][kind])) << kind;
  }
  // Computing, pure communication and nothing fill the time without a gap.
  uint64_t sum = 0, first = UINT64_MAX, last = 0;
  for (const uint64_t kind : {0, 2, 3}) {
    for (const Period& period : found[0][kind]) sum += period.end_ns - period.begin_ns;
  }
  for (const format::Span& span : spans)
    first = std::min(first, span.begin_ns), last = std::max(last, span.end_ns);
  EXPECT_EQ(sum, last - first);
}

}  // namespace
}  // namespace profd::client
