// What a session or a directory says disturbed its figures.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <string>

#include "format/directory/manifest.h"
#include "profd/v1/session.pb.h"

namespace profd::client {

using PerturbationList = google::protobuf::RepeatedPtrField<v1::Perturbation>;

PerturbationList PerturbationsOf(const format::Manifest& manifest);
// "perturbed: cpu-throttling: cgroup /a … (from +12 s to +45 s)", a line each; of many the first ten.
std::string RenderPerturbations(const PerturbationList& perturbations);

using PauseList = google::protobuf::RepeatedPtrField<v1::Pause>;

PauseList PausesOf(const format::Manifest& manifest);
// "paused from +12 s to +45 s: asked for", a line each.
std::string RenderPauses(const PauseList& pauses);

}  // namespace profd::client
