#include "daemon/driver/ascend/port_counters.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "daemon/driver/ascend/vendor_library.h"
#include "daemon/driver/driver.h"
#include "daemon/driver/host_mounts.h"

namespace profd::driver {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr char kLibraryName[] = "libdcmi.so";
constexpr int kPort = 0;  // the only one there is
constexpr int kMostCards = 64;
constexpr size_t kMostBytes = 1u << 20;  // of lines that nobody reads: a minute at the highest rate
constexpr int kFailed = -1, kNoAnswer = -2, kNoSuchChannel = -7;

// The library's numbers and structure, LP64.
constexpr int kDone = 0, kForbidden = -8002, kUnsupported = -8255;
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

// A line of netdev_stats.data.
std::string LineOf(uint64_t raw_ns, const PortTotals& t) {
  const std::array<uint64_t, 16> numbers = {
      raw_ns,         t.mac_tx_pfc,       t.mac_rx_pfc,       t.mac_tx_bytes,
      t.mac_rx_bytes, t.mac_tx_bad_bytes, t.mac_rx_bad_bytes, t.roce_tx_all,
      t.roce_rx_all,  t.roce_tx_errors,   t.roce_rx_errors,   t.roce_tx_cnp,
      t.roce_rx_cnp,  t.roce_retries,     t.nic_tx_bytes,     t.nic_rx_bytes};
  std::string line;
  for (const uint64_t number : numbers) line += (line.empty() ? "" : " ") + std::to_string(number);
  return line += '\n';
}

int CodeOf(int of_library) {
  switch (of_library) {
    case kDone:
      return kOk;
    case kForbidden:
      return 46;
    case kUnsupported:
      return kNoSuchChannel;
    default:
      return 7;
  }
}

}  // namespace

struct PortCounters::Library {
  // Newer libraries count devices, older ones cards with devices on them.
  int (*init2)() = nullptr;
  int (*totals2)(int device, int port, PortTotals*) = nullptr;
  int (*init)() = nullptr;
  int (*cards)(int* count, int* cards, int most) = nullptr;
  int (*devices_of)(int card, int* count) = nullptr;
  int (*device_number)(int* device, int card, int device_of_card) = nullptr;
  int (*totals)(int card, int device, int port, PortTotals*) = nullptr;

  explicit Library(const VendorLibrary& library) {
    library.Bind(init2, "dcmiv2_init");
    library.Bind(totals2, "dcmiv2_get_netdev_pkt_stats_info");
    library.Bind(init, "dcmi_init");
    library.Bind(cards, "dcmi_get_card_list");
    library.Bind(devices_of, "dcmi_get_device_num_in_card");
    library.Bind(device_number, "dcmi_get_device_logic_id");
    library.Bind(totals, "dcmi_get_netdev_pkt_stats_info");
  }
  bool counts_devices() const { return init2 != nullptr && totals2 != nullptr; }
  bool counts_cards() const {
    return init != nullptr && cards != nullptr && devices_of != nullptr && totals != nullptr;
  }

  struct Place {
    int card = 0, device = 0;
  };
  // Where a device sits. As the vendor's collector finds it, all cards alike, where the library does not say.
  std::optional<Place> PlaceOf(uint32_t device) const {
    std::array<int, kMostCards> list{};
    int count = 0;
    if (cards(&count, list.data(), kMostCards) != kDone) return {};
    count = std::clamp(count, 0, kMostCards);
    int on_first = 0;
    for (int i = 0; i < count; ++i) {
      int devices = 0;
      if (devices_of(list[i], &devices) != kDone) continue;
      devices = std::clamp(devices, 0, static_cast<int>(kMaxDevices));
      if (i == 0) on_first = devices;
      for (int of_card = 0; device_number != nullptr && of_card < devices; ++of_card) {
        int number = -1;
        if (device_number(&number, list[i], of_card) == kDone && number == static_cast<int>(device)) {
          return Place{list[i], of_card};
        }
      }
    }
    if (device_number != nullptr || on_first == 0 || static_cast<int>(device) / on_first >= count) return {};
    return Place{list[static_cast<int>(device) / on_first], static_cast<int>(device) % on_first};
  }
};

// One device's, while it is started and until the rest is read. Its thread has it, too.
class PortCounters::Port : public std::enable_shared_from_this<Port> {
 public:
  Port(std::shared_ptr<const Library> library, uint32_t device, Library::Place place)
      : library_(std::move(library)), device_(device), place_(place) {}

  int Ask(PortTotals* totals) const {
    *totals = {};
    return library_->counts_devices() ? library_->totals2(static_cast<int>(device_), kPort, totals)
                                      : library_->totals(place_.card, place_.device, kPort, totals);
  }

