// What recordings give a lake on a folder: for each table a file of its own, of whose name the reader takes
// the node. The names are those of a fleet's lake (docs/lake.md).
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/lake/engine.h"

namespace profd::lake {

struct Shipment {
  std::string table;
  std::string rows;    // "(SELECT …)": those of one recording
  std::string folder;  // below the lake's: "hot/v1/steps/20261129T1420/a"
  std::string name;    // "n1_1a2b3c4d_0.parquet": of the same recording always the same
};

// A name that a node may have: nothing but letters, digits, - and . as `_` ends it in the name of a file.
bool IsNode(const std::string& name);
// `slot`: ten minutes, by their begin in UTC.
std::string FolderOf(const std::string& table, const std::string& slot, const std::string& node);

// Of all recordings in `engine` (rows.h). `node`: of those that do not say one. An error, and nothing, where
// one of them cannot be shipped: it is still being recorded, or nobody knows of which node it is.
base::Result<std::vector<Shipment>> ShipmentsOf(Engine& engine, const std::string& node);

}  // namespace profd::lake
