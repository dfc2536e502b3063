#include "client/verbs/user_presets.h"

#include <algorithm>

#include "client/words/args.h"
#include "client/words/text.h"
#include "format/preset.h"

namespace profd::client {

using base::Code;
using base::Result;
using base::Status;

std::vector<std::string>& UserPresets() {
  static std::vector<std::string> presets;
  return presets;
}

Result<std::vector<std::string>> UserPresetNames() {
  constexpr char kLetters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  std::vector<std::string> names;
  for (const std::string& preset : UserPresets()) {
    const auto wrong = [&preset](const std::string& what) {
      return Status(Code::kInvalidArgument, "user-preset '" + Excerpt(preset) + "': " + what);
    };
    const size_t equals = preset.find('=');
    const std::string name = preset.substr(0, equals);
    if (equals == preset.npos || name.empty() || name.find_first_not_of(kLetters) != name.npos)
      return wrong("expected NAME=KINDS, as net=roce,nic,hccs=50Hz");
    if (format::FindPreset(name) != nullptr)
      return wrong(name + " is a preset of profd's; give another name");
    if (std::ranges::count(names, name) > 0) return wrong(name + " is there twice");
    if (const auto kinds = ParseCollect(preset.substr(equals + 1)); !kinds.ok())
      return wrong(kinds.status().message());
    names.push_back(name);
  }
  return names;
}

Result<std::vector<v1::KindRequest>> KindsOfUserPreset(std::string_view name) {
  PROFD_ASSIGN_OR_RETURN(const std::vector<std::string> names, UserPresetNames());
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::vector<v1::KindRequest>();
  return ParseCollect(UserPresets()[static_cast<size_t>(found - names.begin())].substr(found->size() + 1));
}

Status ExpandPreset(v1::SessionSpec* spec) {
  if (spec->preset().empty()) return {};
  PROFD_ASSIGN_OR_RETURN(const std::vector<v1::KindRequest> kinds, KindsOfUserPreset(spec->preset()));
  if (kinds.empty()) return {};
  spec->clear_preset();
  for (const v1::KindRequest& kind : kinds) {
    // What --collect says of a kind counts.
    const auto is_it = [&kind](const v1::KindRequest& other) { return other.kind() == kind.kind(); };
    if (std::ranges::none_of(spec->kinds(), is_it)) *spec->add_kinds() = kind;
  }
  return {};
}

}  // namespace profd::client
