#include "client/analyze/compare/noise.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "client/analyze/model/statistics.h"

namespace profd::analyze {
namespace {

constexpr double kLevel = 0.05;
constexpr double kSameBlock = 0.2;  // autocorrelation of what has nothing to do with each other

double Autocorrelation(const std::vector<double>& values, size_t lag) {
  const double mean = Mean(values);
  double sum = 0, all = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    all += (values[i] - mean) * (values[i] - mean);
    if (i >= lag) sum += (values[i] - mean) * (values[i - lag] - mean);
  }
  return all > 0 ? sum / all : 0;
}

// How likely Student's variable is between -t and t (Abramowitz and Stegun 26.7.3, 26.7.4).
double StudentBetween(double t, unsigned freedom) {
  const double angle = std::atan(t / std::sqrt(static_cast<double>(freedom)));
  const double cosine = std::cos(angle), sine = std::sin(angle);
  const bool is_odd = freedom % 2 == 1;
  double term = is_odd ? cosine : 1, sum = 0;
  for (unsigned k = is_odd ? 2 : 1; k < freedom; k += 2) {
    sum += term;
    term *= cosine * cosine * k / (k + 1);
  }
  return is_odd ? (angle + sine * sum) * 2 / std::numbers::pi : sine * sum;
}

}  // namespace

std::string_view JudgementName(Judgement judgement) {
  constexpr std::string_view kNames[] = {"noise", "slower", "faster", "too few steps"};
  return kNames[static_cast<size_t>(judgement)];
}

MeanError ErrorOfMean(const std::vector<double>& values) {
  const size_t n = values.size();
  if (n < 2) return {};
  size_t block = 1;
  for (size_t lag = 1; block + 2 <= n / 3 && Autocorrelation(values, lag) >= kSameBlock; ++lag) block += 2;
  std::vector<double> sums;
  for (size_t from = 0; from + block <= n; ++from) {
    double sum = 0;
    for (size_t i = from; i < from + block; ++i) sum += values[i];
    sums.push_back(sum);
  }
  const double mean = Mean(sums);
  double spread = 0;
  for (const double sum : sums) spread += (sum - mean) * (sum - mean);
  spread /= static_cast<double>(std::max<size_t>(sums.size() - 1, 1));
  const size_t blocks = n / block;
  return {spread / static_cast<double>(block) / static_cast<double>(n),
          std::max(1.0, static_cast<double>(blocks) - 1)};
}

double StudentQuantile(double level, unsigned freedom) {
  double low = 0, high = 1;
  while (StudentBetween(high, freedom) < 1 - level && high < 1e9) high *= 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (StudentBetween(middle, freedom) < 1 - level ? low : high) = middle;
  }
  return high;
}

Difference Judge(const std::vector<double>& base, const std::vector<double>& now, const Test& test) {
  Difference difference{.base = Mean(base), .now = Mean(now)};
  difference.low = difference.high = difference.change();
  const size_t few = std::min(base.size(), now.size());
  if (few < 2) {
    difference.judgement = Judgement::kTooFew;
    return difference;
  }
  const MeanError one = ErrorOfMean(base), other = ErrorOfMean(now);
  const double level = kLevel / static_cast<double>(std::max<size_t>(test.rows, 1));
  const double width = std::sqrt(one.variance + other.variance) *
                       StudentQuantile(level, static_cast<unsigned>(std::min(one.freedom, other.freedom)));
  difference.low -= width;
  difference.high += width;
  if (few < test.least) {
    difference.judgement = Judgement::kTooFew;
  } else if (std::abs(difference.change()) < test.least_change ||
             (difference.low <= 0 && difference.high >= 0)) {
    difference.judgement = Judgement::kNoise;
  } else {
    difference.judgement = difference.change() > 0 ? Judgement::kSlower : Judgement::kFaster;
  }
  return difference;
}

}  // namespace profd::analyze
