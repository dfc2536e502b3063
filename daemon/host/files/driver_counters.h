// The counters that the driver of a network interface keeps by names of its own (ethtool -S), those of pauses
// and congestion. A driver may take its time to answer, and everybody else who asks one waits meanwhile: a
// thread of its own asks, once a second.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace profd::host {

// In the order of the row "pfc" (docs/formats.md).
inline constexpr size_t kPfcNumbers = 21;
using PfcNumbers = std::array<std::optional<uint64_t>, kPfcNumbers>;

// Which number of the row the counter of this name is; nullopt: none.
std::optional<size_t> PfcColumn(std::string_view counter);

// **Thread:** sample. **Owns:** the thread "nic-counters", which is not waited for.
class DriverCounters {
 public:
  // Opens a socket in the network of process 1 while profd may enter it, unless it has. Before other threads.
  static void Hold();

  DriverCounters();
  DriverCounters(const DriverCounters&) = delete;
  DriverCounters& operator=(const DriverCounters&) = delete;
  ~DriverCounters();

  // Those to ask from now on.
  void Watch(std::vector<std::string> interfaces);
  // What they have said since the last call; those that have none of the counters are not there.
  std::map<std::string, PfcNumbers> Take();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

// The names of an interface's counters, in their order. Any thread.
std::vector<std::string> DriverCounterNames(const std::string& interface);

}  // namespace profd::host
