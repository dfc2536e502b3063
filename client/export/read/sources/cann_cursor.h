// What CANN's own collector records on the host: of a kind there are two files, of which only one may age.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "client/export/read/capture.h"
#include "client/export/read/slices.h"
#include "format/records/cann.h"
#include "format/records/packed.h"

namespace profd::client {

inline constexpr std::string_view kAging[] = {"aging.", "unaging."};

// The records of one kind, of both its files, by stamp. **Thread:** one.
template <typename Record>
class Cursor {
 public:
  Cursor(const Capture& capture, const Side& side, std::string_view name, Report& report,
         Progress* progress) {
    for (const std::string_view aging : kAging) {
      const Stream* stream = side.Find(std::string(aging) + std::string(name));
      if (stream == nullptr) continue;
      Framed framed;
      framed.by = Framed::By::kRecord;
      framed.record_bytes = sizeof(Record);
      File& file = files_.emplace_back();
      file.stream = stream;
      file.ages = aging == kAging[0];
      file.reader = std::make_unique<StreamReader>(capture, *stream, framed, report, progress);
      Load(file);
    }
  }

  bool done() const {
    return std::all_of(files_.begin(), files_.end(), [](const File& file) { return file.rest.empty(); });
  }
  // Gives `most` records with stamps up to `end`, or all of them if there are less, and whether they may age.
  template <typename Give>
  void Drain(uint64_t end, size_t most, Give give) {
    while (most > 0) {
      // Of the file with the least stamp all that come before the other's.
      File* first = nullptr;
      uint64_t until = end;
      for (File& file : files_) {
        if (file.rest.empty()) continue;
        if (first != nullptr) until = std::min(until, std::max(first->stamp, file.stamp));
        if (first == nullptr || file.stamp < first->stamp) first = &file;
      }
      if (first == nullptr || first->stamp > until) return;
      for (; most > 0 && !first->rest.empty() && first->stamp <= until; --most) {
        give(format::Load<Record>(first->rest.data()), first->ages);
        first->rest = first->rest.subspan(sizeof(Record));
        ++first->records;
        Load(*first);
      }
    }
  }
  void Count(Report& report, std::string_view kind) const {
    for (const File& file : files_) {
      report.Count(file.stream->path(), std::string(kind), file.reader->bytes_read(), file.records);
    }
  }

 private:
  struct File {
    const Stream* stream = nullptr;
    bool ages = false;
    std::unique_ptr<StreamReader> reader = {};
    std::span<const std::byte> rest = {};  // whole records; empty at the end
    uint64_t stamp = 0;                    // of the next one
    uint64_t records = 0;
  };

  static uint64_t Stamp(const format::CannApiRecord& record) {
    return record.end == format::kCannEvent ? record.begin : record.end;
  }
  static uint64_t Stamp(const format::CannCapturedOpOf3& record) { return record.op.head.stamp; }
  static uint64_t Stamp(const auto& record) { return record.head.stamp; }
  static void Load(File& file) {
    if (file.rest.size() < sizeof(Record)) file.rest = file.reader->Next();
    if (file.rest.size() < sizeof(Record)) file.rest = {};
    if (!file.rest.empty()) file.stamp = Stamp(format::Load<Record>(file.rest.data()));
  }

  std::deque<File> files_;
};

}  // namespace profd::client
