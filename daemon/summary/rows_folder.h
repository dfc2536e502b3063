// Files of rows, in a folder of profd's: what is kept of programs until somebody ships it.
// Their shape: format/directory/rows_file.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"

namespace profd::summary {

struct RowsOptions {
  std::string folder;
  std::string acked;  // a file in which who ships says what is shipped: a name of a file in each line
  std::string node;
  uint64_t seal_after_ns = 0;
  uint64_t keep_bytes = 0;
};

inline constexpr uint32_t kNobody = UINT32_MAX;

// Rows of one table, user and time.
struct RowsOf {
  uint32_t uid = kNobody;
  std::string user;  // as rows have it: in quotes
  std::string table;
  std::string columns;  // the line that names them
  std::string text;     // whole lines
  uint64_t rows = 0;
  uint64_t first_ns = 0, last_ns = 0;  // wall
};

// A text as such a file has it.
std::string Quoted(std::string_view text);

// A file has rows of one user, so what one says is never in the way of another's: not in its size, its times
// or when it goes. **Thread:** one.
class RowsFolder {
 public:
  // Files of a profd that was killed become whole ones with the lines that are whole. An error: another profd
  // has the folder.
  static base::Result<RowsFolder> Open(RowsOptions options);

  // `now_ns`: wall. An error: nothing of these was kept.
  base::Status Append(const RowsOf& rows, uint64_t now_ns);
  // What is old or large enough is sealed.
  void SealDue(uint64_t now_ns);
  // What is shipped goes; beyond the quota the oldest of the user who has most, and is returned as what was
  // lost.
  struct Removed {
    uint32_t uid = kNobody;
    std::string table;
    uint64_t rows = 0, first_ns = 0, last_ns = 0;
  };
  std::vector<Removed> Tidy();
  void SealAll();
  bool writes() const { return !open_.empty(); }  // to a file that is not sealed
  const std::string& instance() const { return instance_; }

 private:
  // One that is written. A name without the point in front is its own when it is sealed.
  struct File {
    base::UniqueFd file;
    std::string name;
    uint64_t since_ns = 0;  // wall; 0: nothing has come
    uint64_t rows = 0, first_ns = 0, last_ns = 0, bytes = 0;
    uint32_t crc = 0;
  };

  RowsFolder(RowsOptions options, base::UniqueFd folder);
  base::Result<File*> FileOf(const RowsOf& rows);
  using Whose = std::pair<std::string, uint32_t>;  // table and user
  // Of an upper bound: beyond it users share one.
  Whose FileFor(const RowsOf& rows) const;
  base::Status Seal(File& file);
  void SealAllOf(uint32_t uid);
  base::Status Recover(const std::string& name);
  void RemoveShipped(const std::vector<std::string>& names);
  uint32_t OwnerOf(const std::string& name);

  RowsOptions options_;
  base::UniqueFd folder_;
  std::string instance_;  // 8 hex digits
  std::map<Whose, File> open_;
  std::map<std::string, uint64_t> next_;    // sequence, by table
  std::map<std::string, uint32_t> owners_;  // of sealed files, by name
};

}  // namespace profd::summary
