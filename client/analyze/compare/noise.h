// Whether two series of measurements differ by more than they vary by themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace profd::analyze {

enum class Judgement : uint8_t { kNoise, kSlower, kFaster, kTooFew };
std::string_view JudgementName(Judgement judgement);

struct Difference {
  double base = 0, now = 0;  // means
  double low = 0, high = 0;  // interval of now − base, 95 % for all rows of its table together
  Judgement judgement = Judgement::kNoise;
  double change() const { return now - base; }
  double percent() const { return base > 0 ? 100 * change() / base : 0; }
};

struct Test {
  size_t rows = 1;          // that are tested beside each other: one of them would be wrong by chance
  size_t least = 2;         // fewer measurements on a side allow no verdict
  double least_change = 0;  // a smaller one is noise
};
Difference Judge(const std::vector<double>& base, const std::vector<double>& now, const Test& test);

// Of the mean of a series whose neighbours may have to do with each other: the closed form of a bootstrap of
// moving blocks. A block goes twice as far as the autocorrelation does.
struct MeanError {
  double variance = 0;
  double freedom = 0;  // degrees of
};
MeanError ErrorOfMean(const std::vector<double>& values);

// Of Student's distribution, both tails together `level`.
double StudentQuantile(double level, unsigned freedom);

}  // namespace profd::analyze