  void Start(uint32_t period_ms) {
    started_ = true;
    StartDriverThread("port-" + std::to_string(device_), [self = shared_from_this(), period_ms] {
      self->Body(period_ms);
    }).detach();
  }
  // No more lines come. Does not wait for the library.
  void Leave() {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  // Waits for it.
  void Stop() {
    Leave();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !started_; });
  }
  bool started() const {
    const std::lock_guard lock(mutex_);
    return started_;
  }

  int Read(std::byte* out, uint32_t bytes) {
    const std::lock_guard lock(mutex_);
    if (lines_.empty()) return stopping_ ? kStoppedAlready : failing_ ? kNoAnswer : 0;
    const size_t size = std::min<size_t>(lines_.size(), bytes);
    std::memcpy(out, lines_.data(), size);
    lines_.erase(0, size);
    return static_cast<int>(size);
  }

 private:
  void Body(uint32_t period_ms) {
    using Clock = std::chrono::steady_clock;
    const auto period = std::chrono::milliseconds(std::max(period_ms, 1U));
    auto due = Clock::now();
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      lock.unlock();
      PortTotals totals;
      const uint64_t before = base::RawNs();
      const bool answered = Ask(&totals) == kDone;
      const uint64_t raw_ns = before + (base::RawNs() - before) / 2;
      lock.lock();
      failing_ = !answered;
      if (answered && lines_.size() < kMostBytes) lines_ += LineOf(raw_ns, totals);
      due += period;
      if (const auto now = Clock::now(); due < now)
        due += (now - due) / period * period + period;  // missed ones
      changed_.wait_until(lock, due, [this] { return stopping_; });
    }
    started_ = false;
    changed_.notify_all();
  }

  const std::shared_ptr<const Library> library_;
  const uint32_t device_;
  const Library::Place place_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false;  // and its thread has not ended
  bool stopping_ = false;
  bool failing_ = false;
  std::string lines_;
};

std::vector<std::string> CardFolders(const std::string& driver_library) {
  std::vector<std::string> folders;
  if (std::string beside = FolderOf(driver_library); !beside.empty()) folders.push_back(std::move(beside));
  for (const char* usual : {"/usr/local/dcmi", "/usr/local/Ascend/driver/lib64/driver"})
    folders.emplace_back(usual);
  return folders;
}

PortCounters::PortCounters(std::vector<std::string> folders) : folders_(std::move(folders)) {}
PortCounters::~PortCounters() {
  for (const auto& [device, port] : ports_) port->Leave();
}

std::string PortCounters::Missing() const {
  if (!FindLibrary(folders_, kLibraryName).empty()) return {};
  return std::string(kLibraryName) +
         ", which counts the ports of devices, is not on this node: it comes with the driver";
}

Result<std::shared_ptr<const PortCounters::Library>> PortCounters::Load() {
  const std::lock_guard lock(loading_);
  if (library_ != nullptr) return library_;
  const std::string path = FindLibrary(folders_, kLibraryName);
  if (path.empty()) return Status(Code::kUnavailable, Missing());
  PROFD_ASSIGN_OR_RETURN(const VendorLibrary loaded, VendorLibrary::Load(path));
  auto library = std::make_shared<const Library>(loaded);
  if (!library->counts_devices() && !library->counts_cards()) {
    return Status(Code::kUnimplemented, "the card library counts no ports");
  }
  if ((library->counts_devices() ? library->init2() : library->init()) != kDone) {
    return Status(Code::kUnavailable, "the card library finds no devices");
  }
  library_ = std::move(library);
  return library_;
}

std::shared_ptr<PortCounters::Port> PortCounters::Find(uint32_t device) {
  const std::lock_guard lock(mutex_);
  const auto found = ports_.find(device);
  return found == ports_.end() ? nullptr : found->second;
}

int PortCounters::Start(uint32_t device, uint32_t period_ms) {
  if (const auto port = Find(device); port != nullptr && port->started()) return kStateBusy;
  const auto library = Load();
  if (!library.ok()) return library.status().code() == Code::kUnimplemented ? kNotSupported : kFailed;
  Library::Place place;
  if (!(*library)->counts_devices()) {
    const auto found = (*library)->PlaceOf(device);
    if (!found) return 1;
    place = *found;
  }
  auto port = std::make_shared<Port>(*library, device, place);
  PortTotals totals;
  if (const int code = port->Ask(&totals); code != kDone) return CodeOf(code);
  port->Start(period_ms);
  const std::lock_guard lock(mutex_);
  ports_[device] = std::move(port);
  return kOk;
}

int PortCounters::Stop(uint32_t device) {
  const auto port = Find(device);
  if (port == nullptr || !port->started()) return kStateBusy;
  port->Stop();
  return kOk;
}

int PortCounters::Read(uint32_t device, std::byte* out, uint32_t bytes) {
  const auto port = Find(device);
  return port == nullptr ? kStoppedAlready : port->Read(out, bytes);
}

}  // namespace profd::driver
