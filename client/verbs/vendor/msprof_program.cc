// profctl msprof with a program of its own, or attached to running ones.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/unique_fd.h"
#include "client/export/read/missing.h"
#include "client/show/interrupt.h"
#include "client/verbs/program.h"
#include "client/verbs/sessions/run.h"
#include "client/verbs/vendor/msprof.h"
#include "client/words/text.h"
#include "format/kind.h"

namespace profd::client {

using base::Code;
using base::Result;
using base::Status;
using options::Given;

namespace {

constexpr char kWords[] = "start, stop, quit (or q)";

// "main p1 'p 2'": words as a shell parts them, nothing else of a shell.
std::vector<std::string> WordsOf(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  bool in_word = false;
  for (const char c : text) {
    if (quote != 0 ? c == quote : c == '"' || c == '\'') {
      quote = quote != 0 ? '\0' : c;
      in_word = true;
    } else if (quote == 0 && c == ' ') {
      if (in_word) words.push_back(std::exchange(word, ""));
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (in_word) words.push_back(word);
  return words;
}

// "K=V;K2=V2" for the program.
Status SetEnvironment(const Given& given) {
  const auto found = given.find("environment");
  if (found == given.end()) return {};
  Status status;
  options::ForEachWord(
      found->second,
      [&](std::string_view pair) {
        const size_t equals = pair.find('=');
        if (equals == 0 || equals == std::string_view::npos) {
          status = {Code::kInvalidArgument, "--environment: expected K=V, several with ; between"};
          return;
        }
        ::setenv(std::string(pair.substr(0, equals)).c_str(), std::string(pair.substr(equals + 1)).c_str(),
                 1);
      },
      ';');
  return status;
}

// Where the vendor's leaves a result that is not told where.
std::string DefaultOutput(const MsprofLine& line, const std::vector<std::string>& command) {
  if (const char* const work = std::getenv("ASCEND_WORK_PATH"); work != nullptr && *work != '\0')
    return std::string(work) + "/profiling_data";
  if (line.given.contains("application") && !command.empty()) {
    const std::filesystem::path directory = std::filesystem::path(command[0]).parent_path();
    if (!directory.empty()) return directory;
  }
  return ".";
}

// Tells what of the options' kinds is not recorded, or not from the beginning, and why. True when somebody
// asked for one that is not.
bool TellSkipped(const Context& context, const Given& asked, const Given& given,
                 const v1::SessionInfo& session) {
  bool unmet = false;
  std::map<std::string, std::string> options_of;  // by reason
  const bool has_kernels = std::ranges::any_of(session.kinds(), [](const v1::KindState& kind) {
    return kind.kind() == kKernels && kind.verdict() == v1::VERDICT_STARTED;
  });
  for (const options::Wish& wish : options::WishesOf(given, options::kNoChip).kinds) {
    if (wish.kind == kTasks && has_kernels) continue;
    for (const v1::KindState& kind : session.kinds()) {
      // What an agent began late lacks its beginning; other reasons of what was started are told as it is. It
      // may have been refused late, too.
      const bool skipped = kind.verdict() == v1::VERDICT_SKIPPED || kind.verdict() == v1::VERDICT_FAILED;
      const bool late = kind.verdict() == v1::VERDICT_STARTED && kind.unit().starts_with("pid:");
      if (kind.kind() != wish.kind || !(skipped || late) || kind.reason().empty()) continue;
      std::string& names = options_of[kind.reason()];
      const std::string name = "--" + std::string(wish.option->name);
      if (names.find(name) == std::string::npos) names += (names.empty() ? "" : ", ") + name;
      unmet = unmet || (skipped && asked.contains(wish.option->name));
    }
  }
  for (const auto& [reason, names] : options_of) context.Note(names + ": " + reason);
  return unmet;
}

// Of which options that somebody gave nothing came, though all of their kinds were recorded.
void TellEmpty(const Context& context, const Given& asked, const Given& given,
               const v1::SessionInfo& session) {
  std::map<std::string_view, uint64_t> records_of;
  std::set<std::string_view> others;  // with kinds that were not recorded, or are not of the process
  for (const options::Wish& wish : options::WishesOf(given, options::kNoChip).kinds) {
    for (const v1::KindState& kind : session.kinds()) {
      if (kind.kind() != wish.kind) continue;
      records_of[wish.option->name] += kind.records();
      if (kind.verdict() != v1::VERDICT_STARTED || !kind.unit().starts_with("pid:"))
        others.insert(wish.option->name);
    }
  }
  std::string names;
  for (const auto& [name, records] : records_of) {
    if (records == 0 && !others.contains(name) && asked.contains(name))
      names += (names.empty() ? "--" : ", --") + std::string(name);
  }
  if (!names.empty()) context.Note(names + ": nothing was recorded: the program reported none of it");
}

// Starts and stops by words on the standard input, until the processes have ended. Each of them has a session
// of its own.
class Dialogue {
 public:
  // `asked`: by whoever gave them; `given`: with the defaults.
  Dialogue(const Context& context, StartOptions options, Given asked, Given given)
      : context_(context),
        options_(std::move(options)),
        asked_(std::move(asked)),
        given_(std::move(given)),
        interrupted_(::eventfd(0, EFD_CLOEXEC)) {
    for (const std::string& list : std::exchange(options_.pids, {})) {
      options::ForEachWord(
          list,
          [this](std::string_view word) {
            const auto pid = static_cast<pid_t>(std::strtol(std::string(word).c_str(), nullptr, 10));
            pids_.emplace_back(word);
            base::UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
            if (fd) targets_.push_back(std::move(fd));
          },
          ',');
    }
  }

  ExitCode Run() {
    const InterruptWatch interrupts([this](int) {
      const uint64_t one = 1;
      PROFD_CHECK(::write(interrupted_.get(), &one, sizeof one) == sizeof one);
    });
    context_.Print(std::string("Words: ") + kWords + "\n");
    for (std::optional<std::string> word = Next(); word && *word != "quit" && *word != "q"; word = Next()) {
      if (*word == "start") {
        Start();
      } else if (*word == "stop") {
        Stop();
      } else if (!word->empty()) {
        context_.Print(std::string("Words: ") + kWords + "\n");
      }
    }
    if (!sessions_.empty()) Stop();
    return worst_;
  }

 private:
  // Nothing at the end of the input, or when somebody interrupts.
  std::optional<std::string> Next() {
    std::fflush(stdout);
    for (;;) {
      const size_t end = buffered_.find('\n');
      if (end != std::string::npos) {
        std::string line = buffered_.substr(0, end);
        buffered_.erase(0, end + 1);
        while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
        return line;
      }
      std::vector<pollfd> fds = {{STDIN_FILENO, POLLIN, 0}, {interrupted_.get(), POLLIN, 0}};
      for (const base::UniqueFd& target : targets_) fds.push_back({target.get(), POLLIN, 0});
      if (::poll(fds.data(), fds.size(), -1) < 0) continue;  // EINTR
      if (fds[1].revents != 0) return std::nullopt;
      for (size_t i = fds.size(); i-- > 2;) {
        if (fds[i].revents != 0) targets_.erase(targets_.begin() + static_cast<ptrdiff_t>(i - 2));
      }
      if (fds.size() > 2 && targets_.empty()) {
        context_.Print("the program has ended\n");
        return std::nullopt;
      }
      if (fds[0].revents == 0) continue;
      char piece[256];
      const ssize_t size = ::read(STDIN_FILENO, piece, sizeof piece);
      if (size <= 0) return std::nullopt;
      buffered_.append(piece, static_cast<size_t>(size));
    }
  }

  void Start() {
    if (!sessions_.empty()) return context_.Print("already started\n");
    for (const std::string& pid : pids_) {
      StartOptions options = options_;
      options.pids = {pid};
      v1::SessionInfo info;
      NoteCode(Collect(context_, options, &info).Now());
      if (info.session().empty()) continue;  // Collect() said why
      sessions_.push_back(info.session());
      context_.Print("started: session " + info.session() + OfPid(pid) + "\n");
      TellSkipped(context_, asked_, given_, info);
    }
  }

  void Stop() {
    if (sessions_.empty()) return context_.Print("not started\n");
    Result<Connection> connection = Connect(context_);
    if (!connection.ok()) return NoteCode(context_.Fail(connection.status()));
    for (const std::string& session : std::exchange(sessions_, {})) {
      v1::StopRequest request;
      request.set_session(session);
      const Result<v1::StopReply> reply = connection->control->Stop(request).Now();
      if (!reply.ok()) {
        NoteCode(context_.Fail(reply.status()));
        continue;
      }
      for (const v1::SessionInfo& info : reply->sessions()) {
        for (const std::string& directory : info.directories())
          context_.Print("stopped: data is saved in " + OneLine(directory) + "; profctl export " +
                         OneLine(directory) + "\n");
      }
    }
  }

  std::string OfPid(const std::string& pid) const {
    return pids_.size() > 1 ? " of process " + pid : std::string();
  }

  void NoteCode(ExitCode code) {
    if (worst_ == ExitCode::kOk) worst_ = code;
  }

  const Context& context_;
  StartOptions options_;  // of each of the processes
  const Given asked_, given_;
  std::vector<std::string> pids_;
  const base::UniqueFd interrupted_;
  std::vector<base::UniqueFd> targets_;  // pidfds of those that have not ended
  std::string buffered_;
  std::vector<std::string> sessions_;
  ExitCode worst_ = ExitCode::kOk;
};

}  // namespace

std::set<std::string> AddDefaults(Given* given) {
  std::set<std::string> added;
  const auto instr = given->find("instr-profiling");
  if (instr != given->end() && options::IsOn(instr->second)) return added;
  for (const char* const usual : {"ascendcl", "task-time", "ai-core"}) {
    if (given->emplace(usual, "on").second) added.insert(usual);
  }
  return added;
}

ExitCode RunWithProgram(const Context& context, const MsprofLine& line) {
  Given given = line.given;
  const auto application = given.find("application");
  const std::vector<std::string> command =
      application == given.end() ? line.command : WordsOf(application->second);
  if (application != given.end() && command.empty())
    return context.Fail({Code::kInvalidArgument, "--application: names no program"});
  const auto pids = given.find("pid");
  if (!command.empty() && pids != given.end())
    return context.Fail({Code::kInvalidArgument, "--pid and a program: give one of them"});
  const std::set<std::string> added = AddDefaults(&given);
  const sigset_t blocked_before = HoldInterrupts();
  if (const Status ready = DropAbsentDevices(context, &given); !ready.ok()) return context.Fail(ready);
  if (!given.contains("output")) given["output"] = DefaultOutput(line, command);
  StartOptions options = SessionOf(given);
  options.vendor_defaults = added;
  if (pids != given.end()) options.pids = {pids->second};

  Result<Connection> connection = Connect(context);
  if (!connection.ok()) return context.Fail(connection.status());
  // What is refused is refused before the program runs.
  if (const Status fits = CheckWishes(options, *connection->control); !fits.ok()) return context.Fail(fits);
  OutputFolders folders;
  if (const Status made = folders.Make(given["output"]); !made.ok()) return context.Fail(made);
  std::optional<Program> program;
  if (!command.empty()) {
    if (const Status set = SetEnvironment(given); !set.ok()) return context.Fail(set);
    if (const Status placed = PutAgentInPlace(context, {}, ::getpid()); !placed.ok())
      return context.Fail(placed);
    if (!options::TakesReports(options.vendor, options::kNoChip)) PutMsptiInPlace(*connection->control);
    if (IsMsptiInPlace()) options.vendor.emplace(options::kByMspti, "yes");
    Result<Program> held = Program::Start(command, blocked_before);
    if (!held.ok()) return context.Fail(held.status());
    program = std::move(*held);
    RecordFromBegin(*program, &options);
  }
  const auto dynamic = given.find("dynamic");
  if (dynamic != given.end() && options::IsOn(dynamic->second)) {
    if (program) program->Release();
    return Dialogue(context, std::move(options), line.given, given).Run();
  }

  options.wait = true;
  v1::SessionInfo session;
  const ExitCode code = Collect(context, options, &session).Now();
  if (program->waits()) {
    program->GiveUp();
    return code;
  }
  // A terminal interrupts the program, too; whoever interrupts only us means both.
  if (session.end_reason() == v1::END_REASON_STOPPED && !program->IsGone() && ::isatty(STDIN_FILENO) == 0)
    program->Signal(SIGINT);
  const bool waited = given.contains("delay") && program->IsGone();
  const int status = program->Wait();
  if (session.state() == v1::SESSION_STATE_FAILED) {  // as the vendor's, who waited in vain went not wrong
    context.Note(waited ? "nothing is collected: the program ended before --delay was over"
                        : "nothing is collected: " + OneLine(session.error()));
    return status != 0 ? static_cast<ExitCode>(status) : waited ? ExitCode::kOk : code;
  }
  const bool unmet = TellSkipped(context, line.given, given, session);
  TellEmpty(context, line.given, given, session);
  const ExitCode concluded =
      Conclude(context, given, session, code == ExitCode::kOk && unmet ? ExitCode::kPartlyStarted : code);
  return status != 0 ? static_cast<ExitCode>(status) : concluded;
}

}  // namespace profd::client
