#include "client/export/db/framework_calls.h"

#include <algorithm>
#include <cctype>
#include <tuple>

namespace profd::client {

bool FrameworkCalls::IsOperator(std::string_view name) {
  const size_t colons = name.find("::");
  if (colons == 0 || colons == name.npos || colons + 2 == name.size()) return false;
  return std::all_of(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(colons),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

void FrameworkCalls::ForEach(const std::function<void(const Range&, const std::vector<uint64_t>&)>& give) {
  // An outer range before the inner ones that begin with it.
  std::ranges::sort(ranges_, [](const Range& a, const Range& b) {
    return std::tuple(a.thread, a.begin_ns, b.end_ns) < std::tuple(b.thread, b.begin_ns, a.end_ns);
  });
  std::ranges::sort(calls_, [](const Call& a, const Call& b) {
    return std::tuple(a.thread, a.begin_ns) < std::tuple(b.thread, b.begin_ns);
  });
  std::vector<std::vector<uint64_t>> inside(ranges_.size());
  std::vector<size_t> open;  // the innermost one last
  size_t next = 0;
  for (const Call& call : calls_) {
    for (; next < ranges_.size() &&
           std::tuple(ranges_[next].thread, ranges_[next].begin_ns) <= std::tuple(call.thread, call.begin_ns);
         ++next) {
      while (!open.empty() && (ranges_[open.back()].thread != ranges_[next].thread ||
                               ranges_[open.back()].end_ns <= ranges_[next].begin_ns)) {
        open.pop_back();
      }
      open.push_back(next);
    }
    while (!open.empty() &&
           (ranges_[open.back()].thread != call.thread || ranges_[open.back()].end_ns < call.begin_ns)) {
      open.pop_back();
    }
    if (!open.empty()) inside[open.back()].push_back(call.connection);
  }
  for (size_t i = 0; i < ranges_.size(); ++i) give(ranges_[i], inside[i]);
}

}  // namespace profd::client
