// Where the words of a verb go: to the process's own streams, or, of one node of many, into a transcript.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "client/words/exit_code.h"

namespace profd::client {

// When a node began what was to begin at one instant, in the clock of this one.
struct Firing {
  int64_t late_ns = 0;
  uint64_t uncertainty_ns = 0;  // of the clocks' distance
};

// **Thread:** one at a time.
class Output {
 public:
  virtual ~Output() = default;
  virtual void Print(const std::string& text) = 0;
  // One line that is no result.
  virtual void Note(const std::string& text) = 0;
  virtual void Fired(const Firing& firing) = 0;

  // A line on what went wrong, and the code that says so.
  ExitCode Fail(const base::Status& status);
};

// stdout and stderr.
Output* OwnStreams();

class Transcript : public Output {
 public:
  const std::string& out() const { return out_; }
  const std::string& err() const { return err_; }  // without "profctl: " and the end of the line
  const std::optional<Firing>& firing() const { return firing_; }

  void Print(const std::string& text) override { out_ += text; }
  void Note(const std::string& text) override;
  void Fired(const Firing& firing) override { firing_ = firing; }

 private:
  std::string out_, err_;
  std::optional<Firing> firing_;
};

}  // namespace profd::client
