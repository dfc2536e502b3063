// Counters of a device's network port (pause frames, congestion notifications, retries): not the driver's but
// those of the vendor's card library. They are read by the clock into a buffer per device, so
// that to everybody else they are one more channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "daemon/driver/ascend/card_library.h"

namespace profd::driver {

// **Thread:** any; the calls of one device one after the other. The library stays for the life of the
// process; a thread "port-N" per started device calls it, which nobody waits for where the library hangs.
class PortCounters {
 public:
  explicit PortCounters(std::shared_ptr<Cards> cards);
  ~PortCounters();

  // As the driver's channel calls, with their codes. What Read() gives are lines: host raw ns, then 15
  // running totals in the vendor's order. Where the library does not answer any more it gives -2 until it
  // does again.
  int Start(uint32_t device, uint32_t period_ms);
  int Stop(uint32_t device);
  int Read(uint32_t device, std::byte* out, uint32_t bytes);

 private:
  class Port;

  std::shared_ptr<Port> Find(uint32_t device);

  const std::shared_ptr<Cards> cards_;
  std::mutex mutex_;
  std::map<uint32_t, std::shared_ptr<Port>> ports_;  // under mutex_
};

}  // namespace profd::driver
