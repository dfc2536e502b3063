#include "client/show/kinds/kind_tables.h"

#include <string_view>

#include "format/preset.h"

namespace profd::client {

using format::KindTraits;
using format::Scope;

namespace {

std::string_view ScopeText(Scope scope) {
  switch (scope) {
    case Scope::kDevice:
      return "device";
    case Scope::kProcess:
      return "process";
    case Scope::kHost:
      return "host";
    case Scope::kEither:
      return "process, or all of the host";
    case Scope::kAgent:
      return "agent";
    case Scope::kFound:
      break;
  }
  return "export only";
}

std::string RateText(const KindTraits& kind) {
  if (kind.scope == Scope::kDevice) return "by chip";
  if (kind.habits.max_hz == 0) return "–";
  return std::to_string(kind.habits.usual_hz) + ", at most " + std::to_string(kind.habits.max_hz);
}

std::string Names(const format::KindList& kinds) {
  std::string names;
  for (const format::Kind kind : kinds) names += (names.empty() ? "`" : " ") + std::string(NameOf(kind));
  return names + "`";
}

}  // namespace

std::string KindTables() {
  std::string text = "| kind | of | what | Hz | by name only |\n|--|--|--|--|--|\n";
  for (const KindTraits& kind : format::kKinds) {
    text += "| `" + std::string(kind.name) + "` | " + std::string(ScopeText(kind.scope)) + " | " +
            std::string(kind.about) + " | " + RateText(kind) + " | " + (kind.habits.by_name ? "yes" : "") +
            " |\n";
  }
  text += "\n| preset | what | with `--pid` | without |\n|--|--|--|--|\n";
  for (const format::Preset& preset : format::Presets()) {
    text += "| `" + std::string(preset.name) + "` | " + std::string(preset.about) + " | " +
            Names(preset.of_targets) + " | " +
            (preset.of_node == preset.of_targets ? "the same" : Names(preset.of_node)) + " |\n";
  }
  return text;
}

}  // namespace profd::client
