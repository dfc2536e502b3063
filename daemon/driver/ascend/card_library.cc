#include "daemon/driver/ascend/card_library.h"

#include <algorithm>
#include <array>

#include "daemon/driver/driver.h"

namespace profd::driver {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr char kLibraryName[] = "libdcmi.so";
constexpr int kMostCards = 64;

}  // namespace

CardLibrary::CardLibrary(const VendorLibrary& library) {
  library.Bind(init2_, "dcmiv2_init");
  library.Bind(init_, "dcmi_init");
  library.Bind(cards_, "dcmi_get_card_list");
  library.Bind(devices_of_, "dcmi_get_device_num_in_card");
  library.Bind(device_number_, "dcmi_get_device_logic_id");
  library.Bind(port_totals.of_device, "dcmiv2_get_netdev_pkt_stats_info");
  library.Bind(port_totals.of_card, "dcmi_get_netdev_pkt_stats_info");
  library.Bind(power.of_device, "dcmiv2_get_device_power_info");
  library.Bind(power.of_card, "dcmi_get_device_power_info");
  library.Bind(temperature.of_device, "dcmiv2_get_device_temperature");
  library.Bind(temperature.of_card, "dcmi_get_device_temperature");
  library.Bind(health.of_device, "dcmiv2_get_device_health");
  library.Bind(health.of_card, "dcmi_get_device_health");
  library.Bind(ecc.of_device, "dcmiv2_get_device_ecc_info");
  library.Bind(ecc.of_card, "dcmi_get_device_ecc_info");
  library.Bind(memory.of_device, "dcmiv2_get_device_hbm_info");
  library.Bind(memory.of_card, "dcmi_get_device_hbm_info");
  library.Bind(faults.of_device, "dcmiv2_get_device_error_code_list");
  library.Bind(faults.of_card, "dcmi_get_device_errorcode_v2");
  library.Bind(network.of_device, "dcmiv2_get_device_network_health");
  library.Bind(network.of_card, "dcmi_get_device_network_health");
  counts_devices_ =
      init2_ != nullptr && (port_totals.of_device != nullptr || temperature.of_device != nullptr);
}

std::optional<CardLibrary::Place> CardLibrary::PlaceOf(uint32_t device) const {
  if (counts_devices_) return Place{.device = static_cast<int>(device)};
  return FindOnCards(device);
}

// As the vendor's collector finds it, all cards alike, where the library does not say.
std::optional<CardLibrary::Place> CardLibrary::FindOnCards(uint32_t device) const {
  const int number = static_cast<int>(device);
  std::array<int, kMostCards> list{};
  int count = 0;
  if (cards_(&count, list.data(), kMostCards) != kCardDone) return {};
  count = std::clamp(count, 0, kMostCards);
  int on_first = 0;
  for (int i = 0; i < count; ++i) {
    int devices = 0;
    if (devices_of_(list[i], &devices) != kCardDone) continue;
    devices = std::clamp(devices, 0, static_cast<int>(kMaxDevices));
    if (i == 0) on_first = devices;
    for (int of_card = 0; device_number_ != nullptr && of_card < devices; ++of_card) {
      int found = -1;
      if (device_number_(&found, list[i], of_card) == kCardDone && found == number) {
        return Place{number, list[i], of_card};
      }
    }
  }
  if (device_number_ != nullptr || on_first == 0 || number / on_first >= count) return {};
  return Place{number, list[number / on_first], number % on_first};
}

std::vector<std::string> CardFolders(const std::string& driver_library) {
  std::vector<std::string> folders;
  if (std::string beside = FolderOf(driver_library); !beside.empty()) folders.push_back(std::move(beside));
  for (const char* usual : {"/usr/local/dcmi", "/usr/local/Ascend/driver/lib64/driver"})
    folders.emplace_back(usual);
  return folders;
}

std::string Cards::Missing() const {
  if (!FindLibrary(folders_, kLibraryName).empty()) return {};
  return std::string(kLibraryName) +
         ", which tells of the ports and the health of devices, is not on this node: it comes with the "
         "driver";
}

Result<std::shared_ptr<const CardLibrary>> Cards::Load() {
  const std::lock_guard lock(loading_);
  if (library_ != nullptr) return library_;
  const std::string path = FindLibrary(folders_, kLibraryName);
  if (path.empty()) return Status(Code::kUnavailable, Missing());
  PROFD_ASSIGN_OR_RETURN(const VendorLibrary loaded, VendorLibrary::Load(path));
  auto library = std::make_shared<CardLibrary>(loaded);
  if (!library->has_devices()) return Status(Code::kUnimplemented, "the card library counts no devices");
  if (library->Begin() != kCardDone) return Status(Code::kUnavailable, "the card library finds no devices");
  library_ = std::move(library);
  return library_;
}

}  // namespace profd::driver
