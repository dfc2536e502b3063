// What an analysis prints for people: two lines for a finding.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "client/analyze/analysis.h"

namespace profd::analyze {

// `top`: so many findings at most of those of every or some steps.
std::string Screen(const Analysis& analysis, size_t top, bool coloured);
// Parts of it, for whoever shows findings elsewhere: how sure it is, in the way it is said; what to do first;
// "every step", "3 of 9"; what is told of tasks.
std::string Title(const Finding& finding);
std::string Advice(const Finding& finding);
std::string HowOften(const Job& job, const Finding& finding);
inline constexpr std::string_view kSimulated =
    "the devices are simulated: what they do, and what anything costs, is made up. That the host stops, and "
    "where, is real";

// Steps of the program that are not analysed, and why: "first", "unfinished". `first`: as Context::first.
struct LeftOut {
  int64_t step = 0;
  const char* why = "";
};
std::vector<LeftOut> LeftOutSteps(const Job& job, size_t first);

std::string DataText(const Analysis& analysis);
// Evidence of the finding of this number, as Screen() counts them.
base::Result<std::string> ExplainFinding(const Analysis& analysis, size_t number);
// What a rule looks for, and its settings; "" = no such rule.
std::string ExplainRule(std::string_view id);
std::string ListRules();
// Its name, its columns, a line for each row.
std::string TableText(const Table& table, std::string_view indent);

}  // namespace profd::analyze
