#include "client/show/kinds/shared_rates.h"

#include <gtest/gtest.h>

namespace profd::client {
namespace {

void AddKind(v1::SessionInfo* info, const std::string& kind, double asked, double got,
             const std::string& reason) {
  v1::KindState* state = info->add_kinds();
  state->set_kind(kind);
  state->set_unit("device:1");
  state->set_requested_hz(asked);
  state->set_effective_hz(got);
  state->set_reason(reason);
}

TEST(SharedRates, NamesWhoHoldsTheChannel) {
  v1::SessionInfo info;
  info.set_session("k2");
  AddKind(&info, "hbm", 100, 10, "shared");
  AddKind(&info, "pcie", 100, 10, "shared");
  AddKind(&info, "hccs", 50, 50, "shared");
  AddKind(&info, "llc", 100, 50, "");  // the most that it takes
  v1::DevicesReply node;
  for (const uint32_t number : {0, 1}) {
    v1::Device* device = node.add_devices();
    device->set_device(number);
    for (const char* kind : {"hbm", "pcie"}) {
      for (const char* id : {"k1", "k2"}) {
        v1::KindHolder* holder = device->add_holders();
        holder->set_kind(kind);
        holder->set_holder("session " + std::string(id) + " of ada" + (number == 0 ? " elsewhere" : ""));
      }
    }
  }
  EXPECT_TRUE(HasSharedRate(info));
  EXPECT_EQ(SharedRates(info, node),
            std::vector<std::string>{
                "hbm, pcie: 10 Hz instead of 100 Hz, shared with session k1 of ada: to get more, "
                "stop what holds it and start again"});
  EXPECT_EQ(
      SharedRates(info, {}).at(0).find("hbm, pcie: 10 Hz instead of 100 Hz, shared with another session"),
      0U);
}

TEST(SharedRates, NothingToSay) {
  v1::SessionInfo info;
  AddKind(&info, "hbm", 100, 100, "shared");
  AddKind(&info, "roce", 0, 0, "shared");
  EXPECT_FALSE(HasSharedRate(info));
  EXPECT_TRUE(SharedRates(info, {}).empty());
}

}  // namespace
}  // namespace profd::client
