// What /proc says of this moment, for the always-on values: counters of the host, of some processes and of
// profd itself. Read by the thread "sample", whose open files it uses.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/host/files/proc_file.h"
#include "daemon/host/scouts/foreign_files.h"

namespace profd::host {

// In the order of /proc/stat's first line.
inline constexpr std::array<const char*, 8> kCpuModes = {"user",   "nice", "system",  "idle",
                                                         "iowait", "irq",  "softirq", "steal"};

struct HostReading {
  uint64_t mono_ns = 0;
  std::array<uint64_t, kCpuModes.size()> cpu_ticks{};  // of all CPUs
  uint32_t cpus = 0;
  uint64_t memory_total = 0, memory_available = 0, memory_free = 0, memory_cached = 0;  // bytes
  uint64_t swap_total = 0, swap_free = 0, memory_dirty = 0;
  std::array<double, 3> load{};

  struct Disk {
    std::string name;
    uint64_t read_bytes = 0, written_bytes = 0, busy_ms = 0;
  };
  std::vector<Disk> disks;  // whole ones

  struct Network {
    std::string name;
    uint64_t rx_bytes = 0, rx_packets = 0, rx_errors = 0, rx_dropped = 0;
    uint64_t tx_bytes = 0, tx_packets = 0, tx_errors = 0, tx_dropped = 0;
  };
  std::vector<Network> networks;  // without the loopback

  struct Process {
    pid_t pid = 0;
    uint64_t cpu_ticks = 0, rss_bytes = 0, threads = 0;
  };
  std::vector<Process> processes;  // of those asked for, that still run
  Process self;                    // its cpu_ticks are ns
};

// What is not asked for is not read.
struct ReadingRequest {
  bool cpu = false, memory = false, load = false, disk = false, network = false;
  std::vector<pid_t> pids;
};

// **Thread:** sample. **Owns:** the files it keeps open.
class HostReader {
 public:
  HostReader(HostFiles& files, FdBudget& budget, ForeignFiles& foreign);
  HostReading Read(const ReadingRequest& request, const Tick& tick);

 private:
  void ReadCpu(const Tick& tick, HostReading& reading);
  void ReadMemory(const Tick& tick, HostReading& reading);
  void ReadDisks(const Tick& tick, HostReading& reading);
  void ReadNetworks(const Tick& tick, HostReading& reading);
  void ReadProcesses(const std::vector<pid_t>& pids, HostReading& reading);
  void ReadSelf(HostReading& reading);
  bool IsWholeDisk(std::string_view name);

  HostFiles& files_;
  ForeignFiles& foreign_;
  HostFile diskstats_;
  ProcFile statm_;
  std::map<std::string, bool, std::less<>> whole_disks_;  // by name: what /sys says of it
  std::map<pid_t, ForeignFile> stats_;
};

}  // namespace profd::host
