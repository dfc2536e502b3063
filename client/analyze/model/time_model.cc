#include "client/analyze/model/time_model.h"

#include <algorithm>

namespace profd::analyze {
namespace {

// Adds up the union of intervals that come by their begins.
class Union {
 public:
  // What of it is new.
  std::pair<Ns, Ns> Add(Ns begin, Ns end) {
    const Ns from = std::max(begin, reached_);
    if (end <= from) return {from, from};
    length_ += end - from;
    reached_ = end;
    return {from, end};
  }
  Ns length() const { return length_; }

 private:
  Ns reached_ = INT64_MIN, length_ = 0;
};

}  // namespace

std::vector<StepShares> SharesOf(const Job& job, const Rank& rank) {
  struct Unions {
    Union computing, communication, both;
    Ns first = INT64_MAX;
  };
  std::vector<Unions> unions(rank.steps.size());
  std::vector<StepShares> shares(rank.steps.size());
  for (const Task& task : rank.tasks) {
    if (task.step == kNone) continue;
    Unions& of = unions[task.step];
    of.first = std::min(of.first, task.begin);
    if (task.work == Work::kCopy) continue;
    const bool is_collective = task.work == Work::kCollective;
    (is_collective ? of.communication : of.computing).Add(task.begin, task.end);
    of.both.Add(task.begin, task.end);
    if (is_collective && job.Text(rank.collectives[task.kind].type).starts_with("receive"))
      shares[task.step].bubble += task.end - task.begin;
  }
  for (size_t i = 0; i < shares.size(); ++i) {
    StepShares& to = shares[i];
    const Unions& of = unions[i];
    to.step = rank.steps[i].end - rank.steps[i].begin;
    to.computing = of.computing.length();
    to.communication = of.communication.length();
    to.exposed = of.both.length() - to.computing;
    to.overlapped = to.communication - to.exposed;
    to.free = to.step - of.both.length();
    to.preparing = of.first == INT64_MAX ? 0 : of.first - rank.steps[i].begin;
  }
  return shares;
}

}  // namespace profd::analyze
