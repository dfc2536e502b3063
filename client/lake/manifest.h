// What was merged: a file that names files of hot/ whose rows stand in files of cold/. It is written last, so
// its inputs are read where it lacks. Readers leave its inputs out.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace profd::lake {

inline constexpr std::string_view kManifests = "catalog/v1/merged/";

struct Manifest {
  std::vector<std::string> inputs, outputs;  // their names below the lake's folder
  uint64_t rows = 0;                         // of the outputs
};

// Of the same inputs always the same: two who merge the same at a time write the same names.
std::string IdOf(const std::vector<std::string>& inputs);
std::string TextOf(const Manifest& manifest);
// kDataLoss: it is none.
base::Result<Manifest> ManifestOf(const std::string& text);

// Adds the inputs that a manifest's file names. An error: it is damaged, and none is added.
base::Status AddMerged(const std::string& path, std::set<std::string>* merged);

}  // namespace profd::lake
