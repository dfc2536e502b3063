// Counters of a device's network port (pause frames, congestion notifications, retries): not the driver's but
// those of the vendor's card library, libdcmi.so. They are read by the clock into a buffer per device, so
// that to everybody else they are one more channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"

namespace profd::driver {

// Where the card library is, most likely first; `driver_library`: the driver's, beside which it is installed.
std::vector<std::string> CardFolders(const std::string& driver_library);

// **Thread:** any; the calls of one device one after the other. The library stays for the life of the
// process; a thread "port-N" per started device calls it, which nobody waits for where the library hangs.
class PortCounters {
 public:
  explicit PortCounters(std::vector<std::string> folders);
  ~PortCounters();

  // Why there are none, as far as files tell; "" = nothing stands in the way.
  std::string Missing() const;
  // As the driver's channel calls, with their codes. What Read() gives are lines: host raw ns, then 15
  // running totals in the vendor's order. Where the library does not answer any more it gives -2 until it
  // does again.
  int Start(uint32_t device, uint32_t period_ms);
  int Stop(uint32_t device);
  int Read(uint32_t device, std::byte* out, uint32_t bytes);

 private:
  struct Library;
  class Port;

  base::Result<std::shared_ptr<const Library>> Load();
  std::shared_ptr<Port> Find(uint32_t device);

  const std::vector<std::string> folders_;
  std::mutex loading_;                      // never held by Read(): the library may take its time
  std::shared_ptr<const Library> library_;  // under loading_
  std::mutex mutex_;
  std::map<uint32_t, std::shared_ptr<Port>> ports_;  // under mutex_
};

}  // namespace profd::driver
