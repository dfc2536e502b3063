#include "client/show/screen/nodes_view.h"

#include <gtest/gtest.h>

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace profd::client {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

void Add(v1::LiveValues* values, const std::string& name, double value,
         const std::vector<std::pair<std::string, std::string>>& labels = {}) {
  v1::LiveMetric* metric = values->add_metrics();
  metric->set_name(name);
  v1::LiveValue* added = metric->add_values();
  added->set_value(value);
  for (const auto& [key, text] : labels) {
    v1::LiveLabel* label = added->add_labels();
    label->set_name(key);
    label->set_value(text);
  }
}

// Two devices, of which `working` are ok, each as busy as `busy` says.
v1::LiveValues Node(double busy, int working = 2, double lost = 0) {
  v1::LiveValues values;
  values.set_wall_ns(kSecond);
  for (int device = 0; device < 2; ++device) {
    const std::string name = std::to_string(device);
    Add(&values, "profd_device_status", device < working ? 1 : 4, {{"device", name}});
    Add(&values, "profd_device_aicore_utilization_ratio", busy, {{"device", name}});
  }
  Add(&values, "profd_host_cpu_utilization_ratio", 1 - busy);
  Add(&values, "profd_lost_records_total", lost);
  return values;
}

std::vector<std::string> Hosts(const NodesView& view, uint64_t now_ns = kSecond) {
  std::istringstream in(view.Text(0, {}, now_ns));
  std::vector<std::string> hosts;
  bool below = false;
  for (std::string line; std::getline(in, line);) {
    if (below) hosts.push_back(line.substr(0, line.find(' ')));
    below |= line.starts_with("HOST");
  }
  return hosts;
}

TEST(NodesView, SortsAsTheKeysSay) {
  NodesView view({"n1", "n2", "n3"});
  view.Take("n1", Node(0.5, 2, 7), kSecond);
  view.Take("n2", Node(0.9), kSecond);
  view.Take("n3", Node(0.1, 2, 9), kSecond);
  EXPECT_EQ(Hosts(view), (std::vector<std::string>{"n1", "n2", "n3"}));
  EXPECT_TRUE(view.OnKey('a'));
  EXPECT_EQ(Hosts(view), (std::vector<std::string>{"n2", "n1", "n3"}));
  EXPECT_TRUE(view.OnKey('c'));
  EXPECT_EQ(Hosts(view), (std::vector<std::string>{"n3", "n1", "n2"}));
  EXPECT_TRUE(view.OnKey('l'));
  EXPECT_EQ(Hosts(view), (std::vector<std::string>{"n3", "n1", "n2"}));
  EXPECT_TRUE(view.OnKey('R'));
  EXPECT_EQ(Hosts(view), (std::vector<std::string>{"n2", "n1", "n3"}));
  EXPECT_FALSE(view.OnKey('x'));
  EXPECT_FALSE(view.SortBy("size").ok());
}

TEST(NodesView, WhatIsWrongStandsFirst) {
  NodesView view({"n1", "n2", "n3", "n4", "n5"});
  view.Take("n1", Node(0.5), 9 * kSecond);
  view.Take("n2", Node(0.5, 1), 9 * kSecond);
  view.Take("n3", Node(0.5), kSecond);
  view.Fail("n4", "profd does not answer");
  const std::string text = view.Text(0, {}, 9 * kSecond);
  EXPECT_EQ(Hosts(view, 9 * kSecond), (std::vector<std::string>{"n2", "n3", "n4", "n5", "n1"})) << text;
  EXPECT_NE(text.find("1 of 2 devices not ok"), std::string::npos) << text;
  EXPECT_NE(text.find("silent for 8 s"), std::string::npos) << text;
  EXPECT_NE(text.find("profd does not answer"), std::string::npos) << text;
  EXPECT_NE(text.find("no answer yet"), std::string::npos) << text;
  EXPECT_TRUE(text.starts_with("5 nodes, 3 answer; 6 devices, 5 ok; AI core 50.0 % (50.0 % to 50.0 %)\n"))
      << text;
  view.Take("n4", Node(0.5), 9 * kSecond);  // it is back
  EXPECT_EQ(view.Text(0, {}, 9 * kSecond).find("profd does not answer"), std::string::npos);
}

// Two ranks of job llm with steps of these seconds.
v1::LiveValues Training(int first_rank, double first_s, double second_s) {
  v1::LiveValues values = Node(0.5);
  for (int i = 0; i < 2; ++i) {
    Add(&values, "profd_process_step_seconds", i == 0 ? first_s : second_s,
        {{"pid", std::to_string(100 + i)},
         {"name", "python3"},
         {"job", "llm"},
         {"rank", std::to_string(first_rank + i)}});
  }
  return values;
}

TEST(NodesView, NamesTheSlowestRanks) {
  NodesView view({"n1", "n2", "n3", "n4"});
  view.Take("n1", Training(0, 1.0, 1.0), 9 * kSecond);
  view.Take("n2", Training(2, 1.0, 1.5), 9 * kSecond);
  view.Take("n3", Training(4, 0.9, 1.2), 9 * kSecond);
  view.Take("n4", Training(6, 99, 99), 9 * kSecond);
  view.Fail("n4", "profd does not answer");  // what it said is of the past
  EXPECT_TRUE(view.OnKey('s'));
  const std::string text = view.Text(0, {}, 9 * kSecond);
  EXPECT_EQ(Hosts(view, 9 * kSecond)[1], "n2") << text;
  const size_t table = text.find("slowest ranks, of 6 (");
  ASSERT_NE(table, std::string::npos) << text;
  std::istringstream in(text.substr(table));
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    rows.emplace_back(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
  }
  ASSERT_GE(rows.size(), 7U) << text;
  EXPECT_EQ(rows[2], (std::vector<std::string>{"3", "llm", "n2", "101", "1.5", "s", "1.50", "x", "python3"}));
  EXPECT_EQ(rows[3][0], "5") << "1.2 s";
  EXPECT_EQ(rows.size(), 7U) << "five of the six\n" << text;
}

TEST(NodesView, FitsAnyScreen) {
  NodesView view({"n1", "n2"});
  view.Take("n1", Node(0.5), kSecond);
  for (const size_t rows : {1, 2, 5, 100}) {
    std::istringstream in(view.Text(rows, {.columns = 20}, kSecond));
    size_t lines = 0;
    for (std::string line; std::getline(in, line); ++lines) EXPECT_LE(line.size(), 20U);
    EXPECT_EQ(lines, rows);
  }
}

TEST(NodesView, ForeignNamesCannotCommandTheTerminal) {
  NodesView view({"n1\033[2J"});
  view.Fail("n1\033[2J", "because\033[2J");
  EXPECT_EQ(view.Text(0, {}, kSecond).find('\033'), std::string::npos);
}

}  // namespace
}  // namespace profd::client
