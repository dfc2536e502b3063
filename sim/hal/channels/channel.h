// One channel of one device in this process: its state, its ring, what went through it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "sim/hal/channels/flood.h"
#include "sim/hal/channels/ring.h"
#include "sim/hal/channels/truth.h"
#include "sim/scenario/producers/producer.h"

namespace profd::sim {

// **Thread:** any; a call that comes while another changes the state is told so, it does not wait.
class Channel {
 public:
  // disabled → starting. kStatusFail when it is anything else.
  int BeginStart();
  bool MapRing(size_t bytes);
  void FillForFlood(Producer& producer, double bytes_s);
  void EndStart(bool ok);  // → enabled, or back to disabled

  // enabled → stopping.
  int BeginStop();
  size_t Waiting();
  Counters EndStop();  // → disabled; the ring and what is unread in it are gone

  // enabled → flushing → enabled.
  int BeginFlush();
  uint32_t EndFlush();  // bytes that wait

  int Read(char* out, uint32_t size);

  enum class Write : uint8_t { kUnguarded, kGuarded, kLose };
  // What the device sends. Guarded: dropped (false) when there is no room; unguarded: overwrites what is
  // unread.
  bool Deliver(const Sample& sample, Write how);
  // The sample again and again, all at once, until that share of the ring has been sent.
  void DeliverBacklog(const Sample& sample, Write how, double rings);
  // The session to the device is gone: reads give nothing for ever, whatever is in the ring.
  void Orphan();

  void SetFloodRate(double bytes_s);
  void EndFlood();
  bool HasFloodData();

  // Is an entry for the channel in the poll queue?
  std::atomic<bool> queued{false};

 private:
  bool Put(const Sample& sample, Write how);  // with the lock held

  enum class State : uint8_t { kDisabled, kStarting, kEnabled, kFlushing, kStopping };

  std::mutex mutex_;
  State state_ = State::kDisabled;
  bool orphaned_ = false;
  Ring ring_;
  std::unique_ptr<Flood> flood_;
  Counters counters_;
};

}  // namespace profd::sim
