// The call of the driver that a pump's thread is in. A driver may never come back from it; then the pump goes
// on with another thread, and the one that hangs keeps only what is here.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "base/mapped_region.h"
#include "daemon/device/channel_id.h"

namespace profd::device {

class Subscriber;

// What a read was to bring.
struct ReadCall {
  ChannelId id;
  std::byte* data = nullptr;   // the channel's carry, then the driver's bytes
  uint32_t carried = 0;        // bytes of the carry
  Subscriber* home = nullptr;  // whose chunk `data` lies in, if it does
};

// One per thread of a pump. **Thread:** as said.
class Reading {
 public:
  // -- the pump's thread --
  void Begin(const ReadCall& call, uint64_t now_ns);
  // False: the call was given up meanwhile. The pump is another thread's now: the caller must return without
  // touching it.
  bool End(int got);

  // -- ctl --
  // Gives up a call that began before `before_ns`, unless its thread only waits for a processor: on a busy
  // machine a call is late and hangs in nothing. One that spins hangs, and is given up when it has been seen
  // to, a look later. What the pump's thread has written until Begin() is seen by the caller, whose the pump
  // is from now on.
  std::optional<ReadCall> GiveUp(uint64_t before_ns);
  // After GiveUp(): `memory` is what the driver may still write to; `returned` runs once, on any thread, when
  // the call has come back.
  void Keep(std::shared_ptr<const base::MappedRegion> memory, std::function<void()> returned);
  // `returned` will not run any more.
  void Forget();

  // After `returned` has run: what the call brought. **Thread:** any one.
  int got() const { return got_; }
  const ReadCall& call() const { return call_; }

 private:
  static constexpr uint64_t kGivenUp = UINT64_MAX;

  bool WaitsForProcessor(uint64_t under_way);

  std::atomic<uint64_t> state_{0};  // counts up at Begin() and End(): odd while the call is under way
  std::atomic<uint64_t> began_ns_{0};
  std::atomic<pid_t> thread_{0};
  uint64_t late_ = 0;         // ctl's: the call, as state_ has it, that was seen to be late while it ran
  uint64_t late_cpu_ns_ = 0;  // what its thread had used by then
  ReadCall call_;

  std::mutex mutex_;
  bool has_returned_ = false;
  int got_ = 0;
  std::function<void()> returned_;
  std::shared_ptr<const base::MappedRegion> memory_;
};

}  // namespace profd::device
