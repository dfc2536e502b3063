#include "daemon/driver/pci_place.h"

#include <algorithm>
#include <charconv>
#include <fstream>

namespace profd::driver {

namespace {

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

bool IsCpuList(const std::string& text) {
  constexpr size_t kMost = 256;
  return text.size() <= kMost &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || c == ',' || c == '-'; });
}

}  // namespace

PciPlace ReadPciPlace(const std::string& folder, const std::string& address) {
  PciPlace place;
  place.address = address;
  if (address.empty()) return place;
  const std::string node = FirstLine(folder + "/" + address + "/numa_node");
  int number = 0;
  const auto [end, error] = std::from_chars(node.data(), node.data() + node.size(), number);
  // -1: it is in none.
  if (error == std::errc() && end == node.data() + node.size() && number >= 0) place.numa_node = number;
  if (std::string cpus = FirstLine(folder + "/" + address + "/local_cpulist"); IsCpuList(cpus)) {
    place.cpus = std::move(cpus);
  }
  return place;
}

}  // namespace profd::driver
