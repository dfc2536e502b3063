#include "client/export/framework/output/results.h"

#include <sys/stat.h>

#include <cstdio>
#include <utility>

namespace profd::client::framework {
namespace {

using base::Result;
using base::Status;

constexpr char kLineEnd[] = "\r\n";

}  // namespace

Result<std::unique_ptr<CsvFile>> Results::OpenTable(const std::string& name, std::string_view header) const {
  PROFD_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file, Open(name));
  return std::make_unique<CsvFile>(std::move(file), header, !as_vendor_, kLineEnd);
}

Status Results::Take(const std::string& name) {
  const std::string part = PathTo(name) + ".part";
  struct stat file {};
  if (::stat(part.c_str(), &file) != 0 || ::rename(part.c_str(), PathTo(name).c_str()) != 0)
    return Status::FromErrno("rename " + part);
  made_.push_back(name);
  bytes_ += static_cast<uint64_t>(file.st_size);
  return {};
}

Status Results::Finish(CsvFile& table, const std::string& name) {
  return table.rows() == 0 ? table.file().status() : Finish(table.file(), name);
}

Status Results::Finish(OutputFile& file, const std::string& name) {
  PROFD_RETURN_IF_ERROR(file.Finish());
  made_.push_back(name);
  bytes_ += file.bytes();
  return {};
}

}  // namespace profd::client::framework
