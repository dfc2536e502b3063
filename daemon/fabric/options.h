// What a client's own profiler can be asked for beside time and steps, in the words of msMonitor's `dyno
// nputrace` (Ascend/msmonitor, dynolog_npu/cli/src/main.rs).
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace profd::fabric {

enum class Family : uint8_t {
  kKineto,   // PyTorch's profiler, on any device
  kMonitor,  // msMonitor's: torch_npu and MindSpore
};
const char* FamilyName(Family family);  // "kineto", "msmonitor"

// "with-stack" → "true", "host-sys" → "cpu,mem". What is not named is as usual.
using Options = std::map<std::string, std::string, std::less<>>;

// Options in the order in which a family's text has them. An empty value: the text does without it.
struct Setting {
  const char* key = nullptr;  // "PROFILE_WITH_STACK"
  std::string value;
};
std::vector<Setting> SettingsOf(Family family, const Options& options);

// As people write them: a list is "cpu+mem"; a switch alone is on. Fails, naming it, at a word that nobody
// knows or that has no such value.
base::Result<Options> ParseOptions(const std::map<std::string, std::string>& untrusted);
// That this family has each of them.
base::Status CheckOptions(Family family, const Options& options);

}  // namespace profd::fabric
