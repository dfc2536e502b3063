#include "client/export/csv/reorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace profd::client {
namespace {

struct Row {
  uint64_t begin_ns = 0;
  uint64_t number = 0;
};

// What comes out when rows with these times come in.
std::vector<Row> Through(const std::vector<uint64_t>& times, size_t pause_every = SIZE_MAX) {
  Reorder<Row> reorder;
  std::vector<Row> out;
  const auto give = [&out](const Row& row) { out.push_back(row); };
  for (size_t i = 0; i < times.size(); ++i) {
    if (i % pause_every == pause_every - 1) reorder.Drain(0, give);
    Row& row = reorder.New(give);
    EXPECT_EQ(row.number, 0U);  // nothing of the row that was there before
    row = {times[i], i + 1};
  }
  reorder.Drain(0, give);
  return out;
}

constexpr size_t kRows = 3 * Reorder<Row>::kWindow + 12'345;

TEST(Reorder, KeepsWhatIsInOrder) {
  std::vector<uint64_t> times(kRows);
  for (size_t i = 0; i < kRows; ++i) times[i] = i / 3;
  for (const size_t pause_every : {SIZE_MAX, size_t{1000}, size_t{70'001}}) {
    const std::vector<Row> out = Through(times, pause_every);
    ASSERT_EQ(out.size(), kRows);
    for (size_t i = 0; i < kRows; ++i) ASSERT_EQ(out[i].number, i + 1);
  }
}

TEST(Reorder, SortsWhatIsLessThanHalfAWindowLate) {
  std::mt19937_64 random(4);
  std::vector<uint64_t> times(kRows);
  for (size_t i = 0; i < kRows; ++i) times[i] = i + Reorder<Row>::kWindow;
  // Now and then one that began long before.
  for (size_t i = Reorder<Row>::kWindow; i < kRows; i += 1 + random() % 20'000)
    times[i] -= random() % (Reorder<Row>::kWindow / 2);
  const std::vector<Row> out = Through(times);
  ASSERT_EQ(out.size(), kRows);
  const auto before = [](const Row& a, const Row& b) {
    return std::pair(a.begin_ns, a.number) < std::pair(b.begin_ns, b.number);
  };
  EXPECT_TRUE(std::is_sorted(out.begin(), out.end(), before));
}

}  // namespace
}  // namespace profd::client
