#include "client/show/render.h"

#include <algorithm>
#include <cstdlib>

#include "client/words/text.h"

namespace profd::client {

const char* StateName(v1::SessionState state) {
  switch (state) {
    case v1::SESSION_STATE_PENDING:
      return "pending";
    case v1::SESSION_STATE_ARMED:
      return "armed";
    case v1::SESSION_STATE_RUNNING:
      return "running";
    case v1::SESSION_STATE_STOPPING:
      return "stopping";
    case v1::SESSION_STATE_SEALED:
      return "sealed";
    case v1::SESSION_STATE_FAILED:
      return "failed";
    default:
      return "unknown";
  }
}

const char* EndReasonName(v1::EndReason reason) {
  switch (reason) {
    case v1::END_REASON_UNSPECIFIED:
      return "";
    case v1::END_REASON_STOPPED:
      return "stopped";
    case v1::END_REASON_DURATION:
      return "duration";
    case v1::END_REASON_TARGET_EXIT:
      return "target_exit";
    case v1::END_REASON_DAEMON_STOP:
      return "daemon_stop";
    case v1::END_REASON_FAILED:
      return "failed";
    case v1::END_REASON_INTERRUPTED:
      return "interrupted";
    case v1::END_REASON_LEASE:
      return "lease";
    case v1::END_REASON_STEPS:
      return "steps";
    case v1::END_REASON_DISK:
      return "disk";
    default:
      return "unknown";
  }
}

const char* EndReasonText(v1::EndReason reason) {
  switch (reason) {
    case v1::END_REASON_STOPPED:
      return "it was stopped";
    case v1::END_REASON_DURATION:
      return "its duration was over";
    case v1::END_REASON_TARGET_EXIT:
      return "its last process ended";
    case v1::END_REASON_DAEMON_STOP:
      return "profd stopped";
    case v1::END_REASON_FAILED:
      return "it failed";
    case v1::END_REASON_INTERRUPTED:
      return "profd was killed or crashed";
    case v1::END_REASON_LEASE:
      return "its lease was over";
    case v1::END_REASON_STEPS:
      return "its last step was over";
    case v1::END_REASON_DISK:
      return "its data could not be stored any more";
    default:
      return "for a reason that this profctl does not know";
  }
}

const char* VerdictName(v1::Verdict verdict) {
  switch (verdict) {
    case v1::VERDICT_STARTED:
      return "started";
    case v1::VERDICT_PENDING:
      return "pending";
    case v1::VERDICT_SKIPPED:
      return "skipped";
    case v1::VERDICT_FAILED:
      return "failed";
    default:
      return "unknown";
  }
}

const char* OutcomeName(v1::Outcome outcome) {
  switch (outcome) {
    case v1::OUTCOME_OK:
      return "ok";
    case v1::OUTCOME_WARN:
      return "warn";
    case v1::OUTCOME_BROKEN:
      return "broken";
    default:
      return "unknown";
  }
}

std::string HealthName(const v1::Device& device) {
  switch (device.status()) {
    case 1:
      return "working";
    case 4:
      return "communication lost";
    default:
      return "status " + std::to_string(device.status());
  }
}

std::string RenderLeases(const std::vector<v1::Lease>& leases, const Look& look) {
  if (leases.empty()) return "no leases\n";
  Table table({"LEASE", "USER", "DEVICES", "?SINCE", "UNTIL", "GIVEN BY"});
  for (const v1::Lease& lease : leases) {
    const std::vector<uint32_t> devices(lease.devices().begin(), lease.devices().end());
    table.Add({OneLine(lease.lease()), OneLine(lease.user()), RangesText(devices),
               FormatWallTime(lease.since_wall_ns()), FormatWallTime(lease.until_wall_ns()),
               OneLine(lease.given_by())});
  }
  return table.Text(look);
}

namespace {

// "device 0", "device 1" … of which the same is said, as "device 0-7".
std::vector<v1::Check> Folded(const std::vector<v1::Check>& checks) {
  std::vector<v1::Check> folded;
  std::vector<std::vector<uint32_t>> numbers;
  const auto word_of = [](const v1::Check& check) {
    const size_t blank = check.name().rfind(' ');
    const bool has_number = blank != std::string::npos && blank + 1 < check.name().size() &&
                            check.name().find_first_not_of("0123456789", blank + 1) == std::string::npos;
    return has_number ? check.name().substr(0, blank) : "";
  };
  for (const v1::Check& check : checks) {
    const std::string word = word_of(check);
    const bool same = !word.empty() && !folded.empty() && !numbers.back().empty() &&
                      word == word_of(folded.back()) && check.outcome() == folded.back().outcome() &&
                      check.detail() == folded.back().detail() && check.remedy() == folded.back().remedy();
    if (!same) {
      folded.push_back(check);
      numbers.emplace_back();
    }
    if (!word.empty())
      numbers.back().push_back(
          static_cast<uint32_t>(std::strtoul(check.name().c_str() + word.size(), nullptr, 10)));
  }
  for (size_t i = 0; i < folded.size(); ++i) {
    if (numbers[i].size() > 1) folded[i].set_name(word_of(folded[i]) + " " + RangesText(numbers[i]));
  }
  return folded;
}

}  // namespace

std::string RenderChecks(const std::vector<v1::Check>& all, const Look& look) {
  const std::vector<v1::Check> checks = look.all ? all : Folded(all);
  size_t width = 0;
  for (const v1::Check& check : checks) width = std::max(width, Width(OneLine(check.name())));
  std::string text;
  for (const v1::Check& check : checks) {
    const std::string name = OneLine(check.name());
    const Colour colour = check.outcome() == v1::OUTCOME_OK     ? Colour::kGood
                          : check.outcome() == v1::OUTCOME_WARN ? Colour::kWarn
                                                                : Colour::kBad;
    std::string outcome = OutcomeName(check.outcome());
    outcome.resize(std::max<size_t>(outcome.size(), 6), ' ');
    // What is to be read stands in a column of its own, where there is room for one.
    const size_t indent = look.columns >= 2 * width + 40 ? 8 + width + 2
                          : look.columns > 0             ? 8
                                                         : 8 + width + 2;
    const std::string blanks(indent, ' ');
    const std::string head = outcome + "  " + name + std::string(width - Width(name), ' ') + "  ";
    const std::string line = Wrapped(head + OneLine(check.detail()), look.columns, indent);
    text += Paint(outcome, colour, look) + line.substr(outcome.size()) + "\n";
    if (!check.remedy().empty())
      text += Wrapped(blanks + "→ " + OneLine(check.remedy()), look.columns, indent + 2) + "\n";
  }
  return text;
}

}  // namespace profd::client
