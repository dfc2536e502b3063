// What the recording ends in: ranks that wait, in a collective or for a message, and for whom.
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "base/join.h"
#include "client/analyze/model/groups.h"
#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/comm/transfers.h"

namespace profd::analyze {
namespace {

constexpr double kMuchLonger = 10;  // than usual
constexpr size_t kMostRows = 50;

using Numbers = std::set<int64_t>;  // of ranks

struct Wait {
  uint32_t rank = 0;  // index in Job::ranks
  const Collective* in = nullptr;
  Ns length() const { return in->end - in->begin; }
};
// The last collective of a group, or message between two: who has begun it, and who never does.
struct Hang {
  TextId group = 0;
  std::vector<Wait> waiting;
  Numbers missing;
  bool is_message = false, is_send = false;

  double waited() const {
    Ns least = std::numeric_limits<Ns>::max();
    for (const Wait& wait : waiting) least = std::min(least, wait.length());
    return static_cast<double>(least);
  }
};

bool IsMessage(std::string_view type) { return IsSend(type) || IsReceive(type); }

// A collective that lasts until nothing else begins on the rank: nothing tells that it is over.
bool IsOpen(const Rank& rank, const Task& task) {
  return task.work == Work::kCollective && task.end >= rank.tasks.back().begin;
}

// How long the longest task of a rank takes that is over.
Ns LongestOf(const Rank& rank) {
  Ns longest = 0;
  for (const Task& task : rank.tasks) {
    if (!IsOpen(rank, task)) longest = std::max(longest, task.end - task.begin);
  }
  return longest;
}

// What each rank has behind the last one that is shared by all of `members`. `counts`: which collectives.
template <typename Is>
std::map<uint32_t, std::vector<const Collective*>> TailsOf(const Context& context, TextId group,
                                                           const std::vector<uint32_t>& members, Is counts) {
  std::map<uint32_t, std::vector<const Collective*>> tails;
  for (const uint32_t r : members) {
    std::vector<const Collective*>& tail = tails[r];
    for (const Collective& collective : context.job.ranks[r].collectives) {
      if (collective.group != group || !counts(context.job.Text(collective.type))) continue;
      const size_t shared =
          collective.match == kNone ? 0 : context.matches.all[collective.match].members.size();
      if (shared == members.size() && shared > 1) {
        tail.clear();
      } else {
        tail.push_back(&collective);
      }
    }
  }
  return tails;
}

class HangFinder {
 public:
  explicit HangFinder(const Context& context) : context_(context), job_(context.job) {
    for (uint32_t i = 0; i < context.matches.all.size(); ++i)
      matches_[context.matches.all[i].group].push_back(i);
    for (const auto& [group, members] : MembersOf(job_)) {
      const auto is_lost = [this](uint32_t r) { return job_.ranks[r].gaps.hide_waits(); };
      if (members.size() < 2 || std::ranges::any_of(members.ranks, is_lost)) continue;
      FindInGroup(group, members);
      if (members.size() == 2) {
        FindMessage(group, members, true);
        FindMessage(group, members, false);
      }
    }
  }

  std::vector<Hang> hangs;

 private:
  bool IsLast(const Wait& wait) const {
    const Rank& rank = job_.ranks[wait.rank];
    return IsOpen(rank, rank.tasks[wait.in->task]);
  }

  void FindInGroup(TextId group, const Members& members) {
    auto tails =
        TailsOf(context_, group, members.ranks, [](std::string_view type) { return !IsMessage(type); });
    size_t most = 0;
    for (const auto& [r, tail] : tails) most = std::max(most, tail.size());
    if (most == 0 && members.absent.empty()) return;
    Hang hang;
    hang.group = group;
    for (const auto& [r, tail] : tails) {
      if (tail.size() == most) {
        const Collective* last = most == 0 ? LastOf(r, group) : tail.back();
        if (last == nullptr) return;
        hang.waiting.push_back({r, last});
      } else if (tail.size() + 1 == most) {
        hang.missing.insert(job_.ranks[r].number);
      } else {
        return;
      }
    }
    std::vector<Ns> usual;
    for (const uint32_t match : matches_[group]) {
      if (context_.matches.all[match].members.size() == members.ranks.size() && most > 0)
        usual.push_back(context_.replay.Transfer(match));
    }
    const bool are_absent = hang.missing.empty();
    if (are_absent) hang.missing.insert(members.absent.begin(), members.absent.end());
    if (hang.missing.empty()) return;
    if (are_absent || usual.empty()) {
      usual.clear();
      // Nothing tells what is usual but what these ranks do else.
      if (!std::ranges::all_of(hang.waiting, [this](const Wait& wait) { return IsLast(wait); })) return;
      for (const Wait& wait : hang.waiting) usual.push_back(LongestOf(job_.ranks[wait.rank]));
    }
    if (hang.waited() >= kMuchLonger * Median(std::move(usual))) hangs.push_back(std::move(hang));
  }

