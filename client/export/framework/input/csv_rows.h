// A table of comma-separated values, row by row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "client/export/framework/input/cann.h"
#include "client/export/read/report.h"

namespace profd::client::framework {

// **Thread:** one. **Owns:** the file, a buffer of 256 KiB. Cells are as they were before somebody quoted
// them.
class CsvRows {
 public:
  static constexpr size_t kMostRowBytes = 16u << 20;

  // Reads the header. `name` lies in files.tables.
  CsvRows(const CannFiles& files, const std::string& name, Report& report);

  const std::vector<std::string>& header() const { return header_; }
  // The number of a column; none: header().size().
  size_t Column(std::string_view name) const;
  bool Next();
  // Of the latest row; "" where it is too short.
  std::string_view Cell(size_t column) const {
    return column < cells_ ? std::string_view(row_[column]) : std::string_view();
  }

 private:
  bool ReadRow();
  int Get();

  Report& report_;
  std::string shown_;
  base::UniqueFd fd_;
  std::vector<char> buffer_;
  size_t at_ = 0, end_ = 0;
  std::vector<std::string> header_, row_;
  size_t cells_ = 0;
};

// What a cell says; 0 where it says none.
double Number(std::string_view cell);

}  // namespace profd::client::framework
