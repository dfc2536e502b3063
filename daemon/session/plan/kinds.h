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
// What an agent says it can record: with kinds of MSPTI from MSPTI or, with `by_reports`, from what CANN's
// modules report.
std::vector<agent::Capability> CapabilitiesOf(const std::vector<agent::Capability>& said, bool by_reports);
// Whether a mode of the kind asks for what CANN's modules report.
bool CanBeReported(format::Kind kind);
// What such a mode asks for ("attributes" of agent-kernel, "parts" of agent-comm, "operators" of
// agent-memory, which needs no more than tasks); kInvalidArgument where the kind has none of that name. Of
// other kinds nothing.
base::Result<agent::Reported> ReportedOf(format::Kind kind, std::string_view mode);
// What an agent says of those reports; nullptr: it is older than they are.
const agent::Capability* FindReports(const std::vector<agent::Capability>& said);

// A kind that can be asked for. Of another name: "unknown kind 'hmb'; did you mean hbm?", or every name that
// there is.
base::Result<format::Kind> ReadKind(std::string_view name);
// Of a flight recorder that is to keep what it does not collect.
std::string NotInMemory(std::string_view option, std::string_view name);
std::string UnknownPreset(std::string_view name);

}  // namespace profd::session