  const Collective* LastOf(uint32_t r, TextId group) const {
    const Collective* last = nullptr;
    for (const Collective& collective : job_.ranks[r].collectives) {
      if (collective.group == group && !IsMessage(job_.Text(collective.type))) last = &collective;
    }
    return last;
  }

  // A message of a group of two: a receive whose send is missing, or the other way round.
  void FindMessage(TextId group, const Members& members, bool waits_to_send) {
    const auto waits_in = [&](std::string_view type) {
      return waits_to_send ? IsSend(type) : IsReceive(type);
    };
    const auto answers = [&](std::string_view type) {
      return waits_to_send ? IsReceive(type) : IsSend(type);
    };
    const auto own = TailsOf(context_, group, members.ranks, waits_in),
               other = TailsOf(context_, group, members.ranks, answers);
    for (const uint32_t r : members.ranks) {
      Hang hang;
      hang.group = group;
      hang.is_message = true;
      hang.is_send = waits_to_send;
      const std::vector<const Collective*>& tail = own.at(r);
      if (tail.empty()) continue;
      if (members.absent.empty()) {
        const uint32_t partner = members.ranks[members.ranks[0] == r ? 1 : 0];
        if (tail.size() != other.at(partner).size() + 1) continue;
        hang.missing.insert(job_.ranks[partner].number);
      } else {
        hang.missing.insert(members.absent.front());
      }
      hang.waiting.push_back({r, tail.back()});
      // A message may have to wait for many batches: that is no hang.
      std::vector<Ns> usual;
      for (const Collective& collective : job_.ranks[r].collectives) {
        if (collective.group == group && &collective != tail.back() && waits_in(job_.Text(collective.type)))
          usual.push_back(collective.end - collective.begin);
      }
      const auto longest = static_cast<double>(LongestOf(job_.ranks[r]));
      const double least = std::max(2 * longest, usual.empty() ? 0 : kMuchLonger * Median(std::move(usual)));
      if (IsLast(hang.waiting.front()) && hang.waited() >= least) hangs.push_back(std::move(hang));
    }
  }

