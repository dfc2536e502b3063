// The vendor's card library, libdcmi.so, which comes with the driver: it counts what passes the ports of
// devices, and says how hot, how powerful and how healthy they are.
// Source of its functions, numbers and structures: the vendor's "DCMI API Reference" of the 910B and
// dcmi_interface_api.h of Ascend/mind-cluster (22bb3d98). A newer library counts devices (dcmiv2_…), an older
// one counts cards with devices on them (dcmi_…).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/status.h"
#include "daemon/driver/ascend/vendor_library.h"

namespace profd::driver {

// What a function of it answers.
inline constexpr int kCardDone = 0, kCardForbidden = -8002, kCardUnsupported = -8255;

// LP64.
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
static_assert(sizeof(PortTotals) == 48 * 8 + 2 * 8 + 64);

struct CardMemory {
  uint64_t total_mb;  // of 1024 * 1024 bytes
  uint32_t mhz;
  uint64_t used_mb;
  int32_t celsius;
  uint32_t bandwidth_percent;
};
static_assert(sizeof(CardMemory) == 32);

struct CardEcc {
  int32_t enabled;
  uint32_t corrected, uncorrected;  // single and double bits, since the device was reset
  uint32_t corrected_in_life, uncorrected_in_life;
  uint32_t corrected_pages, uncorrected_pages;  // that are isolated
  uint32_t reserved[9];                         // newer libraries write two more
};

struct CardLibrary {
  // A function in its two shapes; nullptr: the library has it not.
  template <typename... More>
  struct Function {
    int (*of_device)(int device, More...) = nullptr;
    int (*of_card)(int card, int device_of_card, More...) = nullptr;
  };
  struct Place {
    int device = 0;
    int card = 0, of_card = 0;  // where it sits, for a library that counts cards
  };

  explicit CardLibrary(const VendorLibrary& library);

  // Nothing of it can be asked otherwise.
  bool has_devices() const {
    return counts_devices_ || (init_ != nullptr && cards_ != nullptr && devices_of_ != nullptr);
  }
  int Begin() const { return counts_devices_ ? init2_() : init_(); }
  std::optional<Place> PlaceOf(uint32_t device) const;
  template <typename... More>
  bool Has(const Function<More...>& function) const {
    return counts_devices_ ? function.of_device != nullptr : function.of_card != nullptr;
  }
  template <typename... More>
  int Ask(const Function<More...>& function, const Place& place, std::type_identity_t<More>... more) const {
    if (!Has(function)) return kCardUnsupported;
    return counts_devices_ ? function.of_device(place.device, more...)
                           : function.of_card(place.card, place.of_card, more...);
  }

  Function<int, PortTotals*> port_totals;
  Function<int*> power;        // 0.1 W
  Function<int*> temperature;  // °C
  Function<uint32_t*> health;  // 0 well, 1 minor, 2 major, 3 critical alarm
  Function<int, CardEcc*> ecc;
  Function<CardMemory*> memory;
  Function<int*, uint32_t*, uint32_t> faults;  // how many, their codes, room for so many of these
  Function<int*> network;                      // 0: the address it is to reach answers

 private:
  std::optional<Place> FindOnCards(uint32_t device) const;

  bool counts_devices_ = false;
  int (*init2_)() = nullptr;
  int (*init_)() = nullptr;
  int (*cards_)(int* count, int* cards, int most) = nullptr;
  int (*devices_of_)(int card, int* count) = nullptr;
  int (*device_number_)(int* device, int card, int device_of_card) = nullptr;
};

// The library of this node, loaded by the first who needs it, for the life of the process.
// **Thread:** any.
class Cards {
 public:
  explicit Cards(std::vector<std::string> folders) : folders_(std::move(folders)) {}

  // Why there is none, as far as files tell; "" = nothing stands in the way.
  std::string Missing() const;
  // Takes as long as the library likes.
  base::Result<std::shared_ptr<const CardLibrary>> Load();

 private:
  const std::vector<std::string> folders_;
  std::mutex loading_;
  std::shared_ptr<const CardLibrary> library_;  // under loading_
};

// Where the card library is, most likely first; `driver_library`: the driver's, beside which it is installed.
std::vector<std::string> CardFolders(const std::string& driver_library);

}  // namespace profd::driver
