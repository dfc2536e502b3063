#include "daemon/base/turns.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace profd::base {
namespace {

TEST(Turns, UsersHaveThem) {
  Turns<std::string> turns;
  for (const char* thing : {"a1", "a2", "a3", "a4"}) turns.Add(1, thing);
  turns.Add(2, "b1");
  turns.Add(3, "c1");
  turns.Add(3, "c2");
  EXPECT_EQ(turns.users(), 3U);
  EXPECT_EQ(turns.Of(1), 4U);
  std::string order;
  for (int i = 0; i < 4; ++i) order += turns.Next() + " ";
  turns.Add(2, "b2");  // behind who waits already
  while (!turns.empty()) order += turns.Next() + " ";
  EXPECT_EQ(order, "a1 b1 c1 a2 c2 a3 b2 a4 ");
  EXPECT_EQ(turns.Of(1), 0U);
  EXPECT_EQ(turns.users(), 0U);
}

TEST(Turns, ThingsAreMoved) {
  Turns<std::unique_ptr<int>> turns;
  turns.Add(1, std::make_unique<int>(5));
  EXPECT_EQ(*turns.Next(), 5);
}

}  // namespace
}  // namespace profd::base
