// profctl record: from a running job, or a program that it starts, to what makes it slow.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/join.h"
#include "client/analyze/analysis.h"
#include "client/analyze/report/json.h"
#include "client/show/interrupt.h"
#include "client/show/json.h"
#include "client/show/render.h"
#include "client/verbs/answers/wishes.h"
#include "client/verbs/program.h"
#include "client/verbs/recordings.h"
#include "client/verbs/sessions/run.h"
#include "client/verbs/sessions/start.h"
#include "client/verbs/verb.h"
#include "client/words/args.h"
#include "client/words/text.h"

namespace profd::client {
namespace {

using base::Code;
using base::Result;
using base::Status;

struct RecordOptions {
  std::vector<std::string> pids, labels, collect, command;
  std::string lasts;  // --for
  std::string output, name, max_loss;
  bool dry_run = false;
  AnswerOptions answer;
};

// Beside preset `light`: what rules look at, as far as the node has it.
constexpr const char* kExtras[] = {
    "agent-memory", "low-power", "hbm",         "hccs",         "pcie",
    "roce",         "host-disk", "host-cgroup", "host-off-cpu", "host-cpu-profile"};
constexpr char kStepKind[] = "agent-step";
constexpr uint64_t kRateSpanNs = 5'000'000'000;  // that the rate of steps is of

// "s-17  12.1 s  3.9 steps/s  8.1 MB  lost 0"
class LiveLine {
 public:
  std::string operator()(const v1::SessionInfo& info) {
    uint64_t steps = 0;  // of the process that has made the most; each is a begin and an end
    for (const v1::KindState& kind : info.kinds()) {
      if (kind.kind() == kStepKind) steps = std::max(steps, kind.records() / 2);
    }
    looks_.emplace_back(info.elapsed_ns(), steps);
    while (looks_.size() > 2 && looks_.back().first - looks_.front().first > kRateSpanNs) looks_.pop_front();
    const auto [from, before] = looks_.front();
    std::string rate;
    if (steps > 0 && info.elapsed_ns() > from) {
      char text[32];
      std::snprintf(
          text, sizeof text, "  %.1f steps/s",
          static_cast<double>(steps - before) / (static_cast<double>(info.elapsed_ns() - from) / 1e9));
      rate = text;
    }
    return OneLine(info.session()) + "  " + FormatDuration(info.elapsed_ns()) + rate + "  " +
           FormatBytes(static_cast<double>(info.bytes())) + "  lost " + std::to_string(info.lost());
  }

