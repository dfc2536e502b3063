#include "client/show/screen/top_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "client/words/text.h"

namespace profd::client {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

struct Values {
  void Add(const std::string& name, const Labels& labels, double value) {
    v1::LiveMetric* metric = message.add_metrics();
    metric->set_name(name);
    v1::LiveValue* added = metric->add_values();
    added->set_value(value);
    for (const auto& [key, text] : labels) {
      added->add_labels()->set_name(key);
      added->mutable_labels(added->labels_size() - 1)->set_value(text);
    }
  }
  v1::LiveValues message;
};

Values Node() {
  Values values;
  values.message.set_wall_ns(1'000'000'000);
  for (const auto& [device, busy] : {std::pair{"0", 0.25}, {"1", 0.95}, {"10", 0.5}}) {
    values.Add("profd_device_status", {{"device", device}, {"chip", "910B3"}}, 1);
    values.Add("profd_device_aicore_utilization_ratio", {{"device", device}}, busy);
  }
  return values;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// First words of the device lines.
std::vector<std::string> Devices(const TopView& view) {
  std::vector<std::string> devices;
  for (const std::string& line : Lines(view.Text(0, {}))) {
    std::istringstream words(line);
    std::string device, chip;
    words >> device >> chip;
    if (chip == "910B3") devices.push_back(device);
  }
  return devices;
}

TEST(TopView, SortsAsTheKeysSay) {
  TopView view;
  view.Take(Node().message);
  EXPECT_EQ(Devices(view), (std::vector<std::string>{"0", "1", "10"}));
  EXPECT_TRUE(view.OnKey('a'));
  EXPECT_EQ(Devices(view), (std::vector<std::string>{"1", "10", "0"}));
  EXPECT_TRUE(view.OnKey('R'));
  EXPECT_EQ(Devices(view), (std::vector<std::string>{"0", "10", "1"}));
  EXPECT_FALSE(view.OnKey('x'));
  EXPECT_FALSE(view.SortBy("size").ok());
}

TEST(TopView, WhatNobodySamplesIsADash) {
  TopView view;
  Values values = Node();
  values.Add("profd_device_hbm_bytes_per_second", {{"device", "1"}, {"direction", "read"}}, 5e9);
  view.Take(values.message);
  const std::string text = view.Text(0, {});
  EXPECT_NE(text.find("5.0 GB/s"), std::string::npos) << text;
  EXPECT_NE(text.find("95.0 %"), std::string::npos);
  EXPECT_EQ(text.find("0 B/s"), std::string::npos) << text;
}

TEST(TopView, RatesAreBetweenTwoSets) {
  TopView view;
  Values values;
  values.Add("profd_lost_records_total", {{"source", "device"}}, 10);
  values.message.set_wall_ns(1'000'000'000);
  view.Take(values.message);
  EXPECT_NE(view.Text(0, {}).find("lost 10 (-/s)"), std::string::npos);
  values.message.mutable_metrics(0)->mutable_values(0)->set_value(40);
  values.message.set_wall_ns(3'000'000'000);
  view.Take(values.message);
  EXPECT_NE(view.Text(0, {}).find("lost 40 (15/s)"), std::string::npos) << view.Text(0, {});
}

TEST(TopView, FitsAnyScreen) {
  TopView view;
  view.Take(Node().message);
  for (const size_t rows : {1, 2, 5, 100}) {
    for (const size_t columns : {1, 10, 200}) {
      const std::vector<std::string> lines = Lines(view.Text(rows, {.columns = columns}));
      EXPECT_EQ(lines.size(), rows);
      for (const std::string& line : lines) EXPECT_LE(Width(line), columns);
    }
  }
}

TEST(TopView, KeysAreWholeOnEightyColumnsAndStandLast) {
  TopView view;
  view.Take(Node().message);
  const std::vector<std::string> lines = Lines(view.Text(24, {.columns = 80}));
  EXPECT_EQ(lines.back(), "q quit  R reverse  devices: d a core h HBM m mem  processes: c CPU r mem p pid");
  // A screen for a person has them, plain text has none.
  EXPECT_EQ(view.Text(0, {}).find("q quit"), std::string::npos);
}

TEST(TopView, WhatIsWrongIsInTheSum) {
  TopView view;
  Values values = Node();
  values.Add("profd_device_status", {{"device", "11"}, {"chip", "910B3"}}, 4);
  view.Take(values.message);
  const std::string text = view.Text(0, {});
  EXPECT_LT(text.find("4 devices, 3 ok"), text.find("DEV")) << text;
}

TEST(TopView, ForeignNamesCannotCommandTheTerminal) {
  TopView view;
  Values values;
  values.Add("profd_process_resident_memory_bytes",
             {{"pid", "7"}, {"name", "evil\x1b[2J\n"}, {"user", "a\x1b"}, {"job", "\r"}, {"rank", "\x07"}},
             5);
  view.Take(values.message);
  const std::string text = view.Text(0, {});
  EXPECT_NE(text.find("evil?[2J?"), std::string::npos) << text;
  EXPECT_TRUE(std::ranges::none_of(text, [](char c) { return c == '\x1b' || c == '\r' || c == '\x07'; }));
}

}  // namespace
}  // namespace profd::client
