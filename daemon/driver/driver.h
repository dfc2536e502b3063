// What profd asks of the vendor's driver library. One implementation, AscendHal; an interface only so that a
// fault no library can be made to show has a test.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/driver/pci_place.h"
#include "daemon/driver/tape.h"
#include "format/chip.h"
#include "format/clock_map.h"

namespace profd::driver {

// Return codes of the channel calls that profd tells apart; both code spaces of the library mixed in one int.
inline constexpr int kOk = 0;
inline constexpr int kStoppedAlready = -4;
inline constexpr int kOccupied = -10;
inline constexpr int kVfFull = -11;
inline constexpr int kNoReply = 16;
inline constexpr int kStateBusy = 30;
inline constexpr int kNoComputeProcess = 115;
inline constexpr int kBiuLoss = 0x916;
inline constexpr int kNotSupported = 0xfffe;

// drvDeviceStatus values that profd tells apart.
inline constexpr int kWorking = 1;
inline constexpr int kCommunicationLost = 4;

inline constexpr uint32_t kMaxDevices = 64;
inline constexpr uint32_t kMaxChannels = 160;
inline constexpr size_t kMaxUserData = 128;

using format::Chip;
using format::ChipName;

// Arguments of prof_drv_start.
struct StartPara {
  uint32_t channel_type = 1;  // 0 task scheduler, 1 peripheral
  uint32_t period_ms = 0;     // 0 = event driven
  std::array<std::byte, kMaxUserData> user_data{};
  uint32_t user_data_size = 0;

  bool operator==(const StartPara&) const = default;
};

// What the vendor's process on a device is asked to sample, and how often; 0 = not that. What it samples it
// sends through a channel that the device lists from then on.
struct ProcessPara {
  uint32_t system_ms = 0;     // CPUs and memory of the device's own system
  uint32_t processes_ms = 0;  // its processes
  uint32_t cpus_ms = 0;       // what its control and AI CPUs run

  // Whether it samples all that `other` wants, as often.
  bool Covers(const ProcessPara& other) const {
    const auto covers = [](uint32_t mine, uint32_t wanted) { return wanted == 0 || mine == wanted; };
    return covers(system_ms, other.system_ms) && covers(processes_ms, other.processes_ms) &&
           covers(cpus_ms, other.cpus_ms);
  }
  bool operator==(const ProcessPara&) const = default;
};

struct QosStream {
  uint8_t mpam_id = 0;
  std::string name;
};

// How a device reaches another one of the node.
struct DeviceLink {
  uint32_t device = 0;
  std::string kind;  // "HCCS", "PIX" …, as `npu-smi info -t topo` names them
};

// What a device says of itself; read once when it is first seen and again on `profctl devices`.
struct DeviceFacts {
  uint32_t id = 0;
  uint32_t physical_id = 0;
  Chip chip = Chip::kNotTold;
  std::string chip_name;    // halGetChipInfo's name ("910B3"), else the name of the chip number
  int status = 0;           // drvDeviceStatus: 1 working, 4 communication lost
  uint32_t split_mode = 0;  // ≠ 0: virtual NPU
  int64_t env_type = 0;
  int64_t ctrl_cpu_core_num = 0, ctrl_cpu_id = 0, ctrl_cpu_endian_little = 1;
  int64_t ai_cpu_core_num = 0, ai_cpu_core_id = 0, aicpu_occupy_bitmap = 0;
  int64_t ai_core_num = 0, ai_core_id = 0, aiv_num = 0, ts_cpu_core_num = 0;
  double counter_mhz = 0;  // device counter: measured by the driver, else the chip's default
  bool counter_measured = false;
  double aic_mhz = 0, aiv_mhz = 0;
  std::vector<QosStream> qos;
  std::vector<uint32_t> channels;  // ascending ids the device offers now
  std::vector<DeviceLink> links;   // to the node's other devices; empty where the driver does not say
  PciPlace pci;
  std::string no_cards;    // why its port is not counted, and its health not told; "" = nothing is known
  std::string no_process;  // why the vendor's process cannot be started there; "" = nothing is known
  std::string error;       // why facts are missing, empty when all is well
};

// What a device says of this moment to calls that hold no channel; nothing where it would not say.
struct DeviceReading {
  std::optional<int> status;                  // drvDeviceStatus
  std::optional<double> ai_core_utilization;  // 1 = all of them busy
  std::optional<double> ai_core_mhz;
};

// How well a device is, by the vendor's card library; nothing where it does not say, or is not there.
struct DeviceHealth {
  struct Ecc {
    uint64_t corrected = 0, uncorrected = 0;  // errors of the device's memory since its reset
    uint64_t isolated_pages = 0;
  };
  uint64_t wall_ns = 0;           // when it was asked; 0: it was not yet
  std::optional<uint32_t> alarm;  // 0 none, 1 minor, 2 major, 3 critical
  std::optional<double> celsius, watts;
  std::optional<double> memory_bytes, memory_used_bytes, memory_celsius;  // HBM
  std::optional<Ecc> ecc;                                                 // where it is on
  std::optional<uint32_t> faults;                                         // fault codes that hold now
  std::optional<uint32_t> network;  // dcmi_rdfx_detect_result: 0 the address it is to reach answers
};

// **Thread:** any; the library locks internally. Every call may block for as long as the library likes (start
// 10 s, stop 60 s, list 60 s): never call from ctl. Only Read() is for the pump.
class Driver {
 public:
  virtual ~Driver() = default;

  virtual std::string path() const = 0;
  // As DeviceIds() was told; 0 when nobody has asked, or it cannot say. No call of the library.
  virtual uint32_t api_version() const = 0;
  // Names of wanted symbols that the library lacks.
  virtual std::vector<std::string> missing_symbols() const = 0;
  virtual base::Result<std::vector<uint32_t>> DeviceIds() = 0;
  virtual DeviceFacts ReadFacts(uint32_t device) = 0;
  virtual base::Result<std::vector<uint32_t>> Channels(uint32_t device) = 0;
  virtual base::Result<int> DeviceStatus(uint32_t device) = 0;
  virtual DeviceReading ReadNow(uint32_t device) = 0;
  // What is known of it, at most some seconds old. Does not block: the first time nothing is known.
  virtual DeviceHealth Health(uint32_t /*device*/) { return {}; }
  // Host counter frequency in MHz as the driver measured it; nullopt when it cannot say (or says -1).
  virtual std::optional<double> HostCounterMhz(uint32_t device) = 0;
  // Host and device clocks as near to one instant as can be had: 5 warm-up reads, then the best of 5 rounds.
  virtual base::Result<format::ClockPair> PairClocks(uint32_t device) = 0;

  // Raw codes, see above.
  virtual int Start(uint32_t device, uint32_t channel, const StartPara& para) = 0;
  virtual int Stop(uint32_t device, uint32_t channel) = 0;
  virtual int Read(uint32_t device, uint32_t channel, std::byte* out, uint32_t bytes) = 0;
  virtual int Flush(uint32_t device, uint32_t channel, uint32_t* waiting) = 0;

  // The vendor's process on the device; there is one at most. The answer is its number there, for
  // CloseProcess().
  virtual base::Result<int> OpenProcess(uint32_t device, const ProcessPara& para) = 0;
  virtual base::Status CloseProcess(uint32_t device, int process) = 0;

  // Every call of the library from now on also goes to `tape`; nullptr: to none.
  virtual void SetTape(const std::shared_ptr<Tape>& /*tape*/) {}
};

// One line for a person, e.g. "channel is held by another process on this node (-10)".
std::string DescribeCode(int code);

}  // namespace profd::driver
