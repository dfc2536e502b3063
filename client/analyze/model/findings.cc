#include "client/analyze/model/findings.h"

#include <algorithm>

namespace profd::analyze {

double Finding::score() const {
  double score = 1;
  for (const Factor& factor : factors) score = std::min(score, factor.score);
  return score;
}

std::string_view Finding::confidence() const {
  const double of = score();
  return of >= 0.7 ? "high" : of >= 0.4 ? "medium" : "low";
}

std::string_view SeverityName(Severity severity) {
  constexpr std::string_view kNames[] = {"critical", "major", "minor", "info"};
  return kNames[static_cast<size_t>(severity)];
}
std::string_view PatternName(Pattern pattern) {
  constexpr std::string_view kNames[] = {"every", "some", "once"};
  return kNames[static_cast<size_t>(pattern)];
}
std::string_view MethodName(Method method) {
  constexpr std::string_view kNames[] = {"replay", "heuristic", "none"};
  return kNames[static_cast<size_t>(method)];
}

}  // namespace profd::analyze