 private:
  std::deque<std::pair<uint64_t, uint64_t>> looks_;  // time since the begin, steps
};

Result<StartOptions> SessionFor(const RecordOptions& options) {
  const bool runs = !options.command.empty();
  if (runs && !options.pids.empty())
    return Status(Code::kInvalidArgument,
                  "record: --pid and a program are both given: expected one of the two");
  if (!runs && options.pids.empty() == options.labels.empty()) {
    return Status(
        Code::kInvalidArgument,
        "record: say what to record, one of --pid N, --label KEY=VALUE (processes with an agent), or "
        "a program: -- CMD ARGS");
  }
  StartOptions session;
  session.pids = options.pids;
  if (!runs) session.labels = options.labels;
  session.all_agents = !runs && !options.labels.empty();
  session.collect = options.collect;
  if (options.collect.empty()) {
    session.preset = "light";
    session.extras.assign(std::begin(kExtras), std::end(kExtras));
  }
  if (!options.lasts.empty()) PROFD_RETURN_IF_ERROR(ParseDurationNs("--for", options.lasts).status());
  session.duration = options.lasts;
  session.output = options.output;
  session.name = options.name;
  session.max_loss = options.max_loss;
  session.dry_run = options.dry_run;
  session.wait = !options.dry_run;
  session.progress = [line = std::make_shared<LiveLine>()](const v1::SessionInfo& info) {
    return (*line)(info);
  };
  return session;
}

bool HasRecords(const v1::SessionInfo& info, std::string_view kind) {
  return std::ranges::any_of(info.kinds(), [kind](const v1::KindState& state) {
    return state.kind() == kind && state.records() > 0;
  });
}

// What is there, "agent-step host-cpu …".
std::string Recorded(const v1::SessionInfo& info) {
  std::string kinds;
  std::set<std::string> named;
  for (const v1::KindState& kind : info.kinds()) {
    if (kind.records() > 0 && named.insert(kind.kind()).second) base::AddTo(kinds, kind.kind(), " ");
  }
  return kinds.empty() ? "nothing" : kinds;
}

// What can be done with a recording that could be analysed, or that could not: only what works.
std::string Uses(const v1::SessionInfo& info, bool is_analysed, bool has_findings) {
  const std::string name = OneLine(info.session());
  std::string text;
  if (has_findings) text += "  evidence: profctl analyze " + name + " --explain 1\n";
  if (is_analysed) return text + "  page:     profctl report " + name + " -o report.html\n";
  if (HasRecords(info, "host-off-cpu"))
    text += "  waits:    profctl flame " + name + " --off-cpu -o waits.svg\n";
  if (HasRecords(info, "host-cpu-profile")) text += "  CPU time: profctl flame " + name + " -o cpu.svg\n";
  return text + "  contents: profctl query " + name + "\n";
}

// What was recorded, in a line, and what else can be done with it.
std::string Results(const v1::SessionInfo& info, bool is_analysed, bool has_findings) {
  std::string text = "recorded: session " + OneLine(info.session()) + ", " +
                     FormatDuration(info.elapsed_ns()) + ", " +
                     FormatBytes(static_cast<double>(info.bytes()));
  if (info.lost() > 0) text += ", " + std::to_string(info.lost()) + " records lost";
  text += "\n";
  for (const std::string& directory : info.directories()) text += "  " + OneLine(directory) + "\n";
  if (!is_analysed) text += Fitted("  kinds:    " + Recorded(info) + "\n", OwnLook().columns);
  return text + Uses(info, is_analysed, has_findings) + "  timeline: profctl export " +
         OneLine(info.session()) + "\n";
}

// What was asked for, by record itself or by the user, and is not in the recording: "hbm of device:1, hccs:
// why". A kind that no unit has goes without units, and a reason stands once.
std::vector<std::string> NotRecorded(const v1::SessionInfo& info) {
  std::set<std::string> had;
  for (const v1::KindState& kind : info.kinds()) {
    if (kind.verdict() == v1::VERDICT_STARTED) had.insert(kind.kind());
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> by_reason;
  for (const v1::KindState& kind : info.kinds()) {
    if (kind.verdict() == v1::VERDICT_STARTED) continue;
    auto at = std::ranges::find(by_reason, kind.reason(), &decltype(by_reason)::value_type::first);
    if (at == by_reason.end()) at = by_reason.insert(at, {kind.reason(), {}});
    std::string name = kind.kind() + (had.contains(kind.kind()) ? " of " + kind.unit() : "");
    if (std::ranges::count(at->second, name) == 0) at->second.push_back(std::move(name));
  }
  std::vector<std::string> lines;
  lines.reserve(by_reason.size());
  for (const auto& [reason, kinds] : by_reason)
    lines.push_back(OneLine("not recorded: " + base::Joined(kinds, ", ") + ": " + reason));
  return lines;
}

// Why there is no answer. `why`: of the analysis, which does not know what was asked for.
Status NotAnalysed(const v1::SessionInfo& info, const Status& why) {
  const bool has_device = std::ranges::any_of(info.kinds(), [](const v1::KindState& kind) {
    const bool is_work =
        kind.kind() == "task" || kind.kind() == "agent-kernel" || kind.kind() == "agent-comm";
    return is_work && kind.records() > 0;
  });
  if (why.code() != Code::kNotFound || has_device) return why;
  return {Code::kNotFound,
          "not analysed: no device did anything for this job, and causes are found from what devices do; the "
          "recording can be used as shown"};
}

ExitCode Answer(const Context& context, AnswerWishes wishes, const v1::SessionInfo& info) {
  wishes.request.paths.assign(info.directories().begin(), info.directories().end());
  const auto analysis = Analyse(wishes.request);
  if (context.json) {
    // Also of a recording that there is nothing to analyse of: where it lies is said all the same.
    std::string session = SessionJson(info),
                answer = analysis.ok() ? analyze::FindingsJson(**analysis) : "null";
    for (std::string* part : {&session, &answer}) {
      while (part->ends_with('\n')) part->pop_back();
    }
    context.Print("{\"session\":" + session + ",\"answer\":" + answer + "}\n");
  }
  if (!analysis.ok()) {
    if (!context.json) context.Print(Results(info, false, false));
    return context.Fail(NotAnalysed(info, analysis.status()));
  }
  if (!context.json) {
    context.Print(ScreenOf(**analysis, wishes));
    context.Print(Results(info, true, !(*analysis)->verdict().findings.empty()));
  }
  return ResultOf(**analysis, wishes);
}

// The program after its recording: until it ends. On a terminal it gets Ctrl-C as we do.
ExitCode Conclude(const Context& context, const Program& program, bool end_it) {
  const bool has_terminal = ::isatty(STDIN_FILENO) == 1;
  const InterruptWatch interrupts([&](int count) {
    if (!has_terminal || count > 1) program.Signal(count == 1 ? SIGINT : SIGTERM);
  });
  if (end_it) program.Signal(SIGTERM);
  if (!end_it && !program.IsGone())
    context.Note("the program goes on, and so does profctl until it ends; Ctrl-C ends both");
  const int status = program.Wait();
  if (status != 0 && !end_it) context.Note("the program ended with status " + std::to_string(status));
  return static_cast<ExitCode>(status);
}

ExitCode First(ExitCode one, ExitCode other) { return one == ExitCode::kOk ? other : one; }

ExitCode Run(const Context& context, const RecordOptions& options) {
  if (!context.host.empty()) {
    return context.Fail(
        Status(Code::kInvalidArgument,
               "record works on this node only. For another one: profctl --host … start, stop "
               "and fetch, then analyze here"));
  }
  Result<StartOptions> session = SessionFor(options);
  if (!session.ok()) return context.Fail(session.status());
  const Result<AnswerWishes> wishes = ParseAnswer(options.answer);
  if (!wishes.ok()) return context.Fail(wishes.status());
  const sigset_t blocked_before = HoldInterrupts();
  std::optional<Program> program;
  {
    const Result<Connection> connection = Connect(context);
    if (!connection.ok()) return context.Fail(connection.status());
    // What is refused is refused before the program runs.
    if (const Status fits = CheckWishes(*session, *connection->control); !fits.ok())
      return context.Fail(fits);
    if (options.dry_run) {
      if (!options.command.empty()) {  // as of any process of ours
        session->pids = {std::to_string(::getpid())};
        session->agents_expected = true;
      }
      return Collect(context, *session, nullptr).Now();
    }
    if (!options.command.empty()) {
      if (const Status placed = PutAgentInPlace(context, options.labels, ::getpid()); !placed.ok())
        return context.Fail(placed);
      PutMsptiInPlace(*connection->control);
      Result<Program> held = Program::Start(options.command, blocked_before);
      if (!held.ok()) return context.Fail(held.status());
      program = std::move(*held);
      RecordFromBegin(*program, &*session);
    }
  }
  if (!context.json && ::isatty(STDERR_FILENO) == 1) {
    context.Note("recording" + (options.lasts.empty()
                                    ? std::string(" until the program ends or Ctrl-C")
                                    : " for " + options.lasts + "; Ctrl-C ends it earlier"));
  }
  v1::SessionInfo info;
  ExitCode result = Collect(context, *session, &info).Now();
  if (program && program->waits()) {
    program->GiveUp();
    return result;
  }
  const bool was_recorded = info.directories_size() > 0;
  if (was_recorded) {
    // From here on Ctrl-C is death again.
    ::pthread_sigmask(SIG_SETMASK, &blocked_before, nullptr);
    const bool is_interrupted = info.end_reason() == v1::END_REASON_STOPPED;
    if (program && is_interrupted && !program->IsGone() && ::isatty(STDIN_FILENO) == 0)
      program->Signal(SIGINT);
    if (!info.error().empty()) context.Note("session " + info.session() + ": " + info.error());
    if (!context.json) {  // which has the session's kinds
      for (const std::string& line : NotRecorded(info)) context.Note(line);
    }
    const ExitCode answer = Answer(context, *wishes, info);
    // What was found goes before how it was recorded.
    result = answer == ExitCode::kFindings ? answer : First(result, answer);
  }
  // Whoever hears of profd no more still has a job that runs.
  const bool is_detached = !was_recorded && result == ExitCode::kOk;
  return program ? First(result, Conclude(context, *program, is_detached)) : result;
}

Action Define(cli::Arguments arguments) {
  const auto options = std::make_shared<RecordOptions>();
  arguments.List("--pid", &options->pids, "these processes, with their children: N,…");
  arguments.List("--label", &options->labels,
                 "every process whose agent has it: KEY=VALUE; with a program: labels for it");
  arguments.Text("--for", &options->lasts,
                 "how long, e.g. 20s; without it, until the processes have ended, or Ctrl-C");
  arguments.List("--collect", &options->collect, "record these kinds instead: KIND[:MODE][=RATE],…");
  arguments.Text("--output", &options->output, "directory for the recording; default profd's own");
  arguments.Text("--name", &options->name, "a name for the session");
  arguments.Text("--max-loss", &options->max_loss,
                 "how much of a kind's samples may be lost without exit code 7, e.g. 0, 5%; default 1%");
  arguments.Flag("--dry-run", &options->dry_run,
                 "record nothing, run nothing: only say what would be recorded and how much that makes");
  DefineAnswer(arguments, &options->answer);
  return {.run = [options](const Context& context) { return Run(context, *options); },
          .take_program = [options](std::vector<std::string> words) { options->command = std::move(words); }};
}

}  // namespace

namespace verbs {
Verb Record() {
  return {"record", "record a job and say what makes it slow: record [OPTIONS] [-- CMD ARGS…]",
          Reach::kOneNode, Define};
}
}  // namespace verbs

}  // namespace profd::client
