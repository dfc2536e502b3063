#include "client/verbs/data/table_file.h"

#include <fstream>
#include <vector>

#include "client/export/write/output_file.h"

namespace profd::client {

using base::Code;
using base::Status;

Status CopyToNamed(const std::string& made, const std::string& path) {
  PROFD_ASSIGN_OR_RETURN(const auto file, OutputFile::CreateNamed(path));
  std::ifstream from(made, std::ios::binary);
  std::vector<char> piece(OutputFile::kMaxReserve);
  while (from.read(piece.data(), static_cast<std::streamsize>(piece.size())), from.gcount() > 0)
    file->Append({piece.data(), static_cast<size_t>(from.gcount())});
  if (from.bad() || !from.eof()) return {Code::kInternal, path + ": what was made for it cannot be read"};
  return file->Finish();
}

Status WriteTable(lake::Engine& engine, const std::string& rows, const TemporaryFolder& scratch,
                  const std::string& path) {
  const std::string made = scratch.path() + "/table.parquet";
  PROFD_RETURN_IF_ERROR(engine.Write(rows, made));
  return CopyToNamed(made, path);
}

}  // namespace profd::client
