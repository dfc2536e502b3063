// What an export could not use: which stream, where in it, how much, and why. What it did use is counted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace profd::client {

struct Skipped {
  std::string stream;  // "device_0/data/hbm.data.0.slice_3", or a whole stream, or a control file
  uint64_t offset = 0, bytes = 0, records = 0;
  std::string why;
};

struct StreamCount {
  std::string kind;
  uint64_t bytes = 0, records = 0;
};

// **Thread:** one.
class Report {
 public:
  static constexpr size_t kMaxSkipped = 1000;

  // Data that are not in the outputs although they should.
  void Skip(Skipped skipped);
  // Data that are none of ours to use: kinds nobody reads, slices that the storage limit has removed.
  void Note(const std::string& what);
  void Count(const std::string& stream, const std::string& kind, uint64_t bytes, uint64_t records);

  void Add(const Report& other);

  // Nothing was skipped.
  bool complete() const { return skipped_.empty(); }
  const std::vector<Skipped>& skipped() const { return skipped_; }
  uint64_t more_skipped() const { return more_skipped_; }
  const std::vector<std::string>& notes() const { return notes_; }
  const std::map<std::string, StreamCount>& streams() const { return streams_; }
  uint64_t records() const;

 private:
  std::vector<Skipped> skipped_;
  uint64_t more_skipped_ = 0;
  std::vector<std::string> notes_;
  std::map<std::string, StreamCount> streams_;
};

}  // namespace profd::client
