// One stream's slices: `<file>.slice_0`, `_1` …, each cut on a chunk edge and followed by its `.done` marker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/status.h"
#include "daemon/chunk/stream_spec.h"
#include "daemon/store/files/file_system.h"
#include "daemon/store/files/open_files.h"
#include "daemon/store/spool/budget.h"

namespace profd::store {

// Writes `content` beside and renames it over `name`: a reader finds the old file or the new one, never a
// part.
base::Status ReplaceFile(FileSystem& fs, OpenFiles& open, int dir, const std::string& name,
                         const std::string& content);

// **Thread:** the writer's.
class SliceWriter {
 public:
  // `dir` stays open as long as this; `budget` is told what the slices take.
  SliceWriter(FileSystem& fs, OpenFiles& open, Budget& budget, int dir, uint64_t slice_bytes,
              chunk::StreamSpec spec);

  // All of `data` (whole records) or nothing; makes the file at the first bytes. After an error the next call
  // tries again from the same edge.
  base::Status Append(const std::byte* data, size_t bytes);
  // The present slice has reached its size; time for Finish().
  bool Full() const { return !spec_.one_slice && size_ >= budget_.SliceBytes(full_bytes_); }
  // Closes the present slice and writes its marker; a slice without data is removed instead. Markers that
  // could not be written are tried again with every call.
  base::Status Finish();
  // What the next Append() may take on disk besides its data.
  uint64_t Overhead() const;
  // Removes a finished slice with its marker; one that is gone already is no error.
  base::Status Remove(uint64_t number);
  // Removes all finished slices, and what they took from the budget.
  void RemoveAll();

  const chunk::StreamSpec& spec() const { return spec_; }
  uint64_t slices() const { return number_ + (has_data_ ? 1 : 0); }
  // All files, header lines and markers included, as written.
  uint64_t disk_bytes() const { return closed_bytes_ + size_; }
  // What the present slice, or else the last one with its marker, takes on disk.
  uint64_t allocated_bytes() const { return allocated_; }

 private:
  base::Status Mark();
  base::Status OpenTail();
  base::Status Extend(const void* data, size_t bytes, size_t at_once);
  size_t AtOnce(size_t bytes) const;
  base::Status Repair();
  std::string Header() const;
  base::Status Named(base::Status status) const;
  void Measure();
  void Fit();

  FileSystem& fs_;
  OpenFiles& open_;
  Budget& budget_;
  const int dir_;
  const uint64_t slice_bytes_;  // at least
  uint64_t full_bytes_;         // what a slice grows to at the present pace
  uint64_t opened_ns_ = 0;      // the present slice, monotonic
  const chunk::StreamSpec spec_;
  OpenFiles::File file_;
  std::string name_;                       // of the present slice; empty before its first bytes
  uint64_t number_ = 0;                    // of the present slice
  uint64_t size_ = 0;                      // of the present slice, up to its last whole chunk
  bool has_data_ = false;                  // more than a header
  bool torn_ = false;                      // a failed write may have left bytes behind `size_`
  std::map<uint64_t, uint64_t> unmarked_;  // sizes of closed slices by number
  uint64_t closed_bytes_ = 0;
  uint64_t allocated_ = 0;
};

}  // namespace profd::store
