// Samples of a profile with the names of their frames, for the outputs that show stacks.
#pragma once

#include <cstdint>
#include <span>

#include "format/texts.h"

namespace profd::client {

struct ProfileFrame {
  format::TextId function = 0, module = 0;
  format::TextId place = 0;  // the function as it is shown: of Python's with the line that it is at …
  uint32_t line = 0;         // … which is this; 0: not known
  bool kernel = false;
  bool installed = false;  // of Python's library, or of a package that was installed: not the program's own
  friend bool operator==(const ProfileFrame&, const ProfileFrame&) = default;
};

struct ProfileSample {
  const format::Texts* texts = nullptr;
  uint64_t wall_ns = 0;
  uint64_t period = 0;   // what it stands for, see `cycles`
  bool cycles = false;   // of the processor; else ns of CPU time
  bool off_cpu = false;  // ns of waiting
  int64_t pid = 0, tid = 0;
  format::TextId process = 0;
  uint32_t stack = 0;                    // the same number has the same frames
  std::span<const ProfileFrame> frames;  // the innermost first
};

// **Thread:** one.
class ProfileSink {
 public:
  virtual ~ProfileSink() = default;
  virtual void Sample(const ProfileSample&) {}
};

}  // namespace profd::client
