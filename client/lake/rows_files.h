// Files of rows, in which profd's always-on summary keeps what programs do until it is shipped. Their shape:
// daemon/summary/rows_folder.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/files/temporary_folder.h"
#include "client/lake/shipments.h"

namespace profd::lake {

struct RowsFile {
  std::string path, name;  // where it is, and its last part
  std::string table, node, instance;
  uint64_t sequence = 0, rows = 0, first_ns = 0;
  std::string body;  // the line that names the columns, and the rows
};

// Names of those in `folder` that are whole as far as the name tells, sorted.
base::Result<std::vector<std::string>> RowsFilesIn(const std::string& folder);
// An error: it is no such file, or damaged.
base::Result<RowsFile> ReadRowsFile(const std::string& folder, const std::string& name);
// Of what stands in it.
base::Result<RowsFile> ParseRowsFile(const std::string& path, const std::string& text);
// Where it belongs. Its rows become a table of `engine`, in place of those of the file before; `scratch` gets
// a copy of them. kDataLoss: they are no rows of that table.
base::Result<Shipment> ShipmentOf(Engine& engine, const RowsFile& file,
                                  const client::TemporaryFolder& scratch);

}  // namespace profd::lake
