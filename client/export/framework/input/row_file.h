// A file of FRAMEWORK/, row by row, in bounded memory whatever its rows say of their sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "client/export/read/report.h"
#include "client/export/read/slices.h"
#include "format/framework/records.h"

namespace profd::client::framework {

// **Thread:** one. **Owns:** the file, a buffer of 1 MiB or of the largest row.
class RowFile {
 public:
  static constexpr uint64_t kMostRowBytes = 64u << 20;

  // The first file whose name begins like that; none: Next() has nothing.
  RowFile(const base::UniqueFd& folder, const std::string& prefix, Report& report, Progress& progress);
  // Says how many rows there were, and how many of them were not used.
  ~RowFile();
  RowFile(const RowFile&) = delete;
  RowFile& operator=(const RowFile&) = delete;

  bool is_there() const { return static_cast<bool>(fd_); }
  // The value of the next row with a head; nullopt at the end.
  std::optional<format::framework::Bytes> NextValue();
  // The next row of so many bytes; nullopt at the end.
  std::optional<format::framework::Bytes> Next(size_t bytes);

  // The latest row is no use: too short, or what it says cannot be.
  void Refuse() { ++refused_; }
  // A field of it is cut.
  void Tear() { ++torn_; }

 private:
  format::framework::Bytes Rest() const { return {buffer_.data() + at_, end_ - at_}; }
  // So many bytes ahead; false: the file ends before.
  bool Have(size_t bytes);
  format::framework::Bytes Take(size_t bytes);
  // What is left cannot be used.
  std::nullopt_t End(const std::string& why);
  void Close();

  const std::string prefix_;
  Report& report_;
  Progress& progress_;
  std::string name_;
  base::UniqueFd fd_;
  uint64_t file_bytes_ = 0, passed_ = 0;  // of the file, before buffer_[at_]
  uint64_t rows_ = 0, refused_ = 0, torn_ = 0;
  std::vector<std::byte> buffer_;
  size_t at_ = 0, end_ = 0;
};

}  // namespace profd::client::framework