  const Context& context_;
  const Job& job_;
  std::map<TextId, std::vector<uint32_t>> matches_;
};

// Two that wait for each other: the missing of each are those that wait in the other one.
bool IsCrossed(const Job& job, const Hang& one, const Hang& other) {
  const auto all_wait_in = [&job](const Numbers& missing, const Hang& where) {
    return std::ranges::all_of(missing, [&](int64_t number) {
      return std::ranges::any_of(where.waiting,
                                 [&](const Wait& wait) { return job.ranks[wait.rank].number == number; });
    });
  };
  return !one.is_message && !other.is_message && all_wait_in(one.missing, other) &&
         all_wait_in(other.missing, one);
}

std::string ListOf(const Numbers& numbers) { return NumberList({numbers.begin(), numbers.end()}); }

// "the dp group of ranks 0-7": with those that never use it.
std::string GroupIn(const Context& context, const Hang& hang) {
  Numbers ranks = hang.missing;
  for (const Wait& wait : hang.waiting) ranks.insert(context.job.ranks[wait.rank].number);
  const std::string& role = context.groups.at(hang.group).role;
  return "the " + (role.empty() ? "" : role + " ") + "group of ranks " + ListOf(ranks);
}

Finding FactOf(std::string id, const Context& context, const Numbers& ranks) {
  Finding finding;
  finding.id = std::move(id);
  finding.key = finding.id + "/" + ListOf(ranks);
  std::vector<uint32_t> recorded;
  for (uint32_t r = 0; r < context.job.ranks.size(); ++r) {
    if (ranks.contains(context.job.ranks[r].number)) recorded.push_back(r);
  }
  finding.where = WhereOf(context.job, recorded);
  finding.where.ranks.assign(ranks.begin(), ranks.end());
  finding.severity = Severity::kCritical;
  finding.is_fact = true;
  finding.cost.method = Method::kNone;
  return finding;
}

Table TableOf(const Context& context, const std::vector<const Hang*>& hangs) {
  Table table{"who waits", {"rank", "for_ranks", "group", "in", "since_ns", "waited_ms"}, {}};
  for (const Hang* hang : hangs) {
    for (const Wait& wait : hang->waiting) {
      if (table.rows.size() < kMostRows)
        table.rows.push_back({context.job.ranks[wait.rank].number, ListOf(hang->missing),
                              std::string(context.job.Text(hang->group)),
                              std::string(context.job.Text(wait.in->name)), wait.in->begin,
                              static_cast<double>(wait.length()) / 1e6});
    }
  }
  return table;
}

void AddGroups(const Context& context, const std::vector<const Hang*>& hangs, Finding& finding) {
  std::set<std::string> names;
  for (const Hang* hang : hangs) names.emplace(context.job.Text(hang->group));
  finding.where.groups.assign(names.begin(), names.end());
}

Finding MakeCrossed(const Context& context, const Hang& one, const Hang& other) {
  // Who is alone with its order is most likely the one that is wrong.
  const Hang &odd = one.missing.size() <= other.missing.size() ? one : other,
             &rest = &odd == &one ? other : one;
  Finding finding = FactOf("comm.order", context, odd.missing);
  AddGroups(context, {&odd, &rest}, finding);
  finding.title = "rank " + ListOf(odd.missing) + " waits in " + GroupIn(context, rest) + " for rank " +
                  ListOf(rest.missing) + ", which waits for it in " + GroupIn(context, odd) +
                  ": they call these in different order";
  finding.evidence.push_back(TableOf(context, {&odd, &rest}));
  finding.advice = {"call collectives of groups that share ranks in the same order on all of them"};
  finding.factors = {{"record", 0.9, "each of them has begun one and not the other"}};
  return finding;
}

// Who waits for whom.
class Waits {
 public:
  Waits(const Context& context, const std::vector<Hang>& hangs) : job_(context.job) {
    std::vector<const Hang*> sends;  // of those that do nothing else
    for (const Hang& hang : hangs) {
      if (!hang.is_send) Add(hang);
    }
    for (const Hang& hang : hangs) {
      if (hang.is_send && !waits_.contains(NumberOf(hang.waiting.front()))) sends.push_back(&hang);
    }
    // Who sends may go on meanwhile. It is held up if who should take it waits for it in turn; or if it does
    // nothing else, and who should take it is not held up.
    const std::vector<const Hang*> in_circles = InCircles(sends);
    for (const Hang* hang : in_circles) Add(*hang);
    for (const Hang* hang : sends) {
      const auto waits = [this](int64_t number) { return waits_.contains(number); };
      if (!waits(NumberOf(hang->waiting.front())) && std::ranges::none_of(hang->missing, waits)) Add(*hang);
    }
  }

  const std::vector<const Hang*>& all() const { return all_; }
  // Those of a hang that wait for nobody.
  Numbers RootsOf(const Hang& hang) const {
    Numbers roots;
    for (const int64_t number : hang.missing) {
      if (!waits_.contains(number)) roots.insert(number);
    }
    return roots;
  }
  // The same, also of those that they wait for.
  Numbers AllRootsOf(const Hang& hang) const {
    Numbers roots, seen;
    std::vector<const Hang*> next{&hang};
    while (!next.empty()) {
      const Hang* of = next.back();
      next.pop_back();
      for (const int64_t number : of->missing) {
        const auto at = waits_.find(number);
        if (at == waits_.end()) {
          roots.insert(number);
        } else if (seen.insert(number).second) {
          next.insert(next.end(), at->second.begin(), at->second.end());
        }
      }
    }
    return roots;
  }
  // Each one waits for the next, and the last one for the first; none of them for somebody who waits for
  // nobody.
  std::vector<std::pair<int64_t, const Hang*>> Circle() const {
    std::vector<std::pair<int64_t, const Hang*>> path;
    const auto has_roots = [this](const Hang* hang) { return !AllRootsOf(*hang).empty(); };
    const auto first = std::ranges::find_if(
        waits_, [&](const auto& of) { return std::ranges::none_of(of.second, has_roots); });
    if (first == waits_.end()) return path;
    for (int64_t number = first->first;;) {
      const auto again = std::ranges::find(path, number, &std::pair<int64_t, const Hang*>::first);
      if (again != path.end()) {
        path.erase(path.begin(), again);
        return path;
      }
      const Hang* hang = waits_.at(number).front();
      path.emplace_back(number, hang);
      number = *hang->missing.begin();
    }
  }

