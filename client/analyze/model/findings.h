// What an analysis says: findings with cost, cause, evidence, advice and how sure it is. Schema
// profd.findings/1 (docs/analyze.md).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "client/analyze/model/columns.h"

namespace profd::analyze {

class Replay;
struct Lengths;

enum class Severity : uint8_t { kCritical, kMajor, kMinor, kInfo };
enum class Pattern : uint8_t { kEvery, kSome, kOnce };
enum class Method : uint8_t { kReplay, kHeuristic, kNone };

struct Cost {
  double ms_per_step = 0;  // the larger of the two below
  double percent = 0;      // of a step
  double alone = 0;        // what a step gains when only this is mended
  double last = 0;         // and when it is mended after all the others
  double low = 0, high = 0;
  double total_ms = 0;  // over the steps that were analysed
  Pattern pattern = Pattern::kEvery;
  uint32_t hit = 0, of = 0;  // steps
  Method method = Method::kReplay;
};
struct Where {
  std::vector<int64_t> ranks;
  std::vector<std::string> nodes;
  std::vector<int> devices;
  std::vector<std::string> groups;
};
struct When {
  int64_t rank = 0;
  Ns from = 0, to = 0;
  int64_t step = 0;
  std::string what;
};
struct CauseShare {
  std::string id;
  double share = 0;  // of what it explains
};
using Cell = std::variant<int64_t, double, std::string>;
struct Table {
  std::string name;
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;
};
// One of the things that make a finding more or less sure; the smallest score decides.
struct Factor {
  std::string name;
  double score = 1;
  std::string why;
};

struct Finding {
  std::string id, key, title;
  Severity severity = Severity::kInfo;
  Cost cost;
  Where where;
  std::vector<When> when;
  std::vector<CauseShare> causes;
  std::vector<Table> evidence;
  std::vector<std::string> advice;
  std::vector<Factor> factors;
  std::vector<uint32_t> steps;  // that it happened in: indexes in Job::steps, ascending

  // Of a finding without a cost: its severity is the rule's.
  bool is_fact = false;
  Severity most_severe = Severity::kCritical;  // whatever it costs
  // What the job would be without it; nullptr: nobody can say.
  std::function<void(const Replay&, Lengths&)> without = {};
  // That it can cost over all steps that are analysed, whatever a replay says.
  double most_ns = std::numeric_limits<double>::infinity();

  double score() const;
  std::string_view confidence() const;  // "high", "medium", "low"
};

// A rule that could not be examined, and why.
struct NotRun {
  std::string rule, why;
};

std::string_view SeverityName(Severity severity);
std::string_view PatternName(Pattern pattern);
std::string_view MethodName(Method method);

}  // namespace profd::analyze
