#include "daemon/session/plan/kinds.h"

#include <vector>

#include "base/edit_distance.h"
#include "base/text.h"
#include "format/preset.h"

namespace profd::session {

using format::Kind;
using format::KindTraits;
using format::Scope;

namespace {

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
