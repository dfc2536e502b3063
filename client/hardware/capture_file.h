// The raw evidence of a node in one file, docs/formats.md#captures: a tar of an index, the driver's calls as
// JSON lines, the bytes of each channel, texts of the machine.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/hardware/evidence.h"
#include "client/hardware/node_facts.h"

namespace profd::client {

inline constexpr uint64_t kMostCaptureBytes = 50'000'000;

struct CaptureMember {
  std::string name, what;  // what it is, for people
  std::string bytes;
};

// The index comes first. Names are out of it.
std::vector<CaptureMember> MakeCapture(const NodeEvidence& evidence,
                                       const std::map<std::string, std::string>& facts, Scrubber* scrubber);
uint64_t SizeOf(const std::vector<CaptureMember>& members);
// Not over a file that is there.
base::Status WriteCapture(const std::string& path, const std::vector<CaptureMember>& members);

}  // namespace profd::client
