// Where the words of a verb go: to the process's own streams, or, on a thread that asks one node of many,
// into a transcript.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace profd::client {

// When a node began what was to begin at one instant, in the clock of this one.
struct Firing {
  int64_t late_ns = 0;
  uint64_t uncertainty_ns = 0;  // of the clocks' distance
};

// **Thread:** the one that made it, whose Print() and Fail() it takes while it lives; one at a time.
class Transcript {
 public:
  Transcript();
  ~Transcript();
  Transcript(const Transcript&) = delete;
  Transcript& operator=(const Transcript&) = delete;

  const std::string& out() const { return out_; }
  const std::string& err() const { return err_; }  // without "profctl: " and the end of the line

  const std::optional<Firing>& firing() const { return firing_; }

  void Note(const Firing& firing) { firing_ = firing; }
  void Out(const std::string& text) { out_ += text; }
  void Err(const std::string& line) { err_ += (err_.empty() ? "" : "; ") + line; }

 private:
  std::string out_, err_;
  std::optional<Firing> firing_;
};

// The one of this thread, or nullptr.
Transcript* CurrentTranscript();

}  // namespace profd::client
