// The names a request may use: host kinds, presets, and what they stand for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace profd::session {

struct HostKind {
  std::string_view name;
  enum class Scope : uint8_t {
    kProcess,  // of the target processes
    kHost,     // of the whole host, targets or not
    kEither,   // of the targets, or of every process where there are none
  } scope = Scope::kHost;
  uint32_t default_hz = 0;
  uint32_t max_hz = 50;      // 0: it has no rate
  bool breakpoints = false;  // it has some set
};
std::span<const HostKind> HostKindTable();
const HostKind* FindHostKind(std::string_view name);

// What processes record of themselves, by their agent: "agent-range" … "agent-memory".
std::span<const std::string_view> AgentKindNames();
bool IsAgentKind(std::string_view name);

// Without those that only who names them gets.
std::vector<std::string_view> UsualDeviceKinds();
// The kinds of a preset; what needs a process is left out without targets. Empty for an unknown name.
std::vector<std::string_view> PresetKinds(std::string_view preset, bool with_targets);

// Kinds whose presence turns on the memory or the link units of soc-profile.
bool IsMemoryKind(std::string_view kind);
bool IsLinkKind(std::string_view kind);

// "unknown kind 'hmb'; did you mean hbm?", or with every name that there is.
std::string UnknownKind(std::string_view name);
std::string UnknownPreset(std::string_view name);

}  // namespace profd::session
