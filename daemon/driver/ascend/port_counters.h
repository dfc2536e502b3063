// Counters of a device's network port (pause frames, congestion notifications, retries): not the driver's but
// those of the vendor's card library. They are read by the clock into a buffer per device, so
// that to everybody else they are one more channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "daemon/driver/ascend/card_library.h"

namespace profd::driver {

// **Thread:** any; the calls of one device one after the other. The library stays for the life of the
// process. One thread "ports" calls it for all started devices that answer. A device whose answer does not
// come keeps that thread for itself, and the others get a new one: who calls Read() or Stop() of them sees to
// that. Nobody waits for a library that hangs.
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
  struct Port;
  class Ports;

  const std::shared_ptr<Cards> cards_;
  const std::shared_ptr<Ports> ports_;  // the threads have it, too
};

}  // namespace profd::driver
