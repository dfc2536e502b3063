#include "libagent/src/facts.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string>

namespace profd::agent::testing {
namespace {

std::map<std::string, std::string> LabelsOf(const std::string& environment) {
  auto hello = std::make_unique<profd_v1_AgentHello>();
  ReadLabels(environment.data(), environment.size(), hello.get());
  std::map<std::string, std::string> labels;
  for (size_t i = 0; i < hello->labels_count; ++i) {
    labels[hello->labels[i].key] = std::string(hello->labels[i].value) + " from " + hello->labels[i].source;
  }
  return labels;
}

std::string Block(std::initializer_list<const char*> variables) {
  std::string block;
  for (const char* variable : variables) block.append(variable).push_back('\0');
  return block;
}

TEST(FactsTest, LabelsOfLaunchers) {
  const auto labels =
      LabelsOf(Block({"PATH=/bin", "SLURM_PROCID=5", "RANKS=9", "OMPI_COMM_WORLD_RANK=6", "RANK_SIZE=16",
                      "KUBERNETES_SERVICE_HOST=1.2.3.4", "HOSTNAME=worker-3"}));
  EXPECT_EQ(labels, (std::map<std::string, std::string>{{"rank", "6 from OMPI_COMM_WORLD_RANK"},
                                                        {"world_size", "16 from RANK_SIZE"},
                                                        {"pod", "worker-3 from HOSTNAME"}}));
}

TEST(FactsTest, TheUsersOwnLabelsComeFirst) {
  const auto labels = LabelsOf(Block({"RANK=1", "PROFD_LABELS=rank=7,,team=a=b,nonsense,=x,empty="}));
  EXPECT_EQ(labels, (std::map<std::string, std::string>{{"rank", "7 from PROFD_LABELS"},
                                                        {"team", "a=b from PROFD_LABELS"},
                                                        {"empty", " from PROFD_LABELS"}}));
}

TEST(FactsTest, OddEnvironments) {
  EXPECT_TRUE(LabelsOf("").empty());
  EXPECT_TRUE(LabelsOf("RANK").empty());
  EXPECT_EQ(LabelsOf("RANK=3").at("rank"), "3 from RANK");  // no zero at the end
  std::string many = "PROFD_LABELS=";
  for (int i = 0; i < 100; ++i) many += "k" + std::to_string(i) + "=" + std::string(1000, 'v') + ",";
  EXPECT_EQ(LabelsOf(many).size(), 16U);
}

std::string Copied(const std::string& text, size_t room = 64) {
  std::string field(room, '#');
  CopyText(field.data(), room, text.data(), text.size());
  EXPECT_NE(field.find('\0'), std::string::npos);
  return field.c_str();
}

TEST(FactsTest, TextsAreUtf8WhateverComesIn) {
  EXPECT_EQ(Copied("pla\u00efn \u6f22\U0001F600"), "pla\u00efn \u6f22\U0001F600");
  EXPECT_EQ(Copied("a\xff"
                   "b\xc3"),
            "a?b?");
  EXPECT_EQ(Copied("\xed\xa0\x80"), "???");       // a surrogate
  EXPECT_EQ(Copied("\xc0\xaf"), "??");            // overlong
  EXPECT_EQ(Copied("\xf4\x90\x80\x80"), "????");  // beyond the last
  EXPECT_EQ(Copied("12345678", 5), "1234");
  EXPECT_EQ(Copied("123\u00e4", 5), "123");  // no room for the second byte
}

TEST(FactsTest, DescribesThisProcess) {
  auto hello = std::make_unique<profd_v1_AgentHello>();
  DescribeProcess(hello.get());
  EXPECT_EQ(hello->pid, static_cast<uint32_t>(::getpid()));
  EXPECT_GT(hello->start_time_ticks, 0U);
  EXPECT_NE(std::string(hello->executable).find("libagent_test"), std::string::npos);
  EXPECT_GE(hello->command_line_count, 1);
  EXPECT_EQ(hello->devices_count, 0);
}

}  // namespace
}  // namespace profd::agent::testing
