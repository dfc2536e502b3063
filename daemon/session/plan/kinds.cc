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

const KindTraits* FindHostKind(std::string_view name) {
  const auto kind = format::FindKind(name);
  return kind && format::IsOfHost(TraitsOf(*kind).scope) ? &TraitsOf(*kind) : nullptr;
}

bool IsAgentKind(std::string_view name) {
  const auto kind = format::FindKind(name);
  return kind && TraitsOf(*kind).scope == Scope::kAgent;
}

bool IsFromMspti(std::string_view name) {
  const auto kind = format::FindKind(name);
  return kind == Kind::kAgentKernel || kind == Kind::kAgentComm || kind == Kind::kAgentApi ||
         kind == Kind::kAgentMemory;
}

std::string UnknownKind(std::string_view name) {
  std::vector<std::string_view> known;
  for (const KindTraits& traits : format::kKinds) {
    if (traits.scope != Scope::kFound) known.push_back(traits.name);
  }
  return Unknown("kind", name, known);
}

std::string UnknownPreset(std::string_view name) {
  std::vector<std::string_view> known;
  for (const format::Preset& preset : format::Presets()) known.push_back(preset.name);
  return Unknown("preset", name, known);
}

}  // namespace profd::session
