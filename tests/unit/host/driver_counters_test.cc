#include "daemon/host/files/driver_counters.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace profd::host {
namespace {

TEST(DriverCountersTest, EachDriversNamesAreTheNumbersOfTheRow) {
  EXPECT_EQ(PfcColumn("rx_pause_ctrl_phy"), 0U);
  EXPECT_EQ(PfcColumn("mac_tx_mac_pause_num"), 1U);
  EXPECT_EQ(PfcColumn("rx_prio0_pause"), 2U);
  EXPECT_EQ(PfcColumn("mac_rx_pfc_pri7_pkt_num"), 9U);
  EXPECT_EQ(PfcColumn("tx_prio0_pause"), 10U);
  EXPECT_EQ(PfcColumn("mac_tx_pfc_pri7_pkt_num"), 17U);
  EXPECT_EQ(PfcColumn("rx_discards_phy"), 18U);
  EXPECT_EQ(PfcColumn("rx_out_of_buffer"), 19U);
  EXPECT_EQ(PfcColumn("rx_ecn_mark"), 20U);
  for (const char* other :
       {"", "rx_prio_pause", "rx_prio8_pause", "rx_prio10_pause", "rx_prio0_pause_duration",
        "mac_rx_pfc_pkt_num", "rx_prio0_bytes", "rx_packets", "rx_pause_ctrl_phy2"})
    EXPECT_EQ(PfcColumn(other), std::nullopt) << other;
}

TEST(DriverCountersTest, WhatHasNoneIsNotThere) {
  EXPECT_TRUE(DriverCounterNames("no-such-interface").empty());
  EXPECT_TRUE(DriverCounterNames("a-name-that-is-longer-than-the-kernel-takes").empty());
  DriverCounters counters;
  counters.Watch({"lo", "no-such-interface"});
  EXPECT_TRUE(counters.Take().empty());
}

}  // namespace
}  // namespace profd::host
