// Files of rows of profd's always-on summary (format/directory/rows_file.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/files/temporary_folder.h"
#include "client/lake/ship/shipments.h"

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
// Where it belongs. kUnimplemented: its table is not known.
base::Result<Shipment> ShipmentOf(const RowsFile& file);
// Its rows become the table that its shipment names, in place of those of the file before; `scratch` gets a
// copy of them. kDataLoss: they are no rows of that table.
base::Status FillFrom(Engine& engine, const RowsFile& file, const client::TemporaryFolder& scratch);

}  // namespace profd::lake
