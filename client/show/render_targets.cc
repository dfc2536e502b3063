#include "base/join.h"
#include "client/show/render.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

constexpr size_t kMaxCommandBytes = 48;

std::string Labels(const v1::Target& target) {
  // Sorted: a protobuf map has no order.
  std::string text;
  for (const auto& [key, value] : SortedLabels(target))
    text += (text.empty() ? "" : " ") + OneLine(key + "=" + value);
  return text;
}

std::string Devices(const v1::Target& target) { return base::Joined(target.devices(), ","); }

std::string Command(const v1::Target& target) {
  std::string text;
  for (const std::string& argument : target.command_line()) text += (text.empty() ? "" : " ") + argument;
  if (text.empty()) text = target.executable();
  return Excerpt(text, kMaxCommandBytes);
}

std::string State(const v1::Target& target) {
  if (!target.recording_by().empty()) return "recording";
  return target.attachable() ? "yes" : "no";
}

}  // namespace

std::map<std::string, std::string> SortedLabels(const v1::Target& target) {
  return {target.labels().begin(), target.labels().end()};
}

std::string RenderTargets(const v1::TargetsReply& reply, bool coloured) {
  if (reply.targets_size() == 0) {
    return "no processes: start one with `profctl run -- COMMAND` or LD_PRELOAD=…/libprofd_agent.so\n";
  }
  Table table({">PID", ">INSIDE", ">PARENT", "USER", "DEVICES", "LABELS", "AGENT", "ATTACHABLE",
               "RECORDED BY", "REGISTERED", "COMMAND", "REASON"});
  for (const v1::Target& target : reply.targets()) {
    table.Add({std::to_string(target.pid()),
               target.container_pid() != target.pid() ? std::to_string(target.container_pid()) : "",
               target.forked() ? std::to_string(target.parent_pid()) : "",
               OneLine(target.user()),
               Devices(target),
               Labels(target),
               OneLine(target.agent_version()),
               {State(target), target.attachable()             ? Colour::kGood
                               : target.recording_by().empty() ? Colour::kDim
                                                               : Colour::kWarn},
               OneLine(target.recording_by()),
               target.registered_wall_ns() == 0 ? "" : FormatWallTime(target.registered_wall_ns()),
               Command(target),
               OneLine(target.reason())});
  }
  return table.Text(coloured);
}

}  // namespace profd::client
