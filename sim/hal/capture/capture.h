// A capture, read: what the driver of a real node was asked and answered, device by device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace profd::sim {

struct Answer {
  int code = 0;
  uint64_t took_ns = 0;
  std::string bytes;  // what it wrote
};

// One start of a channel, and what came of it.
struct RecordedRun {
  Answer start, stop;
  bool was_stopped = false;
  struct Piece {
    uint64_t after_ns = 0;          // the start
    uint64_t begin = 0, bytes = 0;  // in the channel's bytes
    int code = 0;                   // < 0: a read that failed, no bytes
  };
  std::vector<Piece> pieces;
};

struct RecordedChannel {
  std::string bytes;
  std::vector<RecordedRun> runs;
};

// A device's clocks: lines through what it said first and last.
struct RecordedClock {
  bool known = false;
  uint64_t device_ns = 0, ticks = 0;  // of its first answer
  double device_per_host = 1;         // ns of the device in one of the host
  double ticks_per_ns = 0;            // of the device
};

struct RecordedDevice {
  std::map<std::string, std::vector<Answer>, std::less<>> answers;  // by KeyOf()
  std::map<uint32_t, RecordedChannel> channels;
  std::vector<uint32_t> listed;  // ids, ascending, of all lists
  RecordedClock clock;
};

struct Capture {
  std::map<std::string, std::vector<Answer>, std::less<>> node;  // calls of no device
  std::map<uint32_t, RecordedDevice> devices;

  // Of a call: its name and what it was given beyond device and channel.
  static std::string KeyOf(std::string_view call, std::string_view given);
};

// Throws std::runtime_error with one line that says what is wrong with it. Hostile files cost no more than
// their size.
Capture ReadCapture(const std::string& path);

}  // namespace profd::sim
