#include "client/analyze/job.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <set>
#include <span>
#include <tuple>

#include "base/calendar.h"
#include "client/analyze/model/parallel.h"
#include "client/analyze/reading/capture_reader.h"
#include "client/analyze/reading/damage/gaps.h"
#include "client/analyze/reading/database.h"
#include "client/analyze/reading/made_for.h"
#include "client/analyze/reading/sources.h"

namespace profd::analyze {
namespace {

using base::Code;
using base::Result;
using base::Status;

// Texts and classes of a part in the job's numbers.
void Renumber(Part& part, Job& job, std::map<KernelClass, uint32_t>& class_numbers) {
  std::vector<TextId> texts(part.texts->size());
  for (size_t i = 1; i < texts.size(); ++i)
    texts[i] = job.texts.Intern(part.texts->Get(static_cast<TextId>(i)));
  const auto text = [&texts](TextId& id) { id = id < texts.size() ? texts[id] : 0; };
  std::vector<uint32_t> classes;
  for (KernelClass& one : part.classes) {
    text(one.type);
    text(one.shapes);
    const auto [at, is_new] = class_numbers.try_emplace(one, static_cast<uint32_t>(job.classes.size()));
    if (is_new) job.classes.push_back(one);
    job.classes[at->second].TakeBlocks(one);
    classes.push_back(at->second);
  }
  for (size_t i = 0; i < part.pipes.size(); ++i) {
    if (job.pipes.size() <= classes[i]) job.pipes.resize(classes[i] + 1);
    job.pipes[classes[i]].Add(part.pipes[i]);
  }
  const auto first_stack = static_cast<uint32_t>(job.stacks.size());
  for (HostStack& stack : part.stacks) {
    text(stack.function);
    text(stack.within);
    std::ranges::for_each(stack.frames, text);
    job.stacks.push_back(std::move(stack));
  }
  for (HostPart& host : part.hosts) {
    for (HostSpan& wait : host.waits) wait.stack += first_stack;
    for (HostSpan& span : host.running) span.stack += first_stack;
    for (CgroupLook& look : host.cgroups) text(look.cgroup);
  }
  for (Rank& rank : part.ranks) {
    for (MemoryLook& look : rank.memory) text(look.owner);
    for (Allocator& of : rank.allocators) text(of.owner);
    for (Lost& lost : rank.lost) {
      text(lost.file);
      text(lost.why);
    }
    for (Task& task : rank.tasks) {
      text(task.name);
      if (task.work != Work::kCollective) task.kind = task.kind < classes.size() ? classes[task.kind] : kNone;
    }
    for (Collective& collective : rank.collectives) {
      text(collective.name);
      text(collective.group);
      text(collective.type);
    }
    std::map<Link, Carried> links;
    for (const auto& [key, carried] : rank.links) {
      Link link = key;
      text(link.group);
      text(link.transport);
      links[link] = carried;
    }
    rank.links = std::move(links);
    for (Call& call : rank.calls) text(call.name);
    for (CallLength& call : rank.all_calls) text(call.name);
    for (Range& range : rank.ranges) text(range.name);
  }
}

// Where tasks have other times than the program, its calls tell when it ran.
Ns BeginOf(const Rank& rank) {
  if (rank.gaps.apart) return rank.calls.front().begin;
  return rank.tasks.empty() ? 0 : rank.tasks.front().begin;
}
Ns EndOf(const Rank& rank) {
  if (rank.gaps.apart) return rank.calls.back().end;
  return rank.tasks.empty() ? 0 : rank.tasks.back().end;
}

// Whether two recordings are of one rank: by its number, or where a number is not known, by its device. At
// one time two containers of a node may both have a device 0: what tells them apart are their programs.
bool AreOfOneRank(const Rank& one, const Rank& other) {
  if (one.number >= 0 && other.number >= 0) return one.number == other.number;
  if (one.node.empty() || one.node != other.node || one.device != other.device) return false;
  const bool overlap = BeginOf(one) < EndOf(other) && BeginOf(other) < EndOf(one);
  return !overlap || one.process == 0 || other.process == 0 || one.process == other.process;
}

// Recordings of one node that do not overlap are no recordings of one job: what they are, by time, or "".
std::string SeveralRuns(const Job& job) {
  struct Run {
    Ns begin = 0, end = 0;
    std::set<std::string> sources;
  };
  std::map<std::string, std::map<std::string, Run>> by_node;
  for (const Rank& rank : job.ranks) {
    const auto [at, is_new] =
        by_node[rank.node].try_emplace(rank.source, Run{BeginOf(rank), EndOf(rank), {rank.source}});
    at->second.begin = std::min(at->second.begin, BeginOf(rank));
    at->second.end = std::max(at->second.end, EndOf(rank));
  }
  for (const auto& [node, recordings] : by_node) {
    std::vector<Run> runs;
    std::vector<Run> in_order;
    for (const auto& [source, recording] : recordings) in_order.push_back(recording);
    std::ranges::sort(in_order, {}, &Run::begin);
    for (Run& next : in_order) {
      if (runs.empty() || runs.back().end <= next.begin) {
        runs.push_back(std::move(next));
      } else {
        runs.back().end = std::max(runs.back().end, next.end);
        runs.back().sources.merge(next.sources);
      }
    }
    if (runs.size() < 2) continue;
    constexpr size_t kMostNamed = 3;
    std::string text;
    for (const Run& run : std::span(runs).first(std::min(runs.size(), kMostNamed))) {
      const std::string more =
          run.sources.size() == 1 ? "" : " and " + std::to_string(run.sources.size() - 1) + " more";
      text += (text.empty() ? "" : "; ") + base::UtcText(static_cast<uint64_t>(run.begin)) + " " +
              *run.sources.begin() + more;
    }
    if (runs.size() > kMostNamed) text += "; …";
    return std::to_string(runs.size()) +
           " runs, one after the other, and not of one job: name one of them: " + text;
  }
  return "";
}

// Who has no number gets the next free one, by node and device.
void Number(Job& job) {
  std::set<int64_t> taken;
  for (const Rank& rank : job.ranks) taken.insert(rank.number);
  std::vector<Rank*> unknown;
  for (Rank& rank : job.ranks) {
    if (rank.number < 0) unknown.push_back(&rank);
  }
  if (unknown.empty()) return;
  std::ranges::sort(unknown, {},
                    [](const Rank* rank) { return std::tie(rank->node, rank->device, rank->source); });
  int64_t next = 0;
  for (Rank* rank : unknown) {
    while (taken.contains(next)) ++next;
    rank->number = next;
    taken.insert(next);
  }
  if (job.ranks.size() > 1) {
    job.notes.push_back({"",
                         std::to_string(unknown.size()) +
                             " devices have no rank in their recordings: numbered by node and device",
                         false});
  }
}

// What the kernel told of a program goes to the ranks that it drives. Of a container's process only the first
// thread is known by both of its numbers.
void GiveHosts(Job& job, std::vector<HostPart> hosts) {
  for (HostPart& host : hosts) {
    for (Rank& rank : job.ranks) {
      const bool is_inside = rank.process != host.process && rank.process == host.inside;
      if (rank.process == 0 || (rank.process != host.process && !is_inside) ||
          (!rank.node.empty() && !host.node.empty() && rank.node != host.node))
        continue;
      const auto take = [&](std::vector<HostSpan> spans, std::vector<HostSpan>& to) {
        for (HostSpan& span : spans) {
          if (is_inside && span.thread == (host.process << 32 | host.process))
            span.thread = rank.process << 32 | rank.process;
        }
        to.insert(to.end(), spans.begin(), spans.end());
        std::ranges::sort(to, {}, [](const HostSpan& span) { return std::tuple(span.begin, span.thread); });
      };
      take(host.waits, rank.waits);
      take(host.running, rank.running);
      rank.cgroups.insert(rank.cgroups.end(), host.cgroups.begin(), host.cgroups.end());
      std::ranges::sort(rank.cgroups, {},
                        [](const CgroupLook& look) { return std::tuple(look.cgroup, look.from); });
      rank.has_waits = rank.has_waits || host.has_waits;
      rank.has_running = rank.has_running || host.has_running;
    }
  }
}

// Ranks without steps of their own take windows of a second; of less than three seconds, one.
void MakeWindows(Job& job) {
  if (std::ranges::any_of(job.ranks, [](const Rank& rank) { return !rank.steps.empty(); })) return;
  Ns begin = INT64_MAX, end = 0;
  for (const Rank& rank : job.ranks) {
    if (rank.tasks.empty() || rank.gaps.apart) continue;
    begin = std::min(begin, rank.tasks.front().begin);
    for (const Task& task : rank.tasks) end = std::max(end, task.end);
  }
  if (end <= begin) return;
  constexpr Ns kSecond = 1'000'000'000;
  const Ns width = end - begin < 3 * kSecond ? end - begin + 1 : kSecond;
  job.has_steps = false;
  for (Rank& rank : job.ranks) {
    for (Ns at = begin; at < end; at += width)
      rank.steps.push_back({(at - begin) / width, at, std::min(at + width, end + 1)});
    for (Task& task : rank.tasks) {
      task.step = static_cast<uint32_t>(
          std::clamp<Ns>((task.begin - begin) / width, 0, static_cast<Ns>(rank.steps.size()) - 1));
      if (task.work == Work::kCollective) rank.collectives[task.kind].step = task.step;
    }
  }
}

// Steps by their numbers: those that every rank with steps has, but for ranks that have lost some.
void ShareSteps(Job& job) {
  const auto has_lost = [](const Rank& rank) { return rank.steps.empty() || rank.gaps.steps > Gaps::kMost; };
  const bool any_is_whole = !std::ranges::all_of(job.ranks, has_lost);
  std::map<int64_t, size_t> count;
  size_t ranks = 0;
  for (const Rank& rank : job.ranks) {
    if (any_is_whole ? has_lost(rank) : rank.steps.empty()) continue;
    ++ranks;
    std::set<int64_t> own;
    for (const Step& step : rank.steps) own.insert(step.number);
    for (const int64_t number : own) ++count[number];
  }
  for (const auto& [number, had] : count) {
    if (had == ranks) job.steps.push_back(number);
  }
  if (job.steps.size() < count.size()) {
    job.notes.push_back({"",
                         std::to_string(count.size() - job.steps.size()) +
                             " steps are missing on some ranks, and are left out",
                         false});
  }
  for (Rank& rank : job.ranks) {
    rank.job_step.assign(rank.steps.size(), kNone);
    for (size_t i = 0; i < rank.steps.size(); ++i) {
      const auto at = std::ranges::lower_bound(job.steps, rank.steps[i].number);
      if (at != job.steps.end() && *at == rank.steps[i].number)
        rank.job_step[i] = static_cast<uint32_t>(at - job.steps.begin());
    }
  }
}

// ": rank 0 has 1-6 (SOURCE), …", of the first ranks whose steps differ.
std::string StepsOfRanks(const Job& job) {
  std::string text;
  std::set<std::pair<int64_t, int64_t>> told;
  constexpr size_t kMostNamed = 3;
  for (const Rank& rank : job.ranks) {
    if (rank.steps.empty() || told.size() == kMostNamed) continue;
    const auto [first, last] = std::ranges::minmax(rank.steps, {}, &Step::number);
    if (!told.insert({first.number, last.number}).second) continue;
    text += (text.empty() ? ": rank " : ", rank ") + std::to_string(rank.number) + " has " +
            std::to_string(first.number) + "-" + std::to_string(last.number) + " (" + rank.source + ")";
  }
  return text + "; name recordings of one run";
}

}  // namespace

Job Join(std::vector<Part> parts) {
  Job job;
  std::map<KernelClass, uint32_t> class_numbers;
  std::vector<HostPart> hosts;
  for (Part& part : parts) {
    std::ranges::move(part.notes, std::back_inserter(job.notes));
    job.unfinished.merge(part.unfinished);
    const bool has_work =
        std::ranges::any_of(part.ranks, [](const Rank& rank) { return !rank.tasks.empty(); });
    job.simulated = job.simulated || (part.simulated && has_work);
    if (part.texts == nullptr) continue;
    Renumber(part, job, class_numbers);
    std::ranges::move(part.hosts, std::back_inserter(hosts));
    for (Rank& rank : part.ranks) {
      if (rank.tasks.empty()) {
        job.notes.push_back({rank.source, "device " + std::to_string(rank.device) + " has no task", false});
        continue;
      }
      const auto there =
          std::ranges::find_if(job.ranks, [&rank](const Rank& known) { return AreOfOneRank(known, rank); });
      if (there == job.ranks.end()) {
        job.ranks.push_back(std::move(rank));
        continue;
      }
      const bool is_newer = EndOf(rank) > EndOf(*there);
      const std::string of = rank.number >= 0 && there->number >= 0 ? "rank " + std::to_string(rank.number)
                                                                    : "device " + std::to_string(rank.device);
      job.notes.push_back({is_newer ? there->source : rank.source,
                           "another recording of " + of + " is newer: left out", true});
      if (is_newer) *there = std::move(rank);
    }
  }
  Number(job);
  std::ranges::sort(job.ranks, {}, &Rank::number);
  GiveHosts(job, std::move(hosts));
  MakeWindows(job);
  FindStepGaps(job);
  ShareSteps(job);
  FindGaps(job);
  return job;
}

Result<Job> ReadJob(const std::vector<std::string>& paths, const Reading& reading) {
  std::vector<Source> sources;
  std::vector<Note> notes;
  if (reading.progress) reading.progress(0, 0);
  for (const std::string& path : paths)
    PROFD_RETURN_IF_ERROR(FindSources(path, reading.recursive, sources, notes));
  std::ranges::sort(sources);
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  std::vector<Part> parts(sources.size());
  std::vector<char> unreadable(sources.size());  // by source: of a rank, of which it says nothing
  std::atomic<size_t> done{0};
  ForEach(sources.size(), reading.jobs, [&](size_t i) {
    const Source& source = sources[i];
    Result<Part> part = source.form == Source::Form::kDatabase
                            ? ReadDatabase(source.path, reading.keeps_all, source.rank >= 0)
                            : ReadCapture(source.path, reading.keeps_all);
    if (reading.progress) reading.progress(++done, sources.size());
    if (part.ok()) {
      parts[i] = std::move(part).value();
    } else {
      std::string why(part.status().message());
      if (why.starts_with(source.path + ": ")) why.erase(0, source.path.size() + 2);
      parts[i].notes.push_back({source.path, std::move(why), true});
    }
    const auto does_nothing = [](const Rank& rank) { return rank.tasks.empty(); };
    if (source.rank >= 0 && std::ranges::all_of(parts[i].ranks, does_nothing)) unreadable[i] = 1;
    for (Note& note : parts[i].notes) {
      if (note.lost && source.rank >= 0) note.text = "rank " + std::to_string(source.rank) + ": " + note.text;
    }
    for (Rank& rank : parts[i].ranks) {
      if (rank.rated_mhz == 0) {
        const MadeFor known = MadeForNear(source.path, rank.device);
        rank.rated_mhz = known.mhz;
        rank.cores = known.cores;
        rank.vector_cores = known.vector_cores;
      }
      if (source.rank >= 0 && (rank.number < 0 || parts[i].ranks.size() == 1)) rank.number = source.rank;
    }
  });
  Job job = Join(std::move(parts));
  for (size_t i = 0; i < sources.size(); ++i) {
    if (unreadable[i] != 0) job.unreadable.insert(sources[i].rank);
  }
  job.notes.insert(job.notes.begin(), notes.begin(), notes.end());
  if (job.ranks.empty()) {
    std::string why;
    constexpr size_t kMostReasons = 3;
    for (const Note& note : std::span(job.notes).first(std::min(job.notes.size(), kMostReasons)))
      why += "; " +
             (note.where.empty() || note.where == paths.front() || note.text.starts_with(note.where)
                  ? ""
                  : note.where + ": ") +
             note.text;
    const char* const none =
        !sources.empty() ? ": there is nothing to analyse in it: no tasks, kernels or collectives of a "
                           "device; profctl query says what it has"
        : !why.empty()   ? ": there is nothing to analyse"
                         : ": there is nothing to analyse: no PROF directory with data, no *_ascend_pt "
                           "folder and no database with tasks of a device; is it the right folder?";
    return Status(Code::kNotFound, paths.front() + none + why);
  }
  if (const std::string several = SeveralRuns(job); !several.empty())
    return Status(Code::kInvalidArgument, paths.front() + ": there are recordings of " + several);
  if (job.steps.empty()) {
    return Status(Code::kNotFound,
                  paths.front() + (job.has_steps ? ": its ranks have no step in common" + StepsOfRanks(job)
                                                 : ": there is nothing to analyse: no task took any time"));
  }
  const auto has_work = [](const Rank& rank) {
    return std::ranges::any_of(rank.tasks, [&rank](const Task& task) {
      return task.step < rank.job_step.size() && rank.job_step[task.step] != kNone;
    });
  };
  if (std::ranges::none_of(job.ranks, has_work))
    return Status(
        Code::kNotFound,
        paths.front() + ": there is nothing to analyse: none of its tasks is in a step of the program");
  return job;
}

}  // namespace profd::analyze
