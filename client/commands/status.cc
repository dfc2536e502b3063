#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "client/commands/commands.h"
#include "client/json.h"
#include "client/render.h"

namespace profd::client {

namespace {

constexpr uint32_t kPeriodMs = 1000;

// Replaces on a terminal what it printed before; elsewhere one text follows the other.
class Screen {
 public:
  void Show(const std::string& text) {
    if (is_terminal_ && lines_ > 0) std::printf("\033[%zdA\033[J", static_cast<ssize_t>(lines_));
    Print(text);
    std::fflush(stdout);
    lines_ = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }

 private:
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

std::string Render(const Common& common, const std::vector<v1::SessionInfo>& sessions) {
  if (common.json) return SessionsJson(sessions);
  if (sessions.empty()) return "no sessions\n";
  std::string text;
  for (const v1::SessionInfo& info : sessions) {
    text += (text.empty() ? "" : "\n") + RenderSession(info, true, ColouredOutput());
  }
  return text;
}

ExitCode OfSession(const Common& common, const StatusOptions& options, ControlClient& control) {
  const auto render = [&common](const v1::SessionInfo& info) {
    return common.json ? SessionJson(info) : RenderSession(info, true, ColouredOutput());
  };
  if (options.watch) {
    Screen screen;
    const base::Result<v1::SessionInfo> last = control.Watch(
        options.session, kPeriodMs, [&](const v1::SessionInfo& info) { screen.Show(render(info)); });
    return last.ok() ? ExitCode::kOk : Fail(last.status());
  }
  const base::Result<v1::SessionInfo> info = control.Get(options.session);
  if (!info.ok()) return Fail(info.status());
  Print(render(*info));
  return ExitCode::kOk;
}

ExitCode OfAll(const Common& common, const StatusOptions& options, ControlClient& control) {
  Screen screen;
  for (;;) {
    const base::Result<v1::ListReply> reply = control.List();
    if (!reply.ok()) return Fail(reply.status());
    const std::vector<v1::SessionInfo> sessions = Current(*reply);
    screen.Show(Render(common, sessions));
    if (!options.watch || std::all_of(sessions.begin(), sessions.end(), HasEnded)) return ExitCode::kOk;
    std::this_thread::sleep_for(std::chrono::milliseconds(kPeriodMs));
  }
}

}  // namespace

ExitCode RunStatus(const Common& common, const StatusOptions& options) {
  base::Result<Connection> connection = Connect(common);
  if (!connection.ok()) return Fail(connection.status());
  ControlClient& control = *connection->control;
  return options.session.empty() ? OfAll(common, options, control) : OfSession(common, options, control);
}

}  // namespace profd::client
