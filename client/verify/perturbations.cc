#include "client/verify/perturbations.h"

#include <algorithm>
#include <vector>

#include "client/words/alike.h"
#include "client/words/text.h"

namespace profd::client {

PerturbationList PerturbationsOf(const format::Manifest& manifest) {
  PerturbationList list;
  for (const format::ManifestPerturbation& found : manifest.perturbations) {
    v1::Perturbation* added = list.Add();
    added->set_kind(OneLine(found.kind));
    added->set_text(OneLine(found.text));
    added->set_from_ns(SinceBegin(manifest, found.from_ns));
    added->set_to_ns(found.to_ns == 0 ? 0 : SinceBegin(manifest, found.to_ns));
  }
  return list;
}

std::string RenderPerturbations(const PerturbationList& perturbations) {
  // What is said again and again is said once, from its first time to its last.
  struct Said {
    std::string what;
    uint64_t from_ns, to_ns;  // to_ns 0: it goes on
    size_t times;
  };
  std::vector<Said> all;
  for (const v1::Perturbation& found : perturbations) {
    const std::string what = found.kind() + ": " + found.text();
    const auto same =
        std::ranges::find_if(all, [&what](const Said& said) { return Merged(said.what, what).has_value(); });
    if (same == all.end()) {
      all.push_back({what, found.from_ns(), found.to_ns(), 1});
      continue;
    }
    same->from_ns = std::min(same->from_ns, found.from_ns());
    same->to_ns = same->to_ns == 0 || found.to_ns() == 0 ? 0 : std::max(same->to_ns, found.to_ns());
    same->what = *Merged(same->what, what);
    ++same->times;
  }
  constexpr size_t kMostLines = 10;
  std::string text;
  for (size_t i = 0; i < std::min(all.size(), kMostLines); ++i) {
    const Said& said = all[i];
    std::string when = "from +" + FormatDuration(said.from_ns);
    if (said.to_ns != 0) when += " to +" + FormatDuration(said.to_ns);
    if (said.times > 1) when = std::to_string(said.times) + " times, " + when;
    text += OneLine("perturbed: " + said.what + " (" + when + ")") + "\n";
  }
  if (all.size() > kMostLines)
    text += "perturbed: and " + std::to_string(all.size() - kMostLines) + " more, shown with --json\n";
  return text;
}

PauseList PausesOf(const format::Manifest& manifest) {
  PauseList list;
  for (const format::ManifestPause& pause : manifest.pauses) {
    v1::Pause* added = list.Add();
    added->set_from_ns(SinceBegin(manifest, pause.from_ns));
    added->set_to_ns(pause.to_ns == 0 ? 0 : SinceBegin(manifest, pause.to_ns));
    added->set_reason(OneLine(pause.reason));
  }
  return list;
}

std::string RenderPauses(const PauseList& pauses) {
  std::string text;
  for (const v1::Pause& pause : pauses) {
    std::string line = "paused from +" + FormatDuration(pause.from_ns());
    if (pause.to_ns() != 0) line += " to +" + FormatDuration(pause.to_ns());
    text += OneLine(line + ": " + pause.reason()) + "\n";
  }
  return text;
}

}  // namespace profd::client
