// Presets of one's own: `user-preset = ["net=roce,nic,hccs=50Hz"]` in profctl.conf, or --user-preset.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "profd/v1/session.pb.h"

namespace profd::client {

// As given, "NAME=KINDS" each. **Thread:** set while the command line is read, then only looked at.
std::vector<std::string>& UserPresets();

// Their names; an error says which is wrong.
base::Result<std::vector<std::string>> UserPresetNames();

// What one of them stands for; none: there is no such preset of one's own.
base::Result<std::vector<v1::KindRequest>> KindsOfUserPreset(std::string_view name);

// In the place of a preset of one's own the kinds that it stands for; others stay as they are.
base::Status ExpandPreset(v1::SessionSpec* spec);

}  // namespace profd::client
