#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "client/node/connection.h"
#include "client/show/json.h"
#include "client/show/render.h"
#include "client/verbs/shown.h"
#include "client/verbs/verb.h"

namespace profd::client {

namespace {

struct Options {
  std::string session;
  bool watch = false;
  Shown shown;
};

constexpr uint32_t kPeriodMs = 1000;

// Replaces on a terminal what it printed before; elsewhere one text follows the other.
class Screen {
 public:
  explicit Screen(const Context& context) : context_(context) {}

  void Show(const std::string& text) {
    if (is_terminal_ && lines_ > 0) std::printf("\033[%zdA\033[J", static_cast<ssize_t>(lines_));
    context_.Print(text);
    std::fflush(stdout);
    lines_ = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }

 private:
  const Context& context_;
  const bool is_terminal_ = ::isatty(STDOUT_FILENO) == 1;
  size_t lines_ = 0;
};

bool HasEnded(const v1::SessionInfo& info) {
  return info.state() == v1::SESSION_STATE_SEALED || info.state() == v1::SESSION_STATE_FAILED;
}

// The sessions that run; when there is none, the newest.
std::vector<v1::SessionInfo> Current(const v1::ListReply& reply) {
  std::vector<v1::SessionInfo> current;
  for (const v1::SessionInfo& info : reply.sessions()) {
    if (!HasEnded(info)) current.push_back(info);
  }
  if (current.empty() && reply.sessions_size() > 0) current.push_back(reply.sessions(0));
  return current;
}

std::string Render(const Context& context, const std::vector<v1::SessionInfo>& sessions, const Look& look) {
  if (context.json) return SessionsJson(sessions);
  if (sessions.empty()) return "no sessions\n";
  std::string text;
  for (const v1::SessionInfo& info : sessions) {
    text += (text.empty() ? "" : "\n") + RenderSession(info, true, look);
  }
  return text;
}

Asking<ExitCode> OfSession(const Context& context, const Options& options, const Look& look,
                           ControlClient& control) {
  const auto render = [&context, &look](const v1::SessionInfo& info) {
    return context.json ? SessionJson(info) : RenderSession(info, true, look);
  };
  if (options.watch) {
    Screen screen(context);
    const base::Result<v1::SessionInfo> last = control.Watch(
        options.session, kPeriodMs, [&](const v1::SessionInfo& info) { screen.Show(render(info)); });
    co_return last.ok() ? ExitCode::kOk : context.Fail(last.status());
  }
  const base::Result<v1::SessionInfo> info = co_await control.Get(options.session);
  if (!info.ok()) co_return context.Fail(info.status());
  context.Print(render(*info));
  co_return ExitCode::kOk;
}

Asking<ExitCode> OfAll(const Context& context, const Options& options, const Look& look,
                       ControlClient& control) {
  Screen screen(context);
  for (;;) {
    const base::Result<v1::ListReply> reply = co_await control.List();
    if (!reply.ok()) co_return context.Fail(reply.status());
    const std::vector<v1::SessionInfo> sessions = Current(*reply);
    screen.Show(Render(context, sessions, look));
    if (!options.watch || std::all_of(sessions.begin(), sessions.end(), HasEnded)) co_return ExitCode::kOk;
    control.Pause(kPeriodMs * 1'000'000ull);
  }
}

Asking<ExitCode> Ask(const Context& context, const Options& options) {
  const base::Result<Look> look = LookFor(options.shown);
  if (!look.ok()) co_return context.Fail(look.status());
  const base::Result<Connection> connection = Connect(context);
  if (!connection.ok()) co_return context.Fail(connection.status());
  ControlClient& control = *connection->control;
  if (options.session.empty()) co_return co_await OfAll(context, options, *look, control);
  co_return co_await OfSession(context, options, *look, control);
}

Action Define(cli::Arguments arguments) {
  const auto options = std::make_shared<Options>();
  arguments.Text("SESSION", &options->session, "Its id, its name, or last; default those that run");
  arguments.Flag("--watch", &options->watch, "go on until the session ends");
  DefineShown(arguments, &options->shown);
  return {.ask = [options](const Context& context) { return Ask(context, *options); },
          .against_many = [options] { return options->watch ? "--watch: not with --hosts" : ""; }};
}

}  // namespace

namespace verbs {
Verb Status() {
  return {"status", "a session's state, time, end reason; bytes, rate and losses of each kind",
          Reach::kManyNodes, Define};
}
}  // namespace verbs

}  // namespace profd::client
