#include "client/verify/perturbations.h"

#include <algorithm>

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
  constexpr int kMostLines = 10;
  const int lines = std::min(perturbations.size(), kMostLines);
  std::string text;
  for (int i = 0; i < lines; ++i) {
    const v1::Perturbation& found = perturbations[i];
    std::string when = "from +" + FormatDuration(found.from_ns());
    if (found.to_ns() != 0) when += " to +" + FormatDuration(found.to_ns());
    const std::string line = "perturbed: " + found.kind() + ": " + found.text() + " (" + when + ")";
    text += OneLine(line) + "\n";
  }
  if (perturbations.size() > lines) {
    text += "perturbed: and " + std::to_string(perturbations.size() - lines) + " more, shown with --json\n";
  }
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
