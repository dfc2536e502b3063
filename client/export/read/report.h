// What an export could not use: which stream, where in it, how much, and why. What it did use is counted.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace profd::client {

struct Skipped {
  std::string stream;  // "device_0/data/hbm.data.0.slice_3", or a whole stream, or a control file
  uint64_t offset = 0, bytes = 0, records = 0;
  std::string why;
};

// A word on the data that costs none of it.
struct Remark {
  std::string where;      // "" = the text says
  uint64_t count = 0;     // 0 = nothing is counted
  std::string one, many;  // what there is, of one and of more
  bool is_cut = false;    // by the begin or the end of the recording: of every recording some are

  std::string Text() const;
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
  // A whole stream, as it is not known when its records were made: `missing` cannot be read.
  void SkipUndated(const std::string& stream, uint64_t bytes, std::string_view missing);
  // Data that are none of ours to use: kinds nobody reads, slices that the storage limit has removed. Of none
  // (count 0) nothing is said.
  void Note(const std::string& what);
  void Note(const std::string& where, uint64_t count, std::string_view one, std::string_view many);
  // A whole stream of which nothing is read.
  void Unread(const std::string& stream, const std::string& why);
  // What the begin or the end of the recording has cut in half.
  void Cut(const std::string& where, uint64_t count, std::string_view one, std::string_view many);
  void Count(const std::string& stream, const std::string& kind, uint64_t bytes, uint64_t records);

  // `prefix`: in front of the names of its streams.
  void Add(const Report& other, const std::string& prefix = "");

  // Nothing was skipped, of what is read.
  bool complete() const { return skipped_.empty(); }
  uint64_t unread() const { return unread_.size(); }
  const std::vector<Skipped>& skipped() const { return skipped_; }
  uint64_t more_skipped() const { return more_skipped_; }
  // Each by itself.
  std::vector<std::string> notes() const;
  // For people: one for all places of which the same is to be said, one for all that is cut.
  std::vector<std::string> NotesInShort() const;
  const std::map<std::string, StreamCount>& streams() const { return streams_; }
  uint64_t records() const;

 private:
  std::vector<Skipped> skipped_;
  uint64_t more_skipped_ = 0;
  void Add(Remark remark);

  std::vector<Remark> notes_;
  std::set<std::string> unread_;
  std::map<std::string, StreamCount> streams_;
};

}  // namespace profd::client
