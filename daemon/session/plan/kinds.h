// The names of kinds and presets in a request.
#pragma once

#include <string>
#include <string_view>

#include "format/kind.h"

namespace profd::session {

// nullptr: none that the host has.
const format::KindTraits* FindHostKind(std::string_view name);
bool IsAgentKind(std::string_view name);
bool IsFromMspti(std::string_view name);

// "unknown kind 'hmb'; did you mean hbm?", or with every name that there is.
std::string UnknownKind(std::string_view name);
std::string UnknownPreset(std::string_view name);

}  // namespace profd::session
