// The vendor's libascend_hal.so, loaded at run time, symbol by symbol: what it lacks is answered as the
// vendor's own collector does (-1 from channel calls, "not supported" from the others).
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "daemon/driver/ascend/ascend_hal_calls.h"
#include "daemon/driver/ascend/card_health.h"
#include "daemon/driver/ascend/card_library.h"
#include "daemon/driver/ascend/device_process.h"
#include "daemon/driver/ascend/port_counters.h"
#include "daemon/driver/driver.h"

namespace profd::driver {

// Where the driver's own install record (the text of /etc/ascend_install.info) says the library is, most
// likely first.
std::vector<std::string> InstalledLibraries(std::string_view install_record);

// **Thread:** any. The library stays loaded for the life of the process.
class AscendHal final : public Driver {
 public:
  // `path` "" = where the install record says, then the loader's path. `toolkit`: where CANN is, "" = where
  // it usually is.
  static base::Result<std::unique_ptr<Driver>> Load(const std::string& path, const std::string& toolkit = "");

  std::string path() const override { return path_; }
  uint32_t api_version() const override { return api_version_; }
  std::vector<std::string> missing_symbols() const override;
  base::Result<std::vector<uint32_t>> DeviceIds() override;
  DeviceFacts ReadFacts(uint32_t device) override;
  base::Result<std::vector<uint32_t>> Channels(uint32_t device) override;
  base::Result<int> DeviceStatus(uint32_t device) override;
  DeviceReading ReadNow(uint32_t device) override;
  DeviceHealth Health(uint32_t device) override;
  std::optional<double> HostCounterMhz(uint32_t device) override;
  base::Result<format::ClockPair> PairClocks(uint32_t device) override;

  int Start(uint32_t device, uint32_t channel, const StartPara& para) override;
  int Stop(uint32_t device, uint32_t channel) override;
  int Read(uint32_t device, uint32_t channel, std::byte* out, uint32_t bytes) override;
  int Flush(uint32_t device, uint32_t channel, uint32_t* waiting) override;

  base::Result<int> OpenProcess(uint32_t device, const ProcessPara& para) override;
  base::Status CloseProcess(uint32_t device, int process) override;
  void SetTape(const std::shared_ptr<Tape>& tape) override;

 private:
  AscendHal(std::string path, std::unique_ptr<HalCalls> calls, const std::string& toolkit);
  ~AscendHal() override;

  // For api_version(), too.
  uint32_t AskApiVersion() const;
  // One 64-bit fact; nullopt when the driver does not know it.
  std::optional<int64_t> Info(uint32_t device, int32_t module, int32_t info) const;
  std::optional<double> FrequencyMhz(uint32_t device, int32_t info) const;
  std::vector<QosStream> QosStreams(uint32_t device) const;
  std::vector<DeviceLink> Links(uint32_t device) const;
  std::string PciAddress(uint32_t device) const;

  const std::string path_;
  const std::unique_ptr<HalCalls> calls_;
  DeviceProcess process_;
  const std::shared_ptr<Cards> cards_;
  PortCounters ports_;
  CardHealth health_;
  mutable std::atomic<uint32_t> api_version_ = 0;  // as it last said
  std::atomic<uint64_t> listed_ = 0;               // the devices, a bit each, as they were last listed
};

}  // namespace profd::driver
