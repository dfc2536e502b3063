// A timeline of JSON events, one after the other: msprof_*.json, a trace_view.json that was cut.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "client/export/read/report.h"
#include "client/export/read/slices.h"

namespace profd::client::framework {

// The members of an object, each with its text as it stands there; strings without their quotes. What follows
// a fault is not there.
class JsonMembers {
 public:
  explicit JsonMembers(std::string_view object) : rest_(object) { Pass('{'); }
  bool Next();

  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }
  bool is_text() const { return is_text_; }

 private:
  bool Pass(char wanted);
  bool TakeString(std::string_view& into);
  bool TakeOther();

  std::string_view rest_, key_, value_;
  bool is_text_ = false;
};

// Parts of one event, as they stand there. They are good until the next one.
struct TraceEvent {
  std::string_view text, name, category, id, args;
  char phase = 0;
  std::string_view pid, tid;
  bool pid_is_text = false, tid_is_text = false;
  int64_t ns = 0;  // of "ts", as text or number of µs
  double us = 0;   // "dur"

  // Members of "args"; "": there is none.
  std::string_view Arg(std::string_view key) const;
};

// **Thread:** one. **Owns:** the file, a buffer of 1 MiB or of the largest event.
class TraceFile {
 public:
  static constexpr size_t kMostEventBytes = 16u << 20;

  // `shown` names it in `report`.
  TraceFile(base::UniqueFd fd, std::string shown, Report& report, Progress& progress)
      : fd_(std::move(fd)), shown_(std::move(shown)), report_(report), progress_(progress) {}

  // false at the end. A file that ends before its bracket does is reported.
  bool Next(TraceEvent& event);

 private:
  bool Fill();
  // Where the object that begins at at_ ends; nullopt: not in this file.
  std::optional<size_t> EndOfObject();

  base::UniqueFd fd_;
  const std::string shown_;
  Report& report_;
  Progress& progress_;
  std::vector<char> buffer_;
  size_t at_ = 0, end_ = 0;
  uint64_t passed_ = 0;
  bool is_over_ = false;
};

// µs as text into ns, without a floating-point number on the way; nullopt: it is none.
std::optional<int64_t> NsOfMicroseconds(std::string_view text);

}  // namespace profd::client::framework
