// The folder of results.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "client/export/write/csv_file.h"
#include "client/export/write/output_file.h"

namespace profd::client::framework {

// A folder of results. A table without rows is no file. **Thread:** one.
class Results {
 public:
  // `folder`: a path that goes through a descriptor.
  Results(std::string folder, bool as_vendor) : folder_(std::move(folder)), as_vendor_(as_vendor) {}

  bool as_vendor() const { return as_vendor_; }
  base::Result<std::unique_ptr<OutputFile>> Open(const std::string& name) const {
    return OutputFile::Create(PathTo(name));
  }
  // One with lines that end as the vendor's.
  base::Result<std::unique_ptr<CsvFile>> OpenTable(const std::string& name, std::string_view header) const;
  std::string PathTo(const std::string& name) const { return folder_ + "/" + name; }
  // A file that is whole as `name`.part gets its name.
  base::Status Take(const std::string& name);
  // Gives it its name, unless it is empty.
  base::Status Finish(CsvFile& table, const std::string& name);
  base::Status Finish(OutputFile& file, const std::string& name);

  const std::vector<std::string>& made() const { return made_; }
  uint64_t bytes() const { return bytes_; }

 private:
  const std::string folder_;
  const bool as_vendor_;
  std::vector<std::string> made_;
  uint64_t bytes_ = 0;
};

// The number of µs that is nearest to so many ns: of what is too large for a floating-point number µs and
// rest apart.
inline double Us(int64_t ns) {
  constexpr int64_t kExact = int64_t{1} << 53;
  if (-kExact < ns && ns < kExact) return static_cast<double>(ns) / 1000;
  const int64_t whole = ns / 1000;
  return static_cast<double>(whole) + static_cast<double>(ns % 1000) / 1000;
}

}  // namespace profd::client::framework
