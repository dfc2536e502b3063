// One start per channel, many sessions: the hub owns every started driver channel of the node. A running
// channel is never restarted; a later session shares it at the running rate or gets combined records.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/base/timers.h"
#include "daemon/chunk/pipe.h"
#include "daemon/chunk/stream_stats.h"
#include "daemon/device/streams/unpacker.h"
#include "daemon/driver/driver.h"
#include "format/chunk.h"
#include "format/clock_map.h"
#include "format/decode/framing.h"

namespace profd::device {

using Post = std::function<void(std::function<void()>)>;  // runs a closure on ctl

struct HubOptions {
  uint64_t sweep_ns = 400'000'000;             // how often the pump drains every channel, at most
  uint64_t stop_sweep_ns = 1'000'000;          // while a stop of the device is in progress
  uint64_t driver_timeout_ns = 5'000'000'000;  // after which a channel counts as stuck
  uint64_t stop_timeout_ns = 1'600'000'000;    // the same of a stop; the driver itself waits for 1 s at most
  uint64_t read_timeout_ns = 1'000'000'000;    // after which a device counts as hung and is not read any more
  uint64_t stop_read_timeout_ns = 400'000'000;  // the same while a stop waits for channels to be read empty
  uint64_t queue_patience_ns = 1'000'000'000;   // control calls waiting longer move to a spare thread
  uint32_t spare_threads = 4;                   // per device
  bool pump_per_device = false;
  bool keep_tails = false;  // for Peek()
};

// How a channel's state changed after Start() answered. Delivered on ctl.
struct ChannelEvent {
  enum class What : uint8_t {
    kStarted,    // a pending channel appeared and was started
    kFailed,     // it appeared and could not be started, or the device was lost: see reason
    kRecovered,  // data flows again
    kDamaged,    // bytes that were no records were skipped (counted as lost); first time only
    kDiscarded,  // the driver may have thrown away what was not read in time at the stop
    kYielded,    // `yields`: somebody else wants the channel, this part has ended
  };
  What what = What::kStarted;
  std::string reason;
};

struct ChannelRequest {
  uint32_t device = 0;
  uint32_t channel = 0;
  driver::StartPara para;  // para.period_ms is what this session asks for
  const format::StreamFormat* format = nullptr;
  bool late = false;                                // 143–145: stay pending until the device lists it
  bool needs_job = false;                           // pending as long as no compute process uses the device
  std::optional<driver::ProcessPara> process = {};  // the device lists it once this process is started
  std::optional<uint32_t> twin = {};                // a device that is run by the same system
  std::shared_ptr<const FileSinks> files = {};      // what it brings are pieces of these
  std::string kind;                                 // "hbm"
  std::string holder;                               // "session 3f2a of alice", for refusals
  // The session's pair of clocks, which stamps that count from a channel's start (T1) are made to count from.
  uint64_t device_start_ns = 0;  // device raw
  uint64_t host_start_ns = 0;    // host raw; 0: unknown, a channel counts as started with the pair
  double counter_mhz = 0;        // of the device counter (gaps in kinds stamped in ticks); 0 = unknown
  format::StreamKey key;
  chunk::StreamStatsPtr stats;
  chunk::Pipe* pipe = nullptr;  // of PumpOf(device) to the session's writer; outlives the part
  bool yields = false;          // without a pipe: holds the channel for Peek(), until anybody else wants it
  std::function<void(ChannelEvent)> on_event;
};

// What was added to the stamps of a kind that counts from its channel's start.
struct StampShift {
  int64_t us = 0;
  uint64_t error_ns = 0;  // how far off the channel's start may be: half of what the driver's call took
};

struct Started {
  uint32_t period_ms = 0;  // of the records this session gets (after combining)
  bool shared = false;     // the channel ran already
  bool pending = false;
  StampShift shift = {};
};

// The newest records of a running channel, and what is needed to read them.
struct Peeked {
  uint32_t device = 0;
  uint32_t channel = 0;
  std::string kind;
  driver::StartPara para;
  const format::StreamFormat* format = nullptr;
  double counter_mhz = 0;
  std::vector<std::byte> records;
  uint64_t read_ns = 0;  // when the newest were read (raw clock)
};

// What a channel is doing, for `profctl devices`.
struct Holding {
  uint32_t device = 0;
  uint32_t channel = 0;
  std::string kind;
  std::string holder;
};

// **Thread:** ctl only; callbacks run on ctl. Owns the pump and the control threads.
class ChannelHub {
 public:
  ChannelHub(std::shared_ptr<driver::Driver> driver, HubOptions options, base::Timers& timers, Post post);
  ~ChannelHub();
  ChannelHub(const ChannelHub&) = delete;
  ChannelHub& operator=(const ChannelHub&) = delete;

  size_t pump_count() const;
  size_t PumpOf(uint32_t device) const;

  // Answers once: started, shared, pending or why not (kAlreadyExists: other payload, names the holder;
  // kDeadlineExceeded: the driver did not answer within driver_timeout).
  void Start(ChannelRequest request, std::function<void(base::Result<Started>)> done);
  // Ends one session's part. The last one stops the channel and drains it. `done` says kDataLoss for 0x916
  // and kDeadlineExceeded for a stuck channel; either way nothing more is pushed for `key` afterwards.
  // `heir`: whose part goes on with the same channel. Of a kind with a period, both then have the record at
  // the seam.
  void Stop(format::StreamKey key, std::function<void(base::Status)> done,
            std::optional<format::StreamKey> heir = {});
  // Pushes the end mark for `trace` on `pipe`, after all that was pushed before. Call when its Stop()s are
  // done.
  void EndTrace(uint32_t trace, uint32_t device, chunk::Pipe* pipe);

  // Runs `work` on a control thread of the device (facts, channel lists, clock pairs), `done` on ctl with
  // true when it ran in time: in that of a stop where something `ends` with it. `work` must own what it
  // touches: it may still run after a time-out.
  void Call(uint32_t device, std::function<void()> work, std::function<void(bool)> done, bool ends = false);

  // The newest few periods of every running channel; nothing without HubOptions::keep_tails.
  void Peek(std::function<void(std::vector<Peeked>)> done);

  std::vector<Holding> Holdings() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace profd::device
