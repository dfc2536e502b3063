#include "client/words/entities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace profd::client {
namespace {

using ::testing::ElementsAre;

v1::LiveValues Values() {
  v1::LiveValues values;
  values.set_number(7);
  const auto add = [&values](const char* name, const char* label, const char* is) {
    v1::LiveMetric* metric = values.add_metrics();
    metric->set_name(name);
    v1::LiveValue* value = metric->add_values();
    if (*label == '\0') return;
    value->add_labels()->set_name(label);
    value->mutable_labels(0)->set_value(is);
  };
  add("device0", "device", "0");
  add("device1", "device", "1");
  add("process42", "pid", "42");
  add("host", "", "");
  return values;
}

std::vector<std::string> Names(const v1::LiveValues& values) {
  std::vector<std::string> names;
  for (const v1::LiveMetric& metric : values.metrics()) names.push_back(metric.name());
  return names;
}

TEST(Entities, NoneNamedAreAll) {
  const Entities all = Entities::Parse({}, {}).value();
  EXPECT_THAT(Names(all.Only(Values())), ElementsAre("device0", "device1", "process42", "host"));
}

TEST(Entities, ThoseThatAreNamed) {
  const Entities devices = Entities::Parse({"1,3"}, {}).value();
  EXPECT_THAT(Names(devices.Only(Values())), ElementsAre("device1"));
  EXPECT_EQ(devices.Only(Values()).number(), 7U);
  EXPECT_THAT(Names(devices.AndOthers(Values())), ElementsAre("device1", "process42", "host"));
  const Entities both = Entities::Parse({"0"}, {"42"}).value();
  EXPECT_THAT(Names(both.Only(Values())), ElementsAre("device0", "process42"));
  const Entities process = Entities::Parse({}, {"43"}).value();
  EXPECT_THAT(Names(process.Only(Values())), ElementsAre());
  EXPECT_THAT(Names(process.AndOthers(Values())), ElementsAre("device0", "device1", "host"));
}

TEST(Entities, WhatIsNoListIsRefused) {
  EXPECT_FALSE(Entities::Parse({"x"}, {}).ok());
  EXPECT_FALSE(Entities::Parse({"all"}, {}).ok());
  EXPECT_FALSE(Entities::Parse({}, {"0"}).ok());
}

}  // namespace
}  // namespace profd::client
