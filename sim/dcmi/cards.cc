// The simulated card library, libdcmi.so, as far as ports are concerned. The devices are those of the
// simulated driver in the same process, one on each card, and the cards are listed from the last device to
// the first.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "sim/hal/channels/faults.h"
#include "sim/hal/exports/export.h"

using profd::sim::Call;

extern "C" {
bool halSimFails(Call call, unsigned device, void* answer, size_t bytes, int* result);
uint32_t halSimDeviceCount();
int halSimPortTotals(unsigned device, uint64_t totals[15]);
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

}  // namespace

#ifdef PROFD_SIM_CARDS_2

PROFD_SIM_EXPORT int dcmiv2_init() { return Fault(Call::kInitCards, 0).value_or(kOk); }
PROFD_SIM_EXPORT int dcmiv2_get_netdev_pkt_stats_info(int device, int port, PortTotals* totals) {
  return Totals(device, port, totals);
}

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

#endif
