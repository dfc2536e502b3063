// The simulated card library, libdcmi.so, as far as ports and health are concerned. The devices are those of
// the simulated driver in the same process, one on each card, and the cards are listed from the last device
// to the first.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "sim/hal/channels/faults.h"
#include "sim/hal/config.h"
#include "sim/hal/exports/export.h"

using profd::sim::Call;

extern "C" {
bool halSimFails(Call call, unsigned device, void* answer, size_t bytes, int* result);
uint32_t halSimDeviceCount();
int halSimPortTotals(unsigned device, uint64_t totals[15]);
void halSimHealth(profd::sim::HealthConfig* health);
}

namespace {

constexpr int kOk = 0, kBadParameter = -8001, kNoDevice = -8005;

struct PortTotals {
  uint64_t mac_tx_pause, mac_rx_pause;
  uint64_t mac_tx_pfc, mac_tx_pfc_of[8], mac_rx_pfc, mac_rx_pfc_of[8];
  uint64_t mac_tx_packets, mac_tx_bytes, mac_tx_bad_packets, mac_tx_bad_bytes;
  uint64_t mac_rx_packets, mac_rx_bytes, mac_rx_bad_packets, mac_rx_bad_bytes, mac_rx_fcs_errors;
  uint64_t roce_rx_rc, roce_rx_all, roce_rx_errors, roce_tx_rc, roce_tx_all, roce_tx_errors;
  uint64_t roce_cqe, roce_rx_cnp, roce_tx_cnp, roce_err_ack, roce_err_psn, roce_verification_errors,
      roce_err_qp;
  uint64_t roce_retries, roce_ecn;
  uint64_t nic_tx_packets, nic_tx_bytes, nic_rx_packets, nic_rx_bytes;
  int64_t seconds, microseconds;
  uint8_t reserved[64];
};

// Of calls of no device: that of device 0.
std::optional<int> Fault(Call call, int device, void* answer = nullptr, size_t bytes = 0) {
  int result = 0;
  if (!halSimFails(call, static_cast<unsigned>(device), answer, bytes, &result)) return std::nullopt;
  return result;
}

int Totals(int device, int port, PortTotals* to) {
  if (to == nullptr || port != 0) return kBadParameter;
  if (device < 0 || device >= static_cast<int>(halSimDeviceCount())) return kNoDevice;
  if (const auto fault = Fault(Call::kPortTotals, device, to, sizeof *to)) return *fault;
  uint64_t totals[15];
  if (const int code = halSimPortTotals(static_cast<unsigned>(device), totals); code != kOk) return code;
  uint64_t* const places[15] = {
      &to->mac_tx_pfc,       &to->mac_rx_pfc,  &to->mac_tx_bytes, &to->mac_rx_bytes,   &to->mac_tx_bad_bytes,
      &to->mac_rx_bad_bytes, &to->roce_tx_all, &to->roce_rx_all,  &to->roce_tx_errors, &to->roce_rx_errors,
      &to->roce_tx_cnp,      &to->roce_rx_cnp, &to->roce_retries, &to->nic_tx_bytes,   &to->nic_rx_bytes};
  std::memset(to, 0xEE, sizeof *to);  // what nobody should look at
  for (size_t i = 0; i < 15; ++i) *places[i] = totals[i];
  return kOk;
}

struct Memory {
  unsigned long long total_mb;
  unsigned mhz;
  unsigned long long used_mb;
  int temperature;
  unsigned bandwidth_percent;
};
struct Ecc {
  int enabled;
  unsigned corrected, uncorrected, corrected_in_life, uncorrected_in_life;
  unsigned corrected_pages, uncorrected_pages, corrected_pages_next, uncorrected_pages_next;
};
constexpr int kTypeHbm = 2, kHbmMhz = 1600;

// One answer about a device's health.
template <typename Value, typename Make>
int Health(int device, Value* to, const Make& make) {
  if (to == nullptr) return kBadParameter;
  if (device < 0 || device >= static_cast<int>(halSimDeviceCount())) return kNoDevice;
  if (const auto fault = Fault(Call::kCardHealth, device, to, sizeof *to)) return *fault;
  profd::sim::HealthConfig health;
  halSimHealth(&health);
  *to = make(health);
  return kOk;
}
int Power(int device, int* to) {
  return Health(device, to,
                [device](const auto& of) { return of.power < 0 ? of.power : of.power + 10 * device; });
}
int Temperature(int device, int* to) {
  return Health(device, to, [device](const auto& of) { return of.temperature + device; });
}
int Alarm(int device, unsigned* to) {
  return Health(device, to, [](const auto& of) { return of.alarm; });
}
int EccOf(int device, int type, Ecc* to) {
  if (type != kTypeHbm) return kBadParameter;
  return Health(device, to, [](const auto& of) {
    return Ecc{1, of.corrected, of.uncorrected, of.corrected, of.uncorrected, 0, of.isolated_pages, 0, 0};
  });
}
int MemoryOf(int device, Memory* to) {
  return Health(device, to, [device](const auto& of) {
    return Memory{of.hbm_mb, kHbmMhz, of.hbm_used_mb, of.hbm_temperature + device, 0};
  });
}
int FaultCodes(int device, int* count, unsigned* codes, unsigned room) {
  if (codes == nullptr || room == 0) return kBadParameter;
  codes[0] = 0x80E01801;
  return Health(device, count, [](const auto& of) { return of.faults; });
}
int Network(int device, int* to) {
  return Health(device, to, [](const auto& of) { return of.network; });
}

}  // namespace

