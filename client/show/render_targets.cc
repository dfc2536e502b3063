#include "client/show/render.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

constexpr size_t kMaxCommandBytes = 48;

std::string Devices(const v1::Target& target) {
  return RangesText({target.devices().begin(), target.devices().end()});
}

std::string Command(const v1::Target& target) {
  std::string text;
  for (const std::string& argument : target.command_line()) text += (text.empty() ? "" : " ") + argument;
  if (text.empty()) text = target.executable();
  return Excerpt(text, kMaxCommandBytes);
}

std::string State(const v1::Target& target) {
  if (!target.recording_by().empty()) return "recording";
  if (target.attachable()) return "yes";
  return target.door().empty() ? "no" : "by door";
}

}  // namespace

std::map<std::string, std::string> Sorted(const LabelMap& labels) { return {labels.begin(), labels.end()}; }

std::string LabelsText(const LabelMap& labels) {
  std::string text;
  for (const auto& [name, value] : Sorted(labels))
    text += (text.empty() ? "" : " ") + OneLine(name + "=" + value);
  return text;
}

Table TargetTable(const v1::TargetsReply& reply) {
  Table table({">PID", "?>INSIDE", "?>PARENT", "USER", "DEVICES", "?LABELS", "?AGENT", "?DOOR", "ATTACHABLE",
               "RECORDED BY", "?REGISTERED", "COMMAND", "~REASON"});
  for (const v1::Target& target : reply.targets()) {
    const auto number = [](int32_t value, bool counts = true) {
      return counts ? Table::Cell(std::to_string(value), -value) : Table::Cell(std::string());
    };
    table.Add({number(target.pid()),
               number(target.container_pid(), target.container_pid() != target.pid()),
               number(target.parent_pid(), target.forked()),
               OneLine(target.user()),
               Devices(target),
               LabelsText(target.labels()),
               OneLine(target.agent_version()),
               OneLine(target.door()),
               {State(target), target.attachable()             ? Colour::kGood
                               : target.recording_by().empty() ? Colour::kDim
                                                               : Colour::kWarn},
               OneLine(target.recording_by()),
               target.registered_wall_ns() == 0 ? "" : FormatWallTime(target.registered_wall_ns()),
               Command(target),
               OneLine(target.reason())});
  }
  return table;
}

std::string RenderTargets(const v1::TargetsReply& reply, const Table& table, const Look& look) {
  if (reply.targets_size() == 0) {
    return Wrapped("no processes: start one with `profctl run -- COMMAND` or LD_PRELOAD=…/libprofd_agent.so",
                   look.columns) +
           "\n";
  }
  if (reply.targets_size() == 1) return table.Text(look);
  std::map<std::string, size_t> states;
  for (const v1::Target& target : reply.targets()) ++states[State(target)];
  std::string line =
      std::to_string(reply.targets_size()) + " processes: " + std::to_string(states["yes"]) + " attachable";
  if (states["recording"] > 0) line += ", " + std::to_string(states["recording"]) + " recorded";
  if (states["by door"] > 0) line += ", " + std::to_string(states["by door"]) + " by a door of their own";
  if (states["no"] > 0) line += ", " + std::to_string(states["no"]) + " not attachable";
  return line + "\n" + table.Text(look);
}

}  // namespace profd::client
