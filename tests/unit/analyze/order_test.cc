// Sorting of what mostly is in order: the same as sorting, whatever the order was.
#include "client/analyze/model/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

namespace profd::analyze {
namespace {

using Numbers = std::vector<int>;

Numbers UpTo(int end) {
  Numbers numbers(static_cast<size_t>(end));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

void ExpectSorted(Numbers numbers) {
  Numbers expected = numbers;
  std::ranges::sort(expected);
  SortNearlySorted(numbers, std::less<>());
  EXPECT_EQ(numbers, expected);
}

TEST(OrderTest, NothingAndOne) {
  ExpectSorted({});
  ExpectSorted({3});
}

TEST(OrderTest, InOrderAndTurnedRound) {
  Numbers numbers = UpTo(1000);
  ExpectSorted(numbers);
  std::ranges::reverse(numbers);
  ExpectSorted(numbers);
}

TEST(OrderTest, TwoRunsOneBehindTheOther) {
  Numbers numbers = UpTo(1000);
  std::rotate(numbers.begin(), numbers.begin() + 300, numbers.end());
  ExpectSorted(numbers);
}

TEST(OrderTest, SomePlacesAway) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::minstd_rand random(seed);
    Numbers numbers = UpTo(500);
    for (size_t i = 0; i + 8 < numbers.size(); i += 3) std::swap(numbers[i], numbers[i + random() % 8]);
    ExpectSorted(numbers);
  }
}

TEST(OrderTest, AnyOrderWithEqualOnes) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::minstd_rand random(seed);
    Numbers numbers(500);
    for (int& number : numbers) number = static_cast<int>(random() % 50);
    ExpectSorted(numbers);
  }
}

}  // namespace
}  // namespace profd::analyze