#ifdef PROFD_SIM_CARDS_2

PROFD_SIM_EXPORT int dcmiv2_init() { return Fault(Call::kInitCards, 0).value_or(kOk); }
PROFD_SIM_EXPORT int dcmiv2_get_netdev_pkt_stats_info(int device, int port, PortTotals* totals) {
  return Totals(device, port, totals);
}
PROFD_SIM_EXPORT int dcmiv2_get_device_power_info(int device, int* to) { return Power(device, to); }
PROFD_SIM_EXPORT int dcmiv2_get_device_temperature(int device, int* to) { return Temperature(device, to); }
PROFD_SIM_EXPORT int dcmiv2_get_device_health(int device, unsigned* to) { return Alarm(device, to); }
PROFD_SIM_EXPORT int dcmiv2_get_device_ecc_info(int device, int type, Ecc* to) {
  return EccOf(device, type, to);
}
PROFD_SIM_EXPORT int dcmiv2_get_device_hbm_info(int device, Memory* to) { return MemoryOf(device, to); }
PROFD_SIM_EXPORT int dcmiv2_get_device_error_code_list(int device, int* count, unsigned* codes,
                                                       unsigned room) {
  return FaultCodes(device, count, codes, room);
}
PROFD_SIM_EXPORT int dcmiv2_get_device_network_health(int device, int* to) { return Network(device, to); }

#else

namespace {

constexpr int kFirstCard = 16;

// -1: there is no such card.
int DeviceOf(int card) {
  const int device = static_cast<int>(halSimDeviceCount()) - 1 - (card - kFirstCard);
  return card < kFirstCard || device < 0 ? -1 : device;
}

}  // namespace

PROFD_SIM_EXPORT int dcmi_init() { return Fault(Call::kInitCards, 0).value_or(kOk); }
PROFD_SIM_EXPORT int dcmi_get_card_list(int* count, int* cards, int most) {
  if (count == nullptr || cards == nullptr) return kBadParameter;
  if (const auto fault = Fault(Call::kCardList, 0, count, sizeof *count)) return *fault;
  for (*count = 0; *count < static_cast<int>(halSimDeviceCount()) && *count < most; ++*count) {
    cards[*count] = kFirstCard + *count;
  }
  return kOk;
}
PROFD_SIM_EXPORT int dcmi_get_device_num_in_card(int card, int* count) {
  if (count == nullptr) return kBadParameter;
  if (const auto fault = Fault(Call::kDevicesOfCard, 0, count, sizeof *count)) return *fault;
  *count = 1;
  return DeviceOf(card) < 0 ? kNoDevice : kOk;
}
PROFD_SIM_EXPORT int dcmi_get_device_logic_id(int* device, int card, int of_card) {
  if (device == nullptr) return kBadParameter;
  if (const auto fault = Fault(Call::kDeviceNumber, 0, device, sizeof *device)) return *fault;
  *device = DeviceOf(card);
  return *device < 0 || of_card != 0 ? kNoDevice : kOk;
}
PROFD_SIM_EXPORT int dcmi_get_netdev_pkt_stats_info(int card, int of_card, int port, PortTotals* totals) {
  return of_card != 0 ? kNoDevice : Totals(DeviceOf(card), port, totals);
}
PROFD_SIM_EXPORT int dcmi_get_device_power_info(int card, int of_card, int* to) {
  return of_card != 0 ? kNoDevice : Power(DeviceOf(card), to);
}
PROFD_SIM_EXPORT int dcmi_get_device_temperature(int card, int of_card, int* to) {
  return of_card != 0 ? kNoDevice : Temperature(DeviceOf(card), to);
}
PROFD_SIM_EXPORT int dcmi_get_device_health(int card, int of_card, unsigned* to) {
  return of_card != 0 ? kNoDevice : Alarm(DeviceOf(card), to);
}
PROFD_SIM_EXPORT int dcmi_get_device_ecc_info(int card, int of_card, int type, Ecc* to) {
  return of_card != 0 ? kNoDevice : EccOf(DeviceOf(card), type, to);
}
PROFD_SIM_EXPORT int dcmi_get_device_hbm_info(int card, int of_card, Memory* to) {
  return of_card != 0 ? kNoDevice : MemoryOf(DeviceOf(card), to);
}
PROFD_SIM_EXPORT int dcmi_get_device_errorcode_v2(int card, int of_card, int* count, unsigned* codes,
                                                  unsigned room) {
  return of_card != 0 ? kNoDevice : FaultCodes(DeviceOf(card), count, codes, room);
}
PROFD_SIM_EXPORT int dcmi_get_device_network_health(int card, int of_card, int* to) {
  return of_card != 0 ? kNoDevice : Network(DeviceOf(card), to);
}

#endif
