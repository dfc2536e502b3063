// What a scout and its post say to each other. A scout has read foreign memory: profd believes nothing of
// what it says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "daemon/host/scouts/scout.h"

namespace profd::host {

// To the scout.
struct ScoutCall {
  enum class What : uint8_t { kBegin, kTakeIn, kEnd } what = What::kEnd;
  ScoutOrder order;               // kBegin
  std::vector<NamedPid> members;  // kBegin, kTakeIn

  std::string Text() const;
  static std::optional<ScoutCall> Of(std::string_view text);
};

// From it: first of all what came of its beginning, then at least one a second.
struct ScoutReport {
  base::Code code = base::Code::kOk;  // of the beginning
  std::string message;                // of an error, or Scout::note()
  bool hangs = false;                 // as Scout::hangs()
  bool last = false;
  ScoutLines lines;

  std::string Text() const;
  static std::optional<ScoutReport> Of(std::string_view text);
};

}  // namespace profd::host
