#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "client/export/write/output.h"
#include "format/decode/catalogue.h"

namespace profd::client {
namespace {

using nlohmann::json;

class Chrome : public testing::Test {
 protected:
  Chrome() {
    folder_ = std::filesystem::temp_directory_path() / ("chrome_test_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    facts_.host.pid = 4242;
    facts_.host.pid_name = "trainer";
    facts_.start_ns = 1'700'000'000'000'000'000;
    facts_.end_ns = facts_.start_ns + 1'000'000'000;
    AddDevice(0, format::Chip::k910B);
  }
  ~Chrome() override { std::filesystem::remove_all(folder_); }

  void AddDevice(int device, format::Chip chip) {
    format::SideFacts side;
    side.device = device;
    side.chip = chip;
    side.pid = 4242;
    facts_.devices.push_back(side);
  }
  void Open() {
    auto made = MakeChromeOutput(path(), facts_, options_);
    ASSERT_TRUE(made.ok()) << made.status().message();
    output_ = std::move(*made);
  }
  json Finish() {
    EXPECT_TRUE(output_->Finish().ok());
    std::ifstream file(path());
    return json::parse(file);
  }
  std::string path() const { return (folder_ / "msprof.json").string(); }
  format::RowBatch Hbm(int device, const std::vector<std::pair<int64_t, double>>& rows) {
    format::RowBatch batch{format::FindSeries("hbm"), device, {}, {}, {}};
    for (const auto& [id, value] : rows) {
      batch.wall_ns.push_back(facts_.start_ns + 20'000'001);
      batch.keys.insert(batch.keys.end(), {id, 1});
      batch.values.push_back(value);
    }
    return batch;
  }

  std::filesystem::path folder_;
  CaptureFacts facts_;
  OutputOptions options_;
  std::unique_ptr<ExportOutput> output_;
};

// The vendor's viewer/stars/sio_viewer.py:83-88 and viewer/stars/acc_pmu_viewer.py:67-83.
TEST_F(Chrome, DiesAndUnitsOfOneMomentAreOneEvent) {
  const auto write = [this] {
    Open();
    format::RowBatch sio{format::FindSeries("sio"), 0, {}, {}, {}};
    format::RowBatch units{format::FindSeries("acc_pmu"), 0, {}, {}, {}};
    for (const uint64_t ms : {20, 40}) {
      for (const int64_t one : {0, 1}) {
        for (format::RowBatch* batch : {&sio, &units}) {
          batch->wall_ns.push_back(facts_.start_ns + ms * 1'000'000);
          batch->keys.push_back(one);
          batch->values.resize(batch->values.size() + batch->series->columns.size(),
                               static_cast<double>((7 - one) << 20));
        }
      }
    }
    output_->Label(*format::FindSeries("sio"), 0, 0, 0, "die 0");
    output_->Label(*format::FindSeries("sio"), 0, 0, 1, "die 1");
    output_->Rows(sio);
    output_->Rows(units);
    std::map<std::string, std::vector<json>> args;
    for (const json& event : Finish()) {
      if (event["ph"] == "C") args[event["name"]].push_back(event["args"]);
    }
    return args;
  };
  auto args = write();
  EXPECT_EQ(args["req_rx"], std::vector<json>(2, json{{"die 0", 7.0}, {"die 1", 6.0}}));
  EXPECT_EQ(args["write_ost"], std::vector<json>(2, json{{"unit 0", 7 << 20}, {"unit 1", 6 << 20}}));
  options_.vendor_compatible = true;
  EXPECT_EQ(write()["write_ost"], std::vector<json>(2, json{{"value", 7 << 20}}));
}

// The vendor's csrc/application/timeline/qos_assembler.cpp: a 950's dies are arguments, other chips have
// none.
TEST_F(Chrome, QosOfA950ByDie) {
  AddDevice(1, format::Chip::k950);
  Open();
  const format::Series* series = format::FindSeries("qos");
  format::RowBatch batch{series, 0, {facts_.start_ns}, {0, -1}, {3 << 20}};
  output_->Rows(batch);
  batch.device = 1;
  batch.wall_ns = {facts_.start_ns, facts_.start_ns};
  batch.keys = {0, 0, 0, 1};
  batch.values = {4 << 20, 5 << 20};
  output_->Rows(batch);
  json args = json::array();
  for (const json& event : Finish()) {
    if (event["ph"] == "C") {
      EXPECT_EQ(event["name"], "QoS 0");
      args.push_back(event["args"]);
    }
  }
  EXPECT_EQ(args, (json{{{"value", 3}}, {{"die 0", 4}, {"die 1", 5}}}));
}

TEST_F(Chrome, NothingIsAnEmptyArray) {
  Open();
  EXPECT_EQ(Finish(), json::array());
}

TEST_F(Chrome, RowsBecomeCountersOfTheVendorsProcess) {
  Open();
  output_->Rows(Hbm(0, {{3, 2.5 * (1 << 20)}, {4, 0}, {3, 1 << 20}}));
  const json events = Finish();
  const json expected = {{"name", "HBM 3/Write"},        {"pid", 4344576}, {"tid", 0},
                         {"ts", "1700000000020000.001"}, {"ph", "C"},      {"args", {{"Write(MB/s)", 2.5}}}};
  EXPECT_EQ(events[0], expected);
  EXPECT_EQ(events[1]["name"], "HBM 4/Write");
  EXPECT_EQ(events[2]["args"], (json{{"Write(MB/s)", 1.0}}));
  std::map<std::string, json> names;
  for (const json& event : events)
    if (event["ph"] == "M") names[event["name"]] = event["args"];
  EXPECT_EQ(names["process_name"], (json{{"name", "HBM"}}));
  EXPECT_EQ(names["process_labels"], (json{{"labels", "NPU 0"}}));
  EXPECT_EQ(names["process_sort_index"], (json{{"sort_index", 24}}));
}

TEST_F(Chrome, OlderExporterNumbersWhatIsThere) {
  facts_.devices.clear();
  AddDevice(1, format::Chip::k310P);
  facts_.kinds = {"ddr", "hbm"};
  Open();
  output_->Rows(Hbm(1, {{0, 1.0 / 3 * (1 << 20)}}));
  format::RowBatch ddr{format::FindSeries("ddr"), 1, {facts_.start_ns}, {}, {0, 0}};
  output_->Rows(ddr);
  const json events = Finish();
  EXPECT_EQ(events[0]["pid"], 4242 << 10 | 20 << 5 | 1);
  EXPECT_EQ(events[0]["args"]["Write(MB/s)"], 0.333);
  EXPECT_EQ(events[1]["pid"], 4242 << 10 | 21 << 5 | 1);
}

// The vendor draws the constant frequency of a 310P, of no other old chip (AiCoreFreqViewer.get_all_data()).
TEST_F(Chrome, TheVendorsFrequencyOfOldChips) {
  const auto drawn = [this](format::Chip chip, bool vendor_compatible) {
    facts_.devices.clear();
    AddDevice(0, chip);
    facts_.devices[0].aic_mhz = 1080;
    facts_.end_ns = facts_.start_ns + 3'000'000;
    options_.vendor_compatible = vendor_compatible;
    Open();
    std::vector<double> mhz;
    for (const json& event : Finish()) {
      if (event["name"] == "AI Core Freq") mhz.push_back(event["args"]["MHz"]);
    }
    return mhz;
  };
  EXPECT_EQ(drawn(format::Chip::k310P, true), std::vector<double>(4, 1080));
  EXPECT_EQ(drawn(format::Chip::k310P, false), std::vector<double>());
  for (const format::Chip chip : {format::Chip::k310, format::Chip::k910, format::Chip::k910B})
    EXPECT_EQ(drawn(chip, true), std::vector<double>()) << format::NumberOf(chip);
}

TEST_F(Chrome, NoValueIsNoEvent) {
  Open();
  output_->Rows(Hbm(0, {{0, std::numeric_limits<double>::quiet_NaN()}, {1, 0}}));
  EXPECT_EQ(Finish()[0]["name"], "HBM 1/Write");
}

TEST_F(Chrome, TooManyKeySetsAreCounted) {
  Open();
  std::vector<std::pair<int64_t, double>> rows;
  for (int64_t id = 0; id < 5000; ++id) rows.emplace_back(id, 1);
  output_->Rows(Hbm(0, rows));
  EXPECT_EQ(output_->left_out(), 5000u - 4096u);
  EXPECT_EQ(Finish().size(), 4096u + 3u);
}

TEST_F(Chrome, AnOutputThatIsNotFinishedLeavesNothing) {
  Open();
  output_->Rows(Hbm(0, {{0, 1}}));
  output_.reset();
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(Chrome, SpansAndTheirFlows) {
  Open();
  format::Texts texts;
  format::SpanBatch batch;
  batch.texts = &texts;
  batch.tasks.push_back({});
  format::Span task;
  task.begin_ns = facts_.start_ns + 1'200'000;
  task.end_ns = task.begin_ns + 500'250;
  task.device = 0;
  task.stream = 7;
  task.value = 19;
  task.name = texts.Intern("Mat\"Mul\xFF");
  task.category = texts.Intern("KERNEL_AICORE");
  task.connection = 1;
  task.flow = format::Flow::kEnds;
  task.detail = 0;
  format::Span api;
  api.kind = format::SpanKind::kApi;
  api.begin_ns = facts_.start_ns + 1'000'000;
  api.end_ns = api.begin_ns + 60'000;
  api.pid = api.tid = 4242;
  api.name = texts.Intern("launch");
  api.category = texts.Intern("node");
  api.connection = 1;
  api.flow = format::Flow::kBegins;
  batch.spans = {task, api};
  output_->Spans(batch);
  const json events = Finish();
  EXPECT_EQ(events[0]["name"], "Mat\"Mul\xEF\xBF\xBD");
  EXPECT_EQ(events[0]["dur"], 500.25);
  EXPECT_EQ(events[0]["pid"], 4344256);
  EXPECT_EQ(events[0]["args"], (json{{"Model Id", 4294967295},
                                     {"Task Type", "KERNEL_AICORE"},
                                     {"Physic Stream Id", 7},
                                     {"Task Id", 19},
                                     {"Batch Id", 0},
                                     {"Subtask Id", 4294967295},
                                     {"connection_id", 1}}));
  EXPECT_EQ(events[1], (json{{"name", "HostToDevice4294967296"},
                             {"pid", 4344256},
                             {"tid", 7},
                             {"ph", "f"},
                             {"cat", "HostToDevice"},
                             {"id", "4294967296"},
                             {"ts", "1700000000001200.000"},
                             {"bp", "e"}}));
  EXPECT_EQ(events[2]["name"], "Node@launch");
  EXPECT_EQ(events[3]["ph"], "s");
  EXPECT_EQ(events[3]["id"], events[1]["id"]);
}

TEST_F(Chrome, ArrowsOfProgramsHaveTwoEnds) {
  Open();
  format::Texts texts;
  format::SpanBatch batch;
  batch.texts = &texts;
  const auto add = [&](format::SpanKind kind, uint64_t connection, format::Flow flow) {
    format::Span span;
    span.kind = kind;
    span.begin_ns = facts_.start_ns + batch.spans.size();
    span.device = kind == format::SpanKind::kKernel ? 0 : -1;
    span.connection = uint64_t{1} << 44 | connection;
    span.flow = flow;
    batch.spans.push_back(span);
  };
  add(format::SpanKind::kApi, 1, format::Flow::kBegins);   // starts nothing
  add(format::SpanKind::kKernel, 2, format::Flow::kEnds);  // known before its call
  add(format::SpanKind::kApi, 2, format::Flow::kBegins);
  add(format::SpanKind::kApi, 3, format::Flow::kBegins);  // starts two
  add(format::SpanKind::kKernel, 3, format::Flow::kEnds);
  add(format::SpanKind::kKernel, 3, format::Flow::kEnds);
  format::Span step;
  step.kind = format::SpanKind::kStep;
  step.value = 32;
  step.name = texts.Intern("step");
  batch.spans.push_back(step);
  output_->Spans(batch);
  std::string ends;
  bool step_found = false;
  for (const json& event : Finish()) {
    if (event["ph"] == "s" || event["ph"] == "f")
      ends += event["ph"].get<std::string>() + event["ts"].get<std::string>().back() + " ";
    step_found = step_found || (event["name"] == "step" && event["args"]["Iteration ID"] == 32);
  }
  EXPECT_EQ(ends, "f1 s2 s3 f4 f5 ");
  EXPECT_TRUE(step_found);
}

TEST_F(Chrome, SpansOfAnyValuesAreJson) {
  Open();
  format::Texts texts;
  format::SpanBatch batch;
  batch.texts = &texts;
  for (int kind = 0; kind < static_cast<int>(format::kSpanKinds); ++kind) {
    format::Span span;
    span.kind = static_cast<format::SpanKind>(kind);
    span.begin_ns = UINT64_MAX;  // and ends before it begins
    span.pid = INT64_MIN;
    span.tid = -1;
    span.device = INT32_MAX;
    span.name = span.category = 0xFFFFFF;  // no such text
    span.value = span.connection = UINT64_MAX;
    span.detail = 77;
    span.flow = format::Flow::kEnds;
    batch.spans.push_back(span);
  }
  output_->Spans(batch);
  EXPECT_GE(Finish().size(), format::kSpanKinds - 4);
}

}  // namespace
}  // namespace profd::client
