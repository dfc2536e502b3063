// Where a device's PCIe slot is in the host: NUMA node and the CPUs near to it, as the kernel tells them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace profd::driver {

struct PciPlace {
  std::string address;           // "0000:c1:00.0"; "" = the driver does not say
  std::optional<int> numa_node;  // nullopt: the host has one node only, or the kernel does not know
  std::string cpus;              // near to it, "0-31,64-95"; "" = the kernel does not say
};

// `folder`: where the kernel has a folder for each address, /sys/bus/pci/devices.
PciPlace ReadPciPlace(const std::string& folder, const std::string& address);

}  // namespace profd::driver
