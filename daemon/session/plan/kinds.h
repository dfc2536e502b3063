// The names of kinds and presets in a request.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "format/kind.h"

namespace profd::session {

constexpr bool IsAgentKind(format::Kind kind) { return TraitsOf(kind).scope == format::Scope::kAgent; }
bool IsFromMspti(format::Kind kind);

// A kind that can be asked for. Of another name: "unknown kind 'hmb'; did you mean hbm?", or every name that
// there is.
base::Result<format::Kind> ReadKind(std::string_view name);
// Of a flight recorder that is to keep what it does not collect.
std::string NotInMemory(std::string_view option, std::string_view name);
std::string UnknownPreset(std::string_view name);

}  // namespace profd::session
