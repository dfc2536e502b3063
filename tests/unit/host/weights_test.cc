#include "daemon/host/process/weights.h"

#include <gmock/gmock.h>

namespace profd::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kMiB = 1 << 20;

TEST(Weights, NobodyGoesWhoHoldsLittle) {
  EXPECT_THAT(TooHeavy({}), IsEmpty());
  EXPECT_THAT(TooHeavy({{1, 10, 500 * kMiB}, {2, 11, 500 * kMiB}, {3, 12, 500 * kMiB}}), IsEmpty());
}

TEST(Weights, OfAUserWhoseHoldTooMuchTheLargestGo) {
  EXPECT_THAT(TooHeavy({{1, 10, 300 * kMiB}, {2, 10, 400 * kMiB}, {3, 10, 100 * kMiB}, {4, 11, 600 * kMiB}}),
              ElementsAre(2));
  EXPECT_THAT(TooHeavy({{1, 10, 500 * kMiB}, {2, 10, 700 * kMiB}, {3, 10, 400 * kMiB}}), ElementsAre(2, 1));
}

TEST(Weights, WhereAllHoldTooMuchTheUserGoesWhoseHoldTheMost) {
  EXPECT_THAT(TooHeavy({{1, 10, 10 * kMiB},
                        {2, 11, 340 * kMiB},
                        {3, 11, 340 * kMiB},
                        {4, 12, 700 * kMiB},
                        {5, 13, 300 * kMiB}}),
              ElementsAre(4))
      << "nobody else is the poorer for it";
}

}  // namespace
}  // namespace profd::host
