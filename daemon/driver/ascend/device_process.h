// The vendor's process on a device (adprof), which samples the device's own system: started and ended by a
// library of the toolkit, libtsdclient.so, which is loaded when the first is.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/driver/driver.h"

namespace profd::driver {

// Where the toolkit's libraries are, most likely first: beside the driver's (`driver_library`), in `toolkit`,
// or, where that is "", where the environment says and where it is usually installed.
std::vector<std::string> ToolkitFolders(const std::string& driver_library, const std::string& toolkit);

// What the vendor's collector tells the process, in its order.
std::vector<std::string> ProcessArguments(uint32_t physical_id, const ProcessPara& para);

// **Thread:** any. What is loaded stays for the life of the process.
class DeviceProcess {
 public:
  // `driver` is the loaded driver library.
  DeviceProcess(void* driver, std::vector<std::string> folders);
  ~DeviceProcess();

  // Why none can be started, as far as files tell; "" = nothing stands in the way.
  std::string Missing() const;
  base::Result<int> Open(uint32_t device, const std::vector<std::string>& arguments);
  base::Status Close(uint32_t device, int process);

 private:
  struct Library;
  struct Events;

  base::Result<const Library*> Load();
  base::Status Attach(uint32_t device) const;

  const std::vector<std::string> folders_;
  const std::unique_ptr<const Events> events_;
  std::mutex mutex_;
  std::unique_ptr<const Library> library_;  // under mutex_
};

}  // namespace profd::driver
