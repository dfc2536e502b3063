// How fast data go: by group, by pair of ranks.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "client/analyze/model/pairs.h"
#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/context.h"
#include "client/analyze/tables/tables.h"

namespace profd::analyze {
namespace {

// Of what a collective carries, what each link has to: of a ring or a mesh of n ranks.
double PerLink(std::string_view type, size_t ranks) {
  const auto n = static_cast<double>(ranks);
  if (type == "allReduce" || type == "AllReduce") return 2 * (n - 1) / n;
  if (type == "allGather" || type == "AllGather" || type == "reduceScatter" || type == "ReduceScatter" ||
      type.starts_with("alltoall") || type.starts_with("AlltoAll"))
    return (n - 1) / n;
  return 1;
}

}  // namespace

Table BandwidthTable(const Analysis& analysis) {
  const Job& job = analysis.job();
  const Context& context = analysis.context();
  std::map<std::tuple<TextId, TextId, uint64_t, size_t>, std::vector<Ns>> transfers;
  for (uint32_t i = 0; i < analysis.matches().all.size(); ++i) {
    const Match& match = analysis.matches().all[i];
    transfers[{match.group, match.type, match.bytes, match.members.size()}].push_back(
        context.replay.Transfer(i));
  }
  Table table{"bandwidth",
              {"group", "role", "ranks", "type", "bytes", "count", "median_us", "slowest_us",
               "gigabytes_per_s", "per_link_gigabytes_per_s"},
              {}};
  for (const auto& [key, lengths] : transfers) {
    const auto& [group, type, bytes, ranks] = key;
    const double median = Median(lengths), rate = median > 0 ? static_cast<double>(bytes) / median : 0;
    const auto of = context.groups.find(group);
    table.rows.push_back({std::string(job.Text(group)), of == context.groups.end() ? "" : of->second.role,
                          static_cast<int64_t>(ranks), std::string(job.Text(type)),
                          static_cast<int64_t>(bytes), static_cast<int64_t>(lengths.size()), median / 1e3,
                          static_cast<double>(*std::ranges::max_element(lengths)) / 1e3, rate,
                          rate * PerLink(job.Text(type), ranks)});
  }
  return table;
}

// Of what tasks of collectives say, and of sends; within a group its ranks count from 0.
Table MatrixTable(const Analysis& analysis) {
  const Job& job = analysis.job();
  std::map<Link, Carried> pairs = PairsOf(job);
  for (uint32_t i = 0; i < analysis.matches().all.size(); ++i) {
    const Match& match = analysis.matches().all[i];
    if (!match.is_pair || match.members.size() != 2) continue;
    const auto of = [&](size_t member) -> const Collective& {
      return job.ranks[match.members[member].rank].collectives[match.members[member].collective];
    };
    const size_t sender = IsSend(job.Text(of(0).type)) ? 0 : 1;
    Carried& sum = pairs[{match.group, 0, job.ranks[match.members[sender].rank].number,
                          job.ranks[match.members[1 - sender].rank].number}];
    sum.bytes += match.bytes;
    sum.ns += analysis.context().replay.Transfer(i);
    ++sum.count;
  }
  Table table{"matrix", {"group", "from", "to", "transport", "count", "bytes", "ms", "gigabytes_per_s"}, {}};
  for (const auto& [link, sum] : pairs) {
    table.rows.push_back({std::string(job.Text(link.group)), link.from, link.to,
                          std::string(job.Text(link.transport)), sum.count, static_cast<int64_t>(sum.bytes),
                          static_cast<double>(sum.ns) / 1e6,
                          sum.ns > 0 ? static_cast<double>(sum.bytes) / static_cast<double>(sum.ns) : 0.0});
  }
  return table;
}

// Between two of its messages a stage computes one batch, forward or backward: which, the messages say. The
// first stage and the last one go from the one to the other without a message: what lies between is both.
Table PipelineTable(const Analysis& analysis) {
  const Job& job = analysis.job();
  const Context& context = analysis.context();
  Table table{"pipeline", {"step", "rank", "stage", "batch", "what", "begin_us", "us", "waited_us"}, {}};
  struct Message {
    Ns begin = 0, end = 0;
    bool sends = false, to_next = false;  // between it and the next stage; else the one before
  };
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    if (context.stage[r] < 0) continue;
    const Rank& rank = job.ranks[r];
    std::map<uint32_t, std::vector<Message>> by_step;
    for (const Collective& collective : rank.collectives) {
      if (collective.match == kNone) continue;
      const Match& match = analysis.matches().all[collective.match];
      if (!match.is_pair) continue;
      const uint32_t other = match.members[match.members[0].rank == r ? 1 : 0].rank;
      by_step[match.step].push_back({collective.begin, collective.end, IsSend(job.Text(collective.type)),
                                     context.stage[other] > context.stage[r]});
    }
    for (auto& [step, messages] : by_step) {
      std::ranges::sort(messages, {},
                        [](const Message& message) { return std::pair(message.begin, !message.sends); });
      Ns step_begin = 0;
      for (size_t i = 0; i < rank.steps.size(); ++i) {
        if (rank.job_step[i] == step) step_begin = rank.steps[i].begin;
      }
      int64_t forward = 0, backward = 0;
      Ns from = step_begin, waited = 0;
      bool has_forward = false, has_backward = false;
      const auto close = [&, step = step](Ns to) {
        if (!has_forward && !has_backward) return;
        const char* what = has_forward && has_backward ? "forward and backward"
                           : has_forward               ? "forward"
                                                       : "backward";
        table.rows.push_back(
            {job.steps[step], rank.number, int64_t{context.stage[r]}, has_forward ? forward : backward,
             std::string(what), static_cast<double>(from - step_begin) / 1e3,
             static_cast<double>(std::max<Ns>(0, to - from)) / 1e3, static_cast<double>(waited) / 1e3});
        forward += has_forward;
        backward += has_backward;
        has_forward = has_backward = false;
        waited = 0;
        from = to;
      };
      for (const Message& message : messages) {
        // What is received from the stage before, or sent to the next one, is of a forward pass.
        const bool is_forward = message.sends == message.to_next;
        if (message.sends) {
          (is_forward ? has_forward : has_backward) = true;
          close(message.begin);
        } else {
          close(message.begin);
          waited = message.end - message.begin;
          from = message.end;
          (is_forward ? has_forward : has_backward) = true;
        }
      }
      Ns last = from;
      for (const Task& task : rank.tasks) {
        if (task.step != kNone && rank.job_step[task.step] == step && task.work != Work::kCollective)
          last = std::max(last, task.end);
      }
      close(last);
    }
  }
  return table;
}

}  // namespace profd::analyze
