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
#include <vector>

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
      // profd writes what threads have reported round by round, thread by thread, so some rounds are mixed.
      if (capture.manifest) file.most_ahead = kMostAhead;
      file.reader = std::make_unique<StreamReader>(capture, *stream, framed, report, progress);
      Load(file);
    }
  }

  bool done() const {
    return std::all_of(files_.begin(), files_.end(), [](const File& file) { return !file.has_next; });
  }
  // Gives `most` records with stamps up to `end`, or all of them if there are less, and whether they may age.
  template <typename Give>
  void Drain(uint64_t end, size_t most, Give give) {
    while (most > 0) {
      // Of the file with the least stamp all that come before the other's.
      File* first = nullptr;
      uint64_t until = end;
      for (File& file : files_) {
        if (!file.has_next) continue;
        if (first != nullptr) until = std::min(until, std::max(first->stamp, file.stamp));
        if (first == nullptr || file.stamp < first->stamp) first = &file;
      }
      if (first == nullptr || first->stamp > until) return;
      for (; most > 0 && first->has_next && first->stamp <= until; --most) {
        give(first->next, first->ages);
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
    size_t most_ahead = 0;                 // so many records are put in the order of their stamps, …
    std::vector<Record> ahead = {};        // … a heap with the least one in front
    Record next = {};
    bool has_next = false;  // else: the end
    uint64_t stamp = 0;     // of the next one
    uint64_t records = 0;
  };
  static constexpr size_t kMostAhead = (size_t{4} << 20) / sizeof(Record);

  static uint64_t Stamp(const format::CannApiRecord& record) {
    return record.end == format::kCannEvent ? record.begin : record.end;
  }
  static uint64_t Stamp(const format::CannCapturedOpOf3& record) { return record.op.head.stamp; }
  static uint64_t Stamp(const auto& record) { return record.head.stamp; }
  static bool Read(File& file, Record& record) {
    if (file.rest.size() < sizeof(Record)) file.rest = file.reader->Next();
    if (file.rest.size() < sizeof(Record)) file.rest = {};
    if (file.rest.empty()) return false;
    record = format::Load<Record>(file.rest.data());
    file.rest = file.rest.subspan(sizeof(Record));
    return true;
  }
  static bool IsLater(const Record& a, const Record& b) { return Stamp(a) > Stamp(b); }
  static void Load(File& file) {
    if (file.most_ahead == 0) {
      file.has_next = Read(file, file.next);
    } else {
      for (Record record; file.ahead.size() < file.most_ahead && Read(file, record);) {
        file.ahead.push_back(record);
        std::push_heap(file.ahead.begin(), file.ahead.end(), IsLater);
      }
      file.has_next = !file.ahead.empty();
      if (file.has_next) {
        std::pop_heap(file.ahead.begin(), file.ahead.end(), IsLater);
        file.next = file.ahead.back();
        file.ahead.pop_back();
      }
    }
    if (file.has_next) file.stamp = Stamp(file.next);
  }

  std::deque<File> files_;
};

}  // namespace profd::client
