#include "client/analyze/rules/host/stall_cause.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <cstdio>
#include <map>

#include "base/join.h"
#include "client/analyze/model/graph_head.h"
#include "client/analyze/rules/host/throttling.h"
#include "format/decode/host/cpu_profile.h"

namespace profd::analyze {
namespace {

constexpr ptrdiff_t kMostRanges = 10'000;  // that are looked at for one stall: those that begin last
constexpr size_t kMostFrames = 30;
constexpr size_t kLongestName = 48;
constexpr size_t kFewSamples = 3;  // of a thread on its CPU: fewer tell nothing of a stall

bool IsLoader(std::string_view name) {
  for (const std::string_view word :
       {"dataloader", "DataLoader", "data_loader", "_next_data", "DATALOADER"}) {
    if (name.find(word) != name.npos) return true;
  }
  return false;
}

// Not activation checkpointing, which saves nothing.
bool IsSaving(std::string_view name) {
  for (const std::string_view word :
       {"save_checkpoint", "save_ckpt", "torch.save", "save_pretrained", "save_state", "save_model",
        "dist_checkpointing.save", "ModelCheckpoint"}) {
    if (name.find(word) != name.npos) return true;
  }
  return false;
}

struct Head {
  std::array<Ns, kGraphHeads.size()> covered = {};
  void Add(std::string_view name, Ns overlap) {
    if (const auto i = GraphHeadOf(name)) covered[*i] = std::max(covered[*i], overlap);
  }
  Ns whole() const { return *std::ranges::max_element(covered); }
  // The part that takes most.
  const char* Text() const {
    constexpr std::array<const char*, kGraphHeads.size()> kTexts = {kInPython, kInLists, kInEngine};
    const auto parts = GraphParts(covered);
    return kTexts[static_cast<size_t>(std::ranges::max_element(parts) - parts.begin())];
  }
  static constexpr const char* kInPython = "a compiled graph is prepared, mostly its inputs in Python";
  static constexpr const char* kInLists =
      "a compiled graph is prepared, mostly its streams and lists of tensors";
  static constexpr const char* kInEngine = "a compiled graph is prepared, mostly in the graph engine";
};

Factor Record() { return {"record", 0.9, "the cause itself is recorded"}; }

struct Seen {
  Ns covered = 0;
  size_t count = 0;
  uint32_t stack = kNone;  // the one that covers most
};

// Where a thread is, and whether it would run there if it were let.
struct Where {
  HostPlace place = HostPlace::kOther;
  bool is_queued = false;
  bool is_late = false;  // in a wait for what is over
  TextId function = 0;
  auto operator<=>(const Where&) const = default;  // NOLINT(modernize-use-nullptr): clang 14 sees one
};
Where WhereOf(const Job& job, const HostStack& stack) {
  const bool is_queued = !stack.frames.empty() && job.Text(stack.frames.front()) == format::kWaitsForCpu;
  return {stack.place, is_queued, false, stack.own()};
}

// Of a thread's spans within a piece, what they cover.
using ByPlace = std::map<Where, Seen>;
ByPlace SeenIn(const Job& job, const std::vector<HostSpan>& spans, uint64_t thread, const Piece& piece) {
  std::map<std::pair<uint32_t, bool>, Ns> by_stack;
  std::map<std::pair<uint32_t, bool>, size_t> counts;
  const auto behind = std::ranges::lower_bound(spans, piece.to, {}, &HostSpan::begin);
  for (auto at = behind - std::min(behind - spans.begin(), kMostRanges); at != behind; ++at) {
    const Ns overlap = std::min(at->end, piece.to) - std::max(at->begin, piece.from);
    if (overlap <= 0 || at->thread != thread) continue;
    const std::pair key(at->stack, piece.is_tail && at->begin < piece.from);
    by_stack[key] += overlap;
    ++counts[key];
  }
  ByPlace seen;
  for (const auto& [key, covered] : by_stack) {
    const auto& [stack, is_tail] = key;
    Where where = WhereOf(job, job.stacks[stack]);
    // What it waited for was the device, and that has come.
    where.is_late = is_tail && !where.is_queued && where.place != HostPlace::kStopped;
    Seen& of = seen[where];
    if (of.stack == kNone || covered > by_stack[{of.stack, is_tail}]) of.stack = stack;
    of.covered += covered;
    of.count += counts[key];
  }
  return seen;
}

// The thread that launches; of a device whose calls are not known the program's first.
uint64_t ThreadOf(const Rank& rank, const Piece& piece) {
  return piece.of_task || rank.calls.empty()
             ? rank.process << 32 | rank.process
             : rank.ThreadOf(rank.calls[std::min<size_t>(piece.index, rank.calls.size() - 1)]);
}

constexpr const char* kStoppedText = "a signal has stopped it";
constexpr const char* kQueuedText = "it could run, but waits for a CPU";
constexpr const char* kLateText = "it comes back late from waiting for the device, as if it waits for a CPU";

struct Words {
  const char *id, *text;
};
Words WordsOf(HostPlace place, bool waits) {
  switch (place) {
    case HostPlace::kGarbage:
      return {"host.gc", "Python collects garbage"};
    case HostPlace::kLoader:
      return {"host.dataloader", "it waits for the data loader"};
    case HostPlace::kFault:
      return {"host.fault", "its memory has to be read from a disk"};
    case HostPlace::kDisk:
      return {"host.io", "it waits for a disk"};
    case HostPlace::kLock:
      return {"host.wait", "it waits for a lock or for another thread"};
    case HostPlace::kSleep:
      return {"host.wait", "it sleeps"};
    case HostPlace::kNetwork:
      return {"host.wait", "it waits for the network"};
    case HostPlace::kStopped:
      return {"host.wait", kStoppedText};
    case HostPlace::kOther:
      break;
  }
  return waits ? Words{"host.wait", "it waits"} : Words{"host.busy", "it computes on the CPU"};
}

// What a wait of most of a piece is: a name, and what is behind it.
std::string IdOf(const Where& where, HostPlace place, bool waits) {
  return where.is_queued || where.is_late ? kRunQueue : WordsOf(place, waits).id;
}

// The program's function that a stack is of, and what it has called.
void NamePlace(const Job& job, uint32_t number, Reason& reason) {
  const HostStack& stack = job.stacks[number];
  reason.function = std::string(job.Text(stack.own())).substr(0, kLongestName);
  reason.within = reason.function.empty() ? "" : std::string(job.Text(stack.within)).substr(0, kLongestName);
}

// What the launching thread waited for, or did, in most of a piece.
Reason ThreadReason(const Context& context, const Piece& piece, double least_share) {
  const Job& job = context.job;
  const Rank& rank = job.ranks[piece.rank];
  const uint64_t thread = ThreadOf(rank, piece);
  for (const bool waits : {true, false}) {
    struct Of {
      Seen seen;
      Where top;  // what covers most of it
      Ns top_covered = 0, late = 0;
    };
    std::map<std::string, Of> by_id;
    Ns all = 0;
    for (const auto& [key, seen] : SeenIn(job, waits ? rank.waits : rank.running, thread, piece)) {
      Where where = key;
      // What a thread does on a CPU is not told from locks and disks that it once came through.
      const bool is_named = key.place == HostPlace::kGarbage || key.place == HostPlace::kLoader;
      if (!waits && !is_named) where.place = HostPlace::kOther;
      Of& of = by_id[IdOf(where, where.place, waits)];
      if (of.seen.stack == kNone || seen.covered > of.top_covered) {
        of.seen.stack = seen.stack;
        of.top = where;
        of.top_covered = seen.covered;
      }
      of.seen.covered += seen.covered;
      of.seen.count += seen.count;
      of.late += where.is_late ? seen.covered : 0;
      all += seen.covered;
    }
    const auto length = static_cast<double>(piece.length());
    if (static_cast<double>(all) < least_share * length) continue;
    const auto best =
        std::ranges::max_element(by_id, {}, [](const auto& entry) { return entry.second.seen.covered; });
    const auto& [id, of] = *best;
    const double share = std::min(1.0, static_cast<double>(of.seen.covered) / length);
    if (share < least_share || (!waits && of.seen.count < kFewSamples)) continue;
    Reason reason;
    reason.id = id;
    reason.is_likely = 2 * of.late > of.seen.covered;
    reason.text = reason.is_likely  ? kLateText
                  : id == kRunQueue ? kQueuedText
                                    : WordsOf(of.top.place, waits).text;
    reason.share = share;
    reason.covered = std::min(of.seen.covered, piece.length());
    reason.stack = of.seen.stack;
    NamePlace(job, of.seen.stack, reason);
    reason.how = !waits ? Factor{"samples", 0.75, "the thread was sampled on its CPU"}
                 : reason.is_likely
                     ? Factor{"wake", 0.6,
                              "the wait goes on when the device is done; that it waits for a CPU is likely"}
                     : Factor{"stack", 0.9, "the wait and its stack are recorded"};
    return reason;
  }
  return {};
}

// A function of the program without the line that it is at.
std::string_view WithoutLine(std::string_view function) {
  const size_t colon = function.rfind(':');
  return colon == function.npos || !function.ends_with(')') ? function : function.substr(0, colon);
}

// Stacks that count together: of one function, the innermost that has a name that says something.
std::string PlaceKey(const Job& job, uint32_t number) {
  const HostStack& stack = job.stacks[number];
  return std::string(WithoutLine(job.Text(stack.within != 0 ? stack.within : stack.own())));
}

std::string RaiseLimit(const Rank& rank, TextId cgroup) {
  const CgroupUse use = UseOf(rank, cgroup);
  const std::string wants = use.cpus > 0 ? "it uses " + CpusText(use.cpus) + " CPUs and wants " +
                                               CpusText(use.cpus + use.throttled) + ": "
                                         : "";
  return wants + "raise the limit (cpu.max), or start fewer threads";
}

}  // namespace

std::string MissingKinds(const Rank& rank) {
  std::vector<std::string> kinds;
  if (!rank.has_waits) kinds.emplace_back("host-off-cpu");
  if (!rank.has_running) kinds.emplace_back("host-cpu-profile");
  if (rank.cgroups.empty()) kinds.emplace_back("host-cgroup=50Hz");
  return base::Joined(kinds, ",");
}

Reason ReasonOf(const Context& context, const Piece& piece) {
  const Job& job = context.job;
  const Rank& rank = job.ranks[piece.rank];
  const double least_share = context.Get("host.cause_share") / 100;
  const auto length = static_cast<double>(piece.length());
  if (piece.in_call) {
    const Call& call = rank.calls[piece.index];
    const std::string name(job.Text(call.name));
    if (call.kind == CallKind::kCompile)
      return {
          "host.compile", "an operator is compiled (" + name + ")", 1, piece.length(), Record(), kNone, 0};
    if (call.kind == CallKind::kMemory)
      return {"host.alloc",
              "device memory is allocated or freed (" + name + ")",
              1,
              piece.length(),
              Record(),
              kNone,
              0};
    if (Reason reason = ThreadReason(context, piece, least_share); !reason.id.empty()) return reason;
    if (Reason reason = PooledReason(context, {&piece, 1}); !reason.id.empty()) return reason;
    return {"",
            piece.is_tail ? "the call " + name + " comes back late from waiting for the device"
                          : "inside the call " + name,
            1,
            piece.length(),
            {},
            kNone,
            0};
  }
  Ns garbage = 0, loading = 0, saving = 0, other = 0;
  Head head;
  TextId other_name = 0;
  Ns other_length = INT64_MAX;
  const auto behind = std::ranges::lower_bound(rank.ranges, piece.to, {}, &Range::begin);
  for (auto at = behind - std::min(behind - rank.ranges.begin(), kMostRanges); at != behind; ++at) {
    const Ns overlap = std::min(at->end, piece.to) - std::max(at->begin, piece.from);
    if (overlap <= 0) continue;
    head.Add(job.Text(at->name), overlap);
    if (at->kind == RangeKind::kGarbage) {
      garbage += overlap;
    } else if (IsLoader(job.Text(at->name))) {
      loading = std::max(loading, overlap);
    } else if (IsSaving(job.Text(at->name))) {
      saving = std::max(saving, overlap);
    } else if (static_cast<double>(overlap) >= least_share * length && at->end - at->begin < other_length) {
      other = overlap;  // the shortest that covers it: the innermost
      other_length = at->end - at->begin;
      other_name = at->name;
    }
  }
  const auto share = [length](Ns of) { return std::min(1.0, static_cast<double>(of) / length); };
  if (share(garbage) >= least_share)
    return {"host.gc", "Python collects garbage", share(garbage), garbage, Record(), kNone, 0};
  if (share(loading) >= least_share)
    return {"host.dataloader", "it waits for the data loader", share(loading), loading, Record(), kNone, 0};
  if (share(saving) >= least_share)
    return {"step.checkpoint", "it saves a checkpoint", share(saving), saving, Record(), kNone, 0};
  if (share(head.whole()) >= least_share)
    return {"graph.head", head.Text(), share(head.whole()), head.whole(), Record(), kNone, 0};
  if (Reason reason = ThreadReason(context, piece, least_share); !reason.id.empty()) return reason;
  if (Reason reason = PooledReason(context, {&piece, 1}); !reason.id.empty()) return reason;
  if (share(other) >= least_share && other_length < 2 * piece.length())
    return {"", "inside " + std::string(job.Text(other_name)).substr(0, 40), share(other), other, {}, kNone,
            0};
  return {};
}

Reason PooledReason(const Context& context, std::span<const Piece> pieces) {
  const Job& job = context.job;
  const Rank& rank = job.ranks[pieces.front().rank];
  struct Of {
    Ns waits = 0, runs = 0, longest = 0;
    uint32_t stack = kNone;
    Ns all() const { return waits + runs; }
    void Add(uint32_t number, Ns covered) {
      if (covered <= longest) return;
      longest = covered;
      stack = number;
    }
  };
  std::map<std::string, Of> functions;
  std::map<std::pair<std::string, std::string>, Ns> waits_for;  // id and words
  Ns length = 0, waits = 0, runs = 0;
  size_t samples = 0;
  for (const Piece& piece : pieces) {
    const uint64_t thread = ThreadOf(rank, piece);
    length += piece.length();
    for (const auto& [where, seen] : SeenIn(job, rank.waits, thread, piece)) {
      if (where.is_late) continue;  // for which reason nobody knows
      Of& of = functions[PlaceKey(job, seen.stack)];
      of.waits += seen.covered;
      of.Add(seen.stack, seen.covered);
      waits += seen.covered;
      const Words words = WordsOf(where.place, true);
      waits_for[where.is_queued ? std::pair<std::string, std::string>(kRunQueue, kQueuedText)
                                : std::pair<std::string, std::string>(words.id, words.text)] += seen.covered;
    }
    // A sample stands for the time before it, which may have begun before the piece, as that of the one
    // behind the piece began within.
    const auto behind = std::ranges::lower_bound(rank.running, piece.to, {}, &HostSpan::begin);
    for (auto at = behind - std::min(behind - rank.running.begin(), kMostRanges); at != behind; ++at) {
      const HostSpan& span = *at;
      if (span.thread != thread || span.end <= piece.from || span.end > piece.to) continue;
      Of& of = functions[PlaceKey(job, span.stack)];
      of.runs += span.end - span.begin;
      of.Add(span.stack, span.end - span.begin);
      runs += span.end - span.begin;
      ++samples;
    }
  }
  const double least = context.Get("host.cause_share") / 100;
  const auto share = [length](Ns of) {
    return std::min(1.0, static_cast<double>(of) / static_cast<double>(std::max<Ns>(1, length)));
  };
  if (samples < kFewSamples) runs = 0;
  if (share(waits + runs) < least || functions.empty()) return {};
  constexpr double kCounts = 0.2;  // of the stalls: what is less has no name of its own
  const auto most = std::ranges::max_element(waits_for, {}, [](const auto& entry) { return entry.second; });
  Reason reason;
  const bool computes = runs >= waits;
  reason.id = computes ? "host.busy" : most->first.first;
  reason.text = share(runs) >= kCounts ? WordsOf(HostPlace::kOther, false).text : "";
  if (share(waits) >= kCounts && reason.text.empty()) {
    reason.text = most->first.second;
  } else if (share(waits) >= kCounts) {
    const std::string words = most->first.first == kRunQueue ? "it waits for a CPU" : most->first.second;
    reason.text += ", and " + (words.starts_with("it ") ? words.substr(3) : words);
  }
  reason.share = share(waits + runs);
  reason.covered = std::min(waits + runs, length);
  const auto& [name, top] =
      *std::ranges::max_element(functions, {}, [](const auto& entry) { return entry.second.all(); });
  reason.stack = top.stack;
  if (top.stack != kNone) NamePlace(job, top.stack, reason);
  const double part = static_cast<double>(top.all()) / static_cast<double>(waits + runs);
  if (!name.empty() && part < 0.95) reason.detail = ", " + PercentOf(part) + " of that";
  reason.how = {"samples", 0.75,
                "the thread was sampled on its CPU, " + std::to_string(samples) + " times in " +
                    std::to_string(pieces.size()) + " stops"};
  return reason;
}

bool IsOftenQueued(const Context& context, const Piece& piece) {
  constexpr size_t kFew = 3;
  constexpr double kLeastPart = 0.005;  // of the steps
  const Rank& rank = context.job.ranks[piece.rank];
  const uint64_t thread = ThreadOf(rank, piece);
  size_t count = 0;
  Ns sum = 0;
  for (const HostSpan& span : rank.waits) {
    if (span.thread != thread || !WhereOf(context.job, context.job.stacks[span.stack]).is_queued) continue;
    ++count;
    sum += span.end - span.begin;
  }
  const double all = context.step_ns * static_cast<double>(context.steps());
  return count >= kFew && static_cast<double>(sum) >= kLeastPart * all;
}

std::string AdviceOf(const Reason& reason, const Rank& rank) {
  if (reason.id == "host.gc")
    return "collect garbage at chosen moments: gc.freeze() after the start, gc.disable() in the loop, or "
           "higher thresholds";
  if (reason.id == "host.dataloader")
    return "give the data loader more workers, prefetching and pinned memory, or faster storage";
  if (reason.id == "step.checkpoint") return "save in the background, less often, or to faster storage";
  if (reason.id == "graph.head") {
    if (reason.text == Head::kInPython)
      return "give the graph fewer inputs, all of them tensors that are contiguous; shapes it was compiled "
             "for";
    return reason.text == Head::kInLists
               ? "give the graph fewer inputs and outputs"
               : "keep shapes fixed, so that the engine has nothing to decide at run time";
  }
  if (reason.id == "host.compile")
    return "keep shapes the same from step to step, or compile them before the first step";
  if (reason.id == "host.alloc")
    return "let the framework's allocator keep its memory (expandable segments), and do not empty its cache";
  if (reason.id == "host.throttled") return RaiseLimit(rank, reason.cgroup);
  if (reason.id == "host.io") return "read and write in another thread, in advance, or from faster storage";
  if (reason.id == "host.fault") return "keep its memory: more of it, mlock(), or read the file in advance";
  if (reason.id == kRunQueue && reason.cgroup != 0)
    return RaiseLimit(rank, reason.cgroup) + "; and give it CPUs of its own";
  if (reason.id == kRunQueue)
    return "give it CPUs of its own: pin it, isolate them, start fewer threads, or raise its share";
  if (reason.text == kStoppedText)
    return "see who stops it: a debugger, job control, a freezer of its container";
  if (reason.id == "host.wait") return "look at who holds up that function, and at its callers";
  if (reason.id == "host.busy") return "make that function shorter, or do it in another process";
  if (!reason.text.empty()) return "look at what the program does there";
  const std::string missing = MissingKinds(rank);
  const std::string found =
      rank.has_waits ? "its thread did not wait, and no other cause is recorded: " : "no cause is recorded: ";
  return found + (missing.empty() ? "look at that moment in a timeline: profctl export"
                                  : "record --collect " + missing);
}

void AddEvidence(const Context& context, const Reason& reason, const Rank& rank, Finding& finding) {
  const Job& job = context.job;
  if (reason.stack != kNone) {
    Table table{"where the thread was, the innermost function first", {"function"}, {}};
    for (const TextId frame : job.stacks[reason.stack].frames) {
      if (table.rows.size() < kMostFrames) table.rows.push_back({std::string(job.Text(frame))});
    }
    finding.evidence.push_back(std::move(table));
  }
  if (reason.cgroup != 0) {
    const CgroupUse use = UseOf(rank, reason.cgroup);
    finding.evidence.push_back({"cgroup " + std::string(job.Text(reason.cgroup)),
                                {"limit_cpus", "used_cpus", "throttled_cpus"},
                                {{use.limit, use.cpus, use.throttled}}});
  }
}

std::optional<LockHolder> LockHolderOf(const Context& context, std::span<const Piece> pieces,
                                       const Reason& reason) {
  const Job& job = context.job;
  if (reason.stack == kNone || job.stacks[reason.stack].place != HostPlace::kLock || pieces.empty())
    return std::nullopt;
  const Rank& rank = job.ranks[pieces.front().rank];
  const uint64_t thread = ThreadOf(rank, pieces.front());
  std::vector<HostSpan> waits;
  Ns reached = INT64_MIN;  // a wait of several pieces counts once
  for (const Piece& piece : pieces) {
    if (piece.rank != pieces.front().rank) continue;
    const auto behind = std::ranges::lower_bound(rank.waits, piece.to, {}, &HostSpan::begin);
    for (auto at = behind - std::min(behind - rank.waits.begin(), kMostRanges); at != behind; ++at) {
      if (at->thread != thread || at->end <= piece.from || at->begin < reached) continue;
      waits.push_back(*at);
      reached = at->end;
    }
  }
  return HolderOf(job, rank, thread, waits);
}

std::string NameOf(const LockHolder& holder) {
  return "thread " + std::to_string(holder.thread & 0xFFFFFFFF);
}

std::string SentenceOf(const LockHolder& holder) {
  return NameOf(holder) + " has it" + (holder.does.empty() ? "" : " and " + holder.does) +
         (holder.function.empty() ? "" : " in " + holder.function);
}

Table HolderTable(const Job& job, const LockHolder& holder) {
  Table table{"who has the lock: " + NameOf(holder) + ", which runs at the end of " +
                  std::to_string(holder.waits) + " of " + std::to_string(holder.of) +
                  " waits; where it is meanwhile, the innermost function first",
              {"function"},
              {}};
  if (holder.stack == kNone) return table;
  for (const TextId frame : job.stacks[holder.stack].frames) {
    if (table.rows.size() < kMostFrames) table.rows.push_back({std::string(job.Text(frame))});
  }
  return table;
}

}  // namespace profd::analyze