 private:
  int64_t NumberOf(const Wait& wait) const { return job_.ranks[wait.rank].number; }
  void Add(const Hang& hang) {
    all_.push_back(&hang);
    for (const Wait& wait : hang.waiting) waits_[NumberOf(wait)].push_back(&hang);
  }
  // Those of `sends` whose receiver waits, by others' waits and sends, for the sender.
  std::vector<const Hang*> InCircles(const std::vector<const Hang*>& sends) const {
    std::map<int64_t, std::vector<const Hang*>> next_of = waits_;
    for (const Hang* send : sends) next_of[NumberOf(send->waiting.front())].push_back(send);
    std::vector<const Hang*> found;
    for (const Hang* send : sends) {
      Numbers seen;
      std::vector<const Hang*> next{send};
      while (!next.empty()) {
        const Hang* of = next.back();
        next.pop_back();
        for (const int64_t number : of->missing) {
          const auto at = next_of.find(number);
          if (at != next_of.end() && seen.insert(number).second)
            next.insert(next.end(), at->second.begin(), at->second.end());
        }
      }
      if (seen.contains(NumberOf(send->waiting.front()))) found.push_back(send);
    }
    return found;
  }

  const Job& job_;
  std::vector<const Hang*> all_;
  std::map<int64_t, std::vector<const Hang*>> waits_;  // by rank that waits
};

// "rank 1 waits in a receive for rank 2".
std::string Sentence(const Context& context, int64_t number, const Hang& hang) {
  const std::string type(context.job.Text(hang.waiting.front().in->type));
  return "rank " + std::to_string(number) + " waits in its " + type + " of " + GroupIn(context, hang) +
         " for rank " + ListOf(hang.missing);
}

Finding MakeCircle(const Context& context, const std::vector<std::pair<int64_t, const Hang*>>& circle,
                   const Waits& waits) {
  constexpr size_t kMostNamed = 3;
  Numbers ranks;
  std::string who;
  for (const auto& [number, hang] : circle) {
    ranks.insert(number);
    if (ranks.size() <= kMostNamed) base::AddTo(who, Sentence(context, number, *hang));
  }
  Finding finding = FactOf("comm.order", context, ranks);
  AddGroups(context, waits.all(), finding);
  finding.title = "ranks " + ListOf(ranks) + " wait for each other for ever: " + who +
                  (circle.size() > kMostNamed ? ", …" : "");
  finding.evidence.push_back(TableOf(context, waits.all()));
  const bool all_send = std::ranges::all_of(circle, [](const auto& one) { return one.second->is_send; });
  finding.advice = {all_send ? "let one of them receive before it sends, or send and receive at once"
                             : "let one of them send before it receives, or send and receive at once"};
  finding.factors = {{"record", 0.9, "each of them has begun what the next one never answers"}};
  return finding;
}

// What a rank did last, and what of that its device did.
Table LastOf(const Context& context, const Numbers& ranks, std::string& of_device) {
  const Job& job = context.job;
  Table table{"what it did last", {"rank", "what", "name", "step", "from_ns", "to_ns"}, {}};
  for (const Rank& rank : job.ranks) {
    if (!ranks.contains(rank.number)) continue;
    const auto step_at = [&rank](Ns at) -> Cell {
      for (const Step& step : rank.steps) {
        if (at >= step.begin && at < step.end) return step.number;
      }
      return std::string();
    };
    const auto add = [&](const char* what, TextId name, Ns from, Ns to) {
      table.rows.push_back({rank.number, what, std::string(job.Text(name)), step_at(from), from, to});
    };
    const Task* last = nullptr;
    for (const Task& task : rank.tasks) {
      if (!IsOpen(rank, task) && (last == nullptr || task.end >= last->end)) last = &task;
    }
    if (last != nullptr) {
      const bool is_kernel = last->work != Work::kCollective && last->kind != kNone;
      add("device", last->name, last->begin, last->end);
      if (ranks.size() == 1)
        of_device = std::string(job.Text(is_kernel ? job.classes[last->kind].type : last->name));
    }
    if (!rank.calls.empty())
      add("call", rank.calls.back().name, rank.calls.back().begin, rank.calls.back().end);
    const auto range = std::ranges::max_element(rank.ranges, {}, &Range::end);
    if (range != rank.ranges.end()) add("range", range->name, range->begin, range->end);
  }
  return table;
}

Finding MakeHang(const Context& context, const Numbers& roots, const std::vector<const Hang*>& direct,
                 const std::vector<const Hang*>& all) {
  const Job& job = context.job;
  Finding finding = FactOf("comm.hang", context, roots);
  AddGroups(context, all, finding);
  const Hang& lead = **std::ranges::max_element(
      direct, {}, [](const Hang* hang) { return std::pair(!hang->is_message, hang->waiting.size()); });
  Numbers waiting, here;
  for (const Hang* hang : all) {
    for (const Wait& wait : hang->waiting) waiting.insert(job.ranks[wait.rank].number);
  }
  for (const Rank& rank : job.ranks) {
    if (roots.contains(rank.number)) here.insert(rank.number);
  }
  const std::string name = "rank " + ListOf(roots) + (here.empty() ? ", which is not recorded," : "");
  const std::string type(job.Text(lead.waiting.front().in->type));
  if (lead.is_message) {
    finding.title = name + " never " + (lead.is_send ? "takes" : "sends") + " what rank " +
                    std::to_string(job.ranks[lead.waiting.front().rank].number) +
                    (lead.is_send ? " sends it" : " waits for") + " in " + GroupIn(context, lead);
  } else {
    finding.title = name + " never comes to the last " + type + " of " + GroupIn(context, lead);
  }
  finding.title += "; " +
                   (waiting.size() == 1 ? "rank " + ListOf(waiting) + " waits "
                    : waiting.size() + roots.size() >= job.ranks.size()
                        ? std::string("the others wait ")
                        : std::to_string(waiting.size()) + " ranks wait ") +
                   Time(lead.waited());
  std::string of_device;
  Table last = LastOf(context, here, of_device);
  if (!of_device.empty()) finding.title += "; the last that it ran is " + of_device;
  finding.evidence.push_back(TableOf(context, all));
  if (!last.rows.empty()) finding.evidence.push_back(std::move(last));
  finding.advice = {here.empty() ? "look at what rank " + ListOf(roots) + " did: its log, and whether it runs"
                                 : "look at the last thing that rank " + ListOf(roots) + " did before it"};
  finding.factors = {here.empty() ? Factor{"record", 0.6, "it is not recorded"}
                                  : Factor{"record", 0.9, "its collectives end before"}};
  return finding;
}

}  // namespace

void FindHangs(const Context& context, Found& found) {
  const std::vector<Hang> hangs = HangFinder(context).hangs;
  bool is_crossed = false;
  for (size_t i = 0; i < hangs.size(); ++i) {
    for (size_t j = i + 1; j < hangs.size(); ++j) {
      if (!IsCrossed(context.job, hangs[i], hangs[j])) continue;
      found.findings.push_back(MakeCrossed(context, hangs[i], hangs[j]));
      is_crossed = true;
    }
  }
  const Waits waits(context, hangs);
  std::map<Numbers, std::vector<const Hang*>> direct;
  for (const Hang* hang : waits.all()) {
    if (const Numbers roots = waits.RootsOf(*hang); !roots.empty()) direct[roots].push_back(hang);
  }
  for (const auto& [roots, of] : direct) {
    std::vector<const Hang*> all;
    for (const Hang* hang : waits.all()) {
      const Numbers reached = waits.AllRootsOf(*hang);
      if (std::ranges::includes(reached, roots)) all.push_back(hang);
    }
    found.findings.push_back(MakeHang(context, roots, of, all));
  }
  if (is_crossed) return;
  if (const auto circle = waits.Circle(); !circle.empty())
    found.findings.push_back(MakeCircle(context, circle, waits));
}

}  // namespace profd::analyze
