#include "client/export/write/number_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

namespace profd::client {
namespace {

std::string Shortest(double value) {
  char text[2 * kNumberText];
  return {text, WriteShortest(text, value)};
}
std::string RoundedText(double value, int digits) {
  char text[2 * kNumberText];
  return {text, WriteRounded(text, value, digits)};
}
std::string Fixed(double value, int digits) {
  char text[2 * kNumberText];
  return {text, WriteFixed(text, value, digits)};
}

TEST(NumberText, Microseconds) {
  char text[2 * kNumberText];
  EXPECT_EQ(std::string(text, WriteMicroseconds(text, 1'700'000'000'001'200'000)), "1700000000001200.000");
  EXPECT_EQ(std::string(text, WriteMicroseconds(text, 7)), "0.007");
  EXPECT_EQ(std::string(text, WriteMicroseconds(text, UINT64_MAX)), "18446744073709551.615");
}

TEST(NumberText, Integers) {
  char text[2 * kNumberText];
  const auto check = [&text](auto value) {
    EXPECT_EQ(std::string(text, WriteInteger(text, value)), std::to_string(value));
  };
  for (uint64_t power = 1, digits = 0; digits < 20; ++digits, power *= 10) {
    for (const uint64_t value : {power - 1, power, power + 1}) {
      check(value);
      check(static_cast<int64_t>(value));
      check(-static_cast<int64_t>(value));
      check(static_cast<uint32_t>(value));
    }
  }
  check(UINT64_MAX);
  check(INT64_MIN);
  std::mt19937_64 random(3);
  for (int i = 0; i < 100'000; ++i) check(random() >> random() % 64);
}

TEST(NumberText, StampsSayTheSameAsMicroseconds) {
  char text[2 * kNumberText], expected[2 * kNumberText];
  StampText stamp;
  std::mt19937_64 random(4);
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t ns =
        i % 7 == 0 ? random() >> random() % 64 : 1'700'000'000'000'000'000 + random() % 3'000'000'000;
    EXPECT_EQ(std::string(text, stamp.Write(text, ns)),
              std::string(expected, WriteMicroseconds(expected, ns)));
  }
}

TEST(NumberText, ShortestReadsBackAsTheSame) {
  EXPECT_EQ(Shortest(500), "500.0");
  EXPECT_EQ(Shortest(-0.0), "0.0");
  EXPECT_EQ(Shortest(0.1), "0.1");
  EXPECT_EQ(Shortest(std::numeric_limits<double>::quiet_NaN()), "null");
  EXPECT_EQ(Shortest(std::numeric_limits<double>::infinity()), "null");
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    EXPECT_EQ(std::strtod(Shortest(value).c_str(), nullptr), value);
  }
}

TEST(NumberText, RoundsAsPrintfDoes) {
  EXPECT_EQ(RoundedText(95.367431640625, 3), "95.367");
  EXPECT_EQ(RoundedText(4, 3), "4.0");
  EXPECT_EQ(RoundedText(-0.25, 3), "-0.25");
  EXPECT_EQ(RoundedText(0.99951, 3), "1.0");
  std::mt19937_64 random(2);
  for (int i = 0; i < 100'000; ++i) {
    // Every third one half way between two results, as near as binary comes.
    double value = static_cast<double>(static_cast<int64_t>(random() % 2'000'000'000) - 1'000'000'000) / 1000;
    if (i % 3 == 0) value += 0.0005;
    char expected[64];
    std::snprintf(expected, sizeof(expected), "%.3f", value);
    EXPECT_EQ(Fixed(value, 3), expected);
    EXPECT_EQ(std::strtod(RoundedText(value, 3).c_str(), nullptr), std::strtod(expected, nullptr));
  }
}

TEST(NumberText, NeverNeedsMoreRoomThanSaid) {
  for (const double value :
       {1e300, -1e300, 5e-324, 1e9, 999'999'999.9995, -999'999'999.9995, 1e15, 123456789.123456}) {
    EXPECT_LE(Shortest(value).size(), kNumberText);
    EXPECT_LE(RoundedText(value, 6).size(), 2 * kNumberText);
    EXPECT_LE(Fixed(value, 6).size(), 2 * kNumberText);
  }
}

}  // namespace
}  // namespace profd::client
