#include "daemon/session/plan/kinds.h"

#include <algorithm>
#include <vector>

#include "base/edit_distance.h"
#include "base/text.h"
#include "format/mspti.h"
#include "format/preset.h"

namespace profd::session {

using agent::Reported;
using format::Kind;
using format::KindTraits;
using format::Scope;

namespace {

// What an agent calls its being the receiver of CANN's reports.
constexpr char kReports[] = "reports";

std::string Unknown(std::string_view what, std::string_view name,
                    const std::vector<std::string_view>& known) {
  std::string message = "unknown " + std::string(what) + " '" + base::Excerpt(name) + "'; ";
  if (const std::string_view nearest = base::Nearest(name, known); !nearest.empty())
    return message + "did you mean " + std::string(nearest) + "?";
  std::string all;
  for (const std::string_view candidate : known) all += (all.empty() ? "" : " ") + std::string(candidate);
  return message + "there are: " + all;
}

}  // namespace

bool IsFromMspti(Kind kind) {
  return kind == Kind::kAgentKernel || kind == Kind::kAgentComm || kind == Kind::kAgentApi ||
         kind == Kind::kAgentMemory;
}

bool IsWithoutMspti(const std::vector<driver::DeviceFacts>& devices) {
  return !devices.empty() && std::ranges::none_of(devices, [](const driver::DeviceFacts& device) {
    return format::kKnownToMspti.Has(device.chip);
  });
}

bool CanBeReported(Kind kind) {
  return kind == Kind::kAgentKernel || kind == Kind::kAgentComm || kind == Kind::kAgentMemory;
}

base::Result<Reported> ReportedOf(Kind kind, std::string_view mode) {
  const auto wrong = [&](std::string_view known) {
    const std::string name(NameOf(kind));
    return base::Status(base::Code::kInvalidArgument,
                        name + ":" + std::string(mode) + ": " + name + " knows the " + std::string(known));
  };
  if (kind == Kind::kAgentKernel) {
    constexpr std::string_view kModes[] = {"", "tasks", "operators", "attributes"};
    const auto at = std::ranges::find(kModes, mode);
    if (at != std::end(kModes)) return static_cast<Reported>(at - std::begin(kModes));
    return wrong("modes tasks, operators and attributes");
  }
  if (mode.empty() || !CanBeReported(kind)) return Reported::kNothing;
  if (kind == Kind::kAgentMemory) {
    if (mode == "operators") return Reported::kTasks;
    return wrong("mode operators");
  }
  if (mode == "parts") return Reported::kOperators;
  return wrong("mode parts");
}

const agent::Capability* FindReports(const std::vector<agent::Capability>& said) {
  const auto found = std::ranges::find(said, kReports, &agent::Capability::kind);
  return found == said.end() ? nullptr : &*found;
}

std::vector<agent::Capability> CapabilitiesOf(const std::vector<agent::Capability>& said, bool by_reports) {
  std::vector<agent::Capability> capabilities;
  const agent::Capability* const reports = FindReports(said);
  for (const agent::Capability& one : said) {
    if (one.kind == kReports) continue;
    agent::Capability& capability = capabilities.emplace_back(one);
    const auto kind = format::FindKind(one.kind);
    if (!by_reports || !kind || !IsFromMspti(*kind)) continue;
    if (reports == nullptr) {
      capability = {one.kind, false,
                    "MSPTI does not support this node's chips, and this agent is older than what stands for "
                    "it: start the process again with this release's",
                    false};
    } else {
      capability = {one.kind, reports->available, reports->reason, reports->later};
    }
  }
  return capabilities;
}

base::Result<Kind> ReadKind(std::string_view name) {
  const auto kind = format::FindKind(name);
  if (kind && TraitsOf(*kind).scope != Scope::kFound) return *kind;
  std::vector<std::string_view> known;
  for (const KindTraits& traits : format::kKinds) {
    if (traits.scope != Scope::kFound) known.push_back(traits.name);
  }
  return base::Status(base::Code::kInvalidArgument, Unknown("kind", name, known));
}

std::string NotInMemory(std::string_view option, std::string_view name) {
  return std::string(option) + ": " + base::Excerpt(name) + " is not one of the kinds that are collected";
}

std::string UnknownPreset(std::string_view name) {
  std::vector<std::string_view> known;
  for (const format::Preset& preset : format::Presets()) known.push_back(preset.name);
  return Unknown("preset", name, known);
}

}  // namespace profd::session
