#include "client/export/read/missing.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "format/directory/silent.h"

namespace profd::client {

namespace {

// Of all units of one kind.
struct Asked {
  std::string reason;
  bool came_never = false;  // a device was waited for that would have offered it
  bool had_rate = false, started = false, any = false;
  bool was_tried = false;  // where the reason is from
};

// Its records lie in a file that another kind of that unit is stored as, too.
bool IsInAnothersFile(const format::Manifest& manifest, const format::ManifestKind& kind) {
  const auto known = format::FindKind(kind.kind);
  if (!known) return false;
  const auto& files = format::TraitsOf(*known).files;
  return std::ranges::any_of(manifest.streams, [&](const format::ManifestStream& stream) {
    if (stream.unit != kind.unit || stream.kind == kind.kind || stream.records == 0) return false;
    const std::string_view name = stream.file;  // "ffts_profile.data.0": with its device
    return std::ranges::any_of(files, [name](std::string_view file) {
      return !file.empty() && name.starts_with(file) &&
             (name.size() == file.size() || name[file.size()] == '.');
    });
  });
}

// "hbm=100Hz,llc:write": the names.
std::vector<std::string> NamesOf(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::string_view entry = list.substr(0, list.find(','));
    names.emplace_back(entry.substr(0, entry.find_first_of("=:")));
    list.remove_prefix(std::min(entry.size() + 1, list.size()));
  }
  return names;
}

}  // namespace

std::vector<std::string> SilentKinds(const format::Manifest& manifest) {
  std::vector<std::string> lines;
  for (const format::ManifestKind& kind : manifest.kinds) {
    if (kind.reason.find(format::kFellSilent) != kind.reason.npos)
      lines.push_back("kind " + kind.kind + ": " + kind.reason);
  }
  return lines;
}

void ReportMissingKinds(const Capture& capture, const Wanted& wanted, Report& report) {
  if (!capture.manifest) return;
  if (wanted.Kind(std::string(kKernels))) {
    for (const std::string& line : SilentKinds(*capture.manifest)) report.Note(line);
  }
  if (capture.manifest->state != "sealed") return;
  const auto named = capture.manifest->settings.find("collect");
  if (named == capture.manifest->settings.end()) return;
  std::map<std::string, Asked> asked;
  for (const std::string& name : NamesOf(named->second)) asked[name];
  std::set<std::pair<std::string, std::string>> with_stream;
  for (const format::ManifestStream& stream : capture.manifest->streams)
    with_stream.insert({stream.kind, stream.unit});
  for (const format::ManifestKind& kind : capture.manifest->kinds) {
    const auto found = asked.find(kind.kind);
    if (found == asked.end()) continue;
    Asked& of = found->second;
    // Where it has no stream its records are in another kind's.
    const bool is_elsewhere = kind.verdict == "started" && !with_stream.contains({kind.kind, kind.unit});
    of.any = of.any || kind.records > 0 || is_elsewhere || IsInAnothersFile(*capture.manifest, kind);
    of.started = of.started || kind.verdict == "started";
    of.came_never = of.came_never || kind.verdict == "pending";
    of.had_rate = of.had_rate || (kind.verdict == "started" && kind.effective_hz > 0);
    // What was tried says more than that some device has no such kind.
    const bool was_tried = kind.verdict != "skipped";
    if (!kind.reason.empty() && (of.reason.empty() || (was_tried && !of.was_tried))) {
      of.reason = kind.reason;
      of.was_tried = was_tried;
    }
  }
  const bool has_kernels = std::ranges::any_of(capture.manifest->kinds, [](const format::ManifestKind& kind) {
    return kind.kind == kKernels && kind.records > 0;
  });
  for (const auto& [name, of] : asked) {
    if (name == kTasks && has_kernels) continue;
    // What was started and has no rate comes when something happens, and nothing did.
    if (of.any || (of.started && !of.had_rate) || !wanted.Kind(name)) continue;
    // Its channel is there only while a process runs on the AI CPUs.
    if (name == kAiCpu && of.came_never) {
      report.Note("kind aicpu: nothing ran on the AI CPUs, so it has no records");
      continue;
    }
    const std::string why = of.reason.empty() ? "" : ": " + of.reason;
    report.Skip({"", 0, 0, 0, "kind " + name + ": was requested, but has no data" + why});
  }
}

}  // namespace profd::client
