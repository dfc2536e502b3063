#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "client/export/views/counter_tables.h"
#include "client/export/views/db_tables.h"
#include "client/export/write/output.h"
#include "format/decode/catalogue.h"
#include "tests/unit/export/sqlite_query.h"

namespace profd::client {
namespace {

class Db : public testing::Test {
 protected:
  Db() {
    folder_ = std::filesystem::temp_directory_path() / ("db_test_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    facts_.host.pid = 4242;
    facts_.host.hostname = "host-a";
    facts_.start_ns = 1'700'000'000'000'000'000;
    facts_.end_ns = facts_.start_ns + 1'000'000'000;
    format::SideFacts side;
    side.device = 0;
    side.chip = format::Chip::k910B;
    facts_.devices.push_back(side);
    Open();
  }
  ~Db() override { std::filesystem::remove_all(folder_); }

  void Open() {
    output_.reset();
    auto made = MakeDatabaseOutput(path(), facts_, options_);
    ASSERT_TRUE(made.ok()) << made.status().message();
    output_ = std::move(*made);
  }
  void Finish() {
    const base::Status status = output_->Finish();
    EXPECT_TRUE(status.ok()) << status.message();
  }
  Table Query(const std::string& sql) { return client::Query(path(), sql); }
  std::string path() const { return (folder_ / "msprof.db").string(); }

  std::filesystem::path folder_;
  CaptureFacts facts_;
  OutputOptions options_;
  std::unique_ptr<ExportOutput> output_;
};

// Names in the tables that no series has would silently be columns of nothing.
TEST(Tables, EverySourceIsOfItsSeries) {
  const auto has_key = [](const format::Series& series, std::string_view key) {
    return std::ranges::count(series.keys, key) == 1;
  };
  const auto has_column = [](const format::Series& series, std::string_view column) {
    return std::ranges::count(series.columns, column, &format::SeriesColumn::name) == 1;
  };
  const auto fills = [](const format::Series& series, std::string_view name) {
    const std::vector<int64_t> keys(series.keys.size(), 1);
    return FillName(name, series, keys, {}).find('?') == std::string::npos;
  };
  for (const CounterTable& table : CounterTables()) {
    const format::Series* series = format::FindSeries(table.series);
    ASSERT_NE(series, nullptr) << table.series;
    for (const CounterEvent& event : table.events) {
      EXPECT_TRUE(fills(*series, event.name)) << event.name;
      for (const CounterArg& arg : event.args) {
        EXPECT_TRUE(fills(*series, arg.name)) << arg.name;
        const size_t plus = std::min(arg.source.find('+'), arg.source.size());
        const bool known = arg.source.starts_with('@') ? has_key(*series, arg.source.substr(1))
                                                       : has_column(*series, arg.source.substr(0, plus));
        EXPECT_TRUE(known) << table.series << " " << arg.source;
        if (plus < arg.source.size()) {
          EXPECT_TRUE(has_column(*series, arg.source.substr(plus + 1))) << arg.source;
        }
      }
    }
  }
  for (const DbTable& table : DbTables()) {
    const format::Series* series = format::FindSeries(table.series);
    ASSERT_NE(series, nullptr) << table.series;
    for (const DbColumn& column : table.columns) {
      if (column.source == "@device" || column.source == "@stamp") continue;
      if (column.source.starts_with("@text:")) {
        EXPECT_TRUE(fills(*series, column.source.substr(6))) << column.source;
      } else if (column.source.starts_with("@key:")) {
        EXPECT_TRUE(has_key(*series, column.source.substr(5))) << table.name << " " << column.source;
      } else {
        ASSERT_TRUE(has_column(*series, column.source)) << table.name << " " << column.source;
        using enum format::Unit;
        const format::Unit unit =
            std::ranges::find(series->columns, column.source, &format::SeriesColumn::name)->unit;
        EXPECT_EQ(UnitOf(column, series).empty(), unit == kNone || unit == kCount)
            << table.name << " " << column.source << " × " << column.scale;
      }
    }
    if (!table.unless_negative.empty()) {
      EXPECT_TRUE(has_key(*series, table.unless_negative));
    }
  }
}

TEST_F(Db, RowsBecomeRowsOfTheVendorsTable) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  output_->Rows({format::FindSeries("hbm"),
                 0,
                 {facts_.start_ns, facts_.start_ns + 20, facts_.start_ns + 40},
                 {3, 1, 3, 0, 3, 0},
                 {1048575999.9999999, nan, 12.75}});
  Finish();
  EXPECT_EQ(Query("SELECT deviceId,timestampNs,bandwidth,hbmId,value FROM HBM JOIN STRING_IDS ON id=type"),
            (Table{{"0", "1700000000000000000", "1048576000", "3", "write"},
                   {"0", "1700000000000000040", "12", "3", "read"}}));
  EXPECT_TRUE(Query("SELECT name FROM sqlite_master WHERE name='DDR'").empty());
  EXPECT_EQ(Query("SELECT * FROM SESSION_TIME_INFO"),
            (Table{{"1700000000000000000", "1700000001000000000"}}));
  EXPECT_EQ(Query("SELECT * FROM NPU_INFO"), (Table{{"0", "Ascend910B"}}));
  EXPECT_EQ(
      Query("SELECT instr(sql, 'bandwidth NUMERIC /* B/s */, ') > 0 FROM sqlite_master WHERE name = 'HBM'"),
      (Table{{"1"}}));
}

TEST_F(Db, VendorCompatibleRepeatsAndScales) {
  options_.vendor_compatible = true;
  Open();
  output_->Rows(
      {format::FindSeries("core_freq"), 0, {facts_.start_ns, facts_.start_ns + 5}, {-1, -1}, {1.8e9, 8e8}});
  output_->Rows({format::FindSeries("llc"), 0, {facts_.start_ns}, {0, 0}, {0.5, 10}});
  Finish();
  EXPECT_EQ(Query("SELECT freq,count(*) FROM AICORE_FREQ GROUP BY freq"),
            (Table{{"800", "3"}, {"1800", "3"}}));
  EXPECT_EQ(Query("SELECT hitRate,throughput FROM LLC"), (Table{{"50.0", "640"}}));
  EXPECT_EQ(Query("SELECT instr(sql, '/*') FROM sqlite_master WHERE name = 'LLC'"), (Table{{"0"}}));
}

TEST_F(Db, WhatCoresCountedOverAllSamples) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  format::SideFacts& side = facts_.devices.front();
  side.aic_events = {0xc, 0x12};
  side.aiv_events = {0x8};
  side.aic_mhz = side.aiv_mhz = 1000;
  Open();
  const auto values = [&](double cycles, double event0, double event1) {
    std::vector<double> row(format::FindSeries("core_sample")->columns.size(), nan);
    row[0] = cycles;
    row[3] = event0;
    row[4] = event1;
    return row;
  };
  std::vector<double> all;
  for (const auto& row : {values(600, 100, 1 << 20), values(400, 150, 1 << 20), values(100, 25, nan)})
    all.insert(all.end(), row.begin(), row.end());
  output_->Rows({format::FindSeries("core_sample"),
                 0,
                 {facts_.start_ns, facts_.start_ns + 1, facts_.start_ns + 1},
                 {2, 0, 2, 0, 3, 1},
                 all});
  Finish();
  // 2^21 requests of 64 bits in 1 µs, in bytes a second.
  EXPECT_EQ(
      Query("SELECT deviceId,m.value,CAST(s.value AS TEXT),coreId,t.value FROM SAMPLE_PMU_SUMMARY s "
            "JOIN STRING_IDS m ON m.id=metric JOIN STRING_IDS t ON t.id=coreType ORDER BY coreId,m.value"),
      (Table{{"0", "main_mem_read_bw", "16777216000000", "2", "AIC"},
             {"0", "mte2_ratio", "0.25", "2", "AIC"},
             {"0", "total_time", "1000", "2", "AIC"},
             {"0", "total_time", "100", "3", "AIV"},
             {"0", "vec_ratio", "0.25", "3", "AIV"}}));
}

TEST_F(Db, TheAverageOfAllCpusIsNoCpu) {
  output_->Rows(
      {format::FindSeries("host_cpu"), -1, {facts_.start_ns, facts_.start_ns}, {-1, 2}, {0.125, 0.5}});
  Finish();
  EXPECT_EQ(Query("SELECT cpuId,usage FROM CPU_USAGE"), (Table{{"2", "50"}}));
}

TEST_F(Db, TasksCallsAndMarks) {
  format::Texts texts;
  format::SpanBatch batch;
  batch.texts = &texts;
  batch.tasks.resize(1);
  batch.tasks[0].has_op = true;
  batch.tasks[0].op_type = texts.Intern("MatMul");
  format::Span task, api, range;
  task.begin_ns = 1000;
  task.end_ns = 1500;
  task.device = 0;
  task.stream = 7;
  task.value = 19;
  task.connection = 3;
  task.detail = 0;
  task.name = texts.Intern("MatMul_0");
  task.category = texts.Intern("KERNEL_AICORE");
  api.kind = format::SpanKind::kApi;
  api.name = texts.Intern("launch");
  api.category = texts.Intern("node");
  api.connection = 3;
  api.pid = api.tid = 4242;
  range.kind = format::SpanKind::kRange;
  range.name = texts.Intern("it's; DROP TABLE TASK \xFF");
  range.value = 9;
  range.pid = 1;
  range.tid = 2;
  format::Span unlaunched = task;
  unlaunched.connection = 0;
  unlaunched.stream = 8;
  unlaunched.detail = format::kNoId;
  batch.spans = {task, unlaunched, api, api, range};
  output_->Spans(batch);
  Finish();
  EXPECT_EQ(
      Query("SELECT "
            "t.startNs,t.endNs,connectionId,globalPid,streamId,taskId,modelId,n.value,ty.value,op.value,f."
            "value "
            "FROM TASK t JOIN COMPUTE_TASK_INFO c USING (globalTaskId) JOIN STRING_IDS n ON n.id=c.name "
            "JOIN STRING_IDS ty ON ty.id=t.taskType JOIN STRING_IDS op ON op.id=c.opType "
            "JOIN STRING_IDS f ON f.id=c.inputFormats"),
      (Table{{"1000", "1500", "3", "4242", "7", "19", "4294967295", "MatMul_0", "KERNEL_AICORE", "MatMul",
              "N/A"}}));
  // Both calls are there, though they say the same number.
  EXPECT_EQ(Query("SELECT connectionId FROM TASK WHERE streamId=8"), (Table{{"-1"}}));  // nobody launched it
  EXPECT_EQ(Query("SELECT count(*),min(connectionId),min(type),min(globalTid) FROM CANN_API"),
            (Table{{"2", "3", "10000", "18219251273874"}}));
  EXPECT_EQ(Query("SELECT eventType,rangeId,globalTid,value FROM MSTX_EVENTS JOIN STRING_IDS ON id=message"),
            (Table{{"2", "9", "4294967298", "it's; DROP TABLE TASK \xEF\xBF\xBD"}}));
  EXPECT_EQ(output_->left_out(), 0u);
  EXPECT_EQ(Query("SELECT value,count(*) FROM STRING_IDS GROUP BY value HAVING count(*)>1"), Table{});
}

// Analysers read ranges of starts and ends only, and take "N/A" for dynamic shapes.
TEST_F(Db, WhatProgramsRecordedAsAnalysersReadIt) {
  format::Texts texts;
  format::SpanBatch batch;
  batch.texts = &texts;
  batch.tasks.resize(1);
  batch.tasks[0].has_op = true;
  format::Span kernel, comm, range;
  kernel.kind = format::SpanKind::kKernel;
  kernel.connection = uint64_t{1} << 44 | 5;
  kernel.detail = 0;
  comm.kind = format::SpanKind::kComm;
  comm.name = texts.Intern("hcom_allReduce__721_4_1");
  comm.category = texts.Intern("group");
  range.kind = format::SpanKind::kRange;
  batch.spans = {kernel, comm, range, range};
  output_->Spans(batch);
  Finish();
  EXPECT_EQ(Query("SELECT count(*) FROM pragma_table_info('COMPUTE_TASK_INFO') WHERE name = 'opState'"),
            (Table{{"0"}}));
  EXPECT_EQ(Query("SELECT value FROM COMPUTE_TASK_INFO JOIN STRING_IDS ON id = inputShapes"), (Table{{""}}));
  EXPECT_EQ(Query("SELECT n.value,t.value FROM COMMUNICATION_OP JOIN STRING_IDS n ON n.id=opName JOIN "
                  "STRING_IDS t ON t.id=opType"),
            (Table{{"hcom_allReduce__721_4_1", "hcom_allReduce_"}}));
  EXPECT_EQ(Query("SELECT rankSize IS NULL FROM COMMUNICATION_OP"), (Table{{"1"}}));
  EXPECT_EQ(Query("SELECT eventType,count(*),count(DISTINCT rangeId),min(connectionId) FROM MSTX_EVENTS"),
            (Table{{"2", "2", "2", "4294967295"}}));
}

// A framework's operators, as its annotations name them: what each started itself, not what those inside of
// it did.
TEST_F(Db, OperatorsOfAFrameworkAndWhatTheyStarted) {
  options_.for_analysers = true;
  Open();
  format::Texts texts;
  format::SpanBatch batch;
  batch.texts = &texts;
  const auto add = [&](format::SpanKind kind, const char* name, uint64_t begin, uint64_t end, int64_t tid,
                       uint64_t connection = 0) {
    format::Span& span = batch.spans.emplace_back();
    span.kind = kind;
    span.name = texts.Intern(name);
    span.begin_ns = begin;
    span.end_ns = end;
    span.pid = 1;
    span.tid = tid;
    span.connection = connection;
    span.flow = connection != 0 ? format::Flow::kBegins : format::Flow::kNone;
  };
  constexpr auto kRange = format::SpanKind::kRange, kApi = format::SpanKind::kApi;
  add(kApi, "launch", 15, 16, 7, 101);  // calls are told later than ranges, or earlier
  add(kRange, "aten::mm", 14, 20, 7);
  add(kRange, "aten::linear", 10, 30, 7);
  add(kRange, "aten::add", 40, 50, 7);
  add(kRange, "step 3", 0, 100, 7);
  add(kRange, "aten::mm", 14, 20, 8);
  add(kApi, "launch", 25, 26, 7, 103);
  add(kApi, "launch", 19, 21, 7, 102);
  add(kApi, "launch", 60, 61, 7, 104);
  add(kApi, "launch", 15, 16, 9, 105);
  add(kApi, "aclrtSynchronizeStream", 27, 28, 7);
  output_->Spans(batch);
  Finish();
  EXPECT_EQ(Query("SELECT n.value,startNs,endNs,globalTid&255,c.connectionId,e.name FROM PYTORCH_API p JOIN "
                  "STRING_IDS n "
                  "ON n.id=p.name JOIN ENUM_API_TYPE e ON e.id=type LEFT JOIN CONNECTION_IDS c ON "
                  "c.id=p.connectionId "
                  "ORDER BY 4,2,5"),
            (Table{{"aten::linear", "10", "30", "7", "103", "op"},
                   {"aten::mm", "14", "20", "7", "101", "op"},
                   {"aten::mm", "14", "20", "7", "102", "op"},
                   {"aten::add", "40", "50", "7", "NULL", "op"},
                   {"aten::mm", "14", "20", "8", "NULL", "op"}}));
}

TEST_F(Db, WhatIsNotFinishedLeavesNothing) {
  output_.reset();
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(Db, OthersMayNotReadIt) {
  Finish();
  EXPECT_EQ(std::filesystem::status(path()).permissions() & std::filesystem::perms::others_all,
            std::filesystem::perms::none);
}

TEST_F(Db, AFolderThatIsNotThere) {
  const auto made = MakeDatabaseOutput((folder_ / "none/msprof.db").string(), facts_, options_);
  EXPECT_FALSE(made.ok());
}

}  // namespace
}  // namespace profd::client
