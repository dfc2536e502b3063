// The names of kinds and presets in a request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "daemon/agent/peer.h"
#include "daemon/driver/driver.h"
#include "format/kind.h"

namespace profd::session {

constexpr bool IsAgentKind(format::Kind kind) { return TraitsOf(kind).scope == format::Scope::kAgent; }
bool IsFromMspti(format::Kind kind);
// MSPTI knows none of these chips: kinds that are its elsewhere come from what CANN's modules report.
bool IsWithoutMspti(const std::vector<driver::DeviceFacts>& devices);
// … but for this one, which they do not report: agent-memory.
inline constexpr char kNotReported[] =
    "MSPTI does not support this node's chips, and CANN reports it to nobody else";
// What an agent says it can record, by kinds as they are on this node.
std::vector<agent::Capability> CapabilitiesOn(const std::vector<driver::DeviceFacts>& devices,
                                              const std::vector<agent::Capability>& said);

// A kind that can be asked for. Of another name: "unknown kind 'hmb'; did you mean hbm?", or every name that
// there is.
base::Result<format::Kind> ReadKind(std::string_view name);
// Of a flight recorder that is to keep what it does not collect.
std::string NotInMemory(std::string_view option, std::string_view name);
std::string UnknownPreset(std::string_view name);

}  // namespace profd::session
