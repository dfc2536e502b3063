#include "daemon/session/plan/windows.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "format/kind.h"

namespace profd::session {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr uint64_t kMs = 1'000'000, kSecond = 1'000'000'000;
// kineto's own default is 5 s, before anything is recorded.
constexpr uint64_t kWarmUpS = 1;
constexpr uint64_t kUsualPeriodNs = 5 * kSecond;

Status Cannot(const char* option, pid_t pid, const std::string& instead) {
  return {Code::kInvalidArgument,
          std::string(option) + ": pid " + std::to_string(pid) +
              " has no agent, and the dynolog fabric, which it polls, cannot do that: " + instead};
}

std::string Seconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", seconds);
  return text;
}

std::string Amount(const fabric::Window& window) {
  if (window.steps == 0) return Seconds(static_cast<double>(window.duration_ms) / 1000);
  std::string text = std::to_string(window.steps) + (window.steps == 1 ? " step" : " steps");
  if (window.first_step) text += " from step " + std::to_string(*window.first_step) + " on";
  return text;
}

}  // namespace

bool WantsWindows(const SessionSpec& spec) {
  if (spec.steps.active > 0) return true;
  return spec.duration_ns > 0 && spec.kinds.empty() && spec.preset.empty() && !spec.flight_recorder &&
         !spec.resume;
}

std::optional<fabric::Client> PollsFor(std::span<const fabric::Client> clients, pid_t pid, uid_t owner,
                                       const std::function<pid_t(pid_t)>& parent_of) {
  std::optional<fabric::Client> own;
  for (const fabric::Client& client : clients) {
    if (client.sender.uid != owner) continue;
    const bool monitors = client.family == fabric::Family::kMonitor;
    const bool is_own = client.sender.pid == pid;
    // Of a job on NPUs that has both msMonitor's client is the one: kineto has nothing to record there.
    if (monitors && (is_own || parent_of(client.sender.pid) == pid)) return client;
    if (is_own) own = client;
  }
  return own;
}

Result<WindowStart> PlanWindow(const SessionSpec& spec, pid_t pid, const fabric::Client& client) {
  const agent::StepSchedule& steps = spec.steps;
  if (steps.skip_first > 0 || steps.wait > 0)
    return Cannot("--steps skip_first, wait", pid, "give --step N for the first step");
  const bool monitors = client.family == fabric::Family::kMonitor;
  if (steps.round_up > 1 && monitors)
    return Cannot("--steps round_up", pid, "give --step N, which all ranks are told");
  if (client.never_sleeps() && spec.framework_options.contains("rank-list"))
    return Cannot("--framework-options rank-list", pid,
                  "MindSpore does not know it; choose ranks by --pid or --label");
  if (steps.repeat > 1) return Cannot("--steps repeat", pid, "start one session after the other");
  if (!spec.agent_domains.names.empty()) return Cannot("--agent-domains", pid, "leave it out");
  if (spec.resume) return Cannot("--resume", pid, "leave it out");
  if (steps.active > 0 && steps.from_step == 0 && monitors && client.never_sleeps()) {
    return Status(
        Code::kInvalidArgument,
        "pid " + std::to_string(pid) + ": MindSpore never begins at its next step: name one with --step N");
  }
  if (!client.order_of.empty()) {
    return Status(Code::kAborted, "pid " + std::to_string(pid) + " is recorded by " + client.order_of +
                                      " through the dynolog fabric already; stop that first");
  }
  WindowStart start{pid, client, {}};
  fabric::Window& window = start.window;
  window.path = "/tmp/profd";
  window.steps = steps.active;
  window.warmup_steps = steps.warmup;
  if (steps.from_step > 0) window.first_step = steps.from_step;
  window.round_up = std::max<uint64_t>(1, steps.round_up);
  window.options = spec.framework_options;
  if (steps.active == 0) window.duration_ms = std::max<uint64_t>(1, spec.duration_ns / kMs);
  window.warmup_s = kWarmUpS;
  PROFD_RETURN_IF_ERROR(CheckWindow(client.family, window));
  return start;
}

Window ShownWindow(const WindowStart& start) {
  const fabric::Client& client = start.client;
  Window shown;
  shown.pid = start.pid;
  shown.door = "dynolog";
  shown.client = FamilyName(client.family);
  const uint64_t period_ns = client.period_ns == 0 ? kUsualPeriodNs : client.period_ns;
  const uint64_t tenths = (period_ns + 100 * kMs - 1) / (100 * kMs);
  const double period_s = static_cast<double>(tenths) / 10;
  shown.text = shown.client + " is told at its next poll, within " + Seconds(period_s) + ", to record " +
               Amount(start.window);
  if (client.busy) shown.text += "; its profiler is busy now, and is told when it is not";
  return shown;
}

}  // namespace profd::session
