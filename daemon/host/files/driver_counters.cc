#include "daemon/host/files/driver_counters.h"

#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/mapped_region.h"
#include "base/status.h"
#include "base/threads/thread.h"
#include "base/unique_fd.h"

namespace profd::host {

using base::UniqueFd;

namespace {

enum Number : size_t {
  kReceived,
  kSent,
  kReceivedOf,
  kSentOf = kReceivedOf + 8,
  kDiscards = kSentOf + 8,
  kNoBuffer,
  kMarked
};
static_assert(kMarked + 1 == kPfcNumbers);

// As the kernel's drivers name them.
struct Known {
  std::string_view name;
  size_t number;
};
constexpr Known kKnown[] = {
    {"rx_pause_ctrl_phy", kReceived},     // mlx5_core
    {"tx_pause_ctrl_phy", kSent},         //
    {"rx_discards_phy", kDiscards},       //
    {"rx_out_of_buffer", kNoBuffer},      //
    {"rx_ecn_mark", kMarked},             //
    {"mac_rx_mac_pause_num", kReceived},  // hns3
    {"mac_tx_mac_pause_num", kSent},      //
    {"mac_rx_pause_num", kReceived},      // hinic, hinic3
    {"mac_tx_pause_num", kSent},          //
};
// Of a priority, whose digit is between.
struct KnownOfPriority {
  std::string_view head, tail;
  size_t number;
};
constexpr KnownOfPriority kKnownOfPriority[] = {
    {"rx_prio", "_pause", kReceivedOf},           // mlx5_core
    {"tx_prio", "_pause", kSentOf},               //
    {"mac_rx_pfc_pri", "_pkt_num", kReceivedOf},  // hns3, hinic, hinic3
    {"mac_tx_pfc_pri", "_pkt_num", kSentOf},      //
};

constexpr uint32_t kMostCounters = 1 << 15;
// The kernel writes as many as there are by then, however many were asked for.
constexpr size_t kRoom = 2;
constexpr auto kPeriod = std::chrono::seconds(1);

UniqueFd& Socket() {
  static UniqueFd socket;
  return socket;
}

bool Ask(const std::string& interface, void* command) {
  ifreq request{};
  if (interface.size() >= sizeof request.ifr_name) return false;
  interface.copy(request.ifr_name, interface.size());
  request.ifr_data = static_cast<char*>(command);
  return Socket() && ::ioctl(Socket().get(), SIOCETHTOOL, &request) == 0;
}

uint32_t CountOf(const std::string& interface) {
  alignas(ethtool_sset_info) std::array<std::byte, sizeof(ethtool_sset_info) + sizeof(uint32_t)> room{};
  auto* command = reinterpret_cast<ethtool_sset_info*>(room.data());
  command->cmd = ETHTOOL_GSSET_INFO;
  command->sset_mask = uint64_t{1} << ETH_SS_STATS;
  if (!Ask(interface, command) || command->sset_mask == 0) return 0;
  return command->data[0] <= kMostCounters ? command->data[0] : 0;
}

// Of an interface: which of its counters are which numbers of the row.
struct Plan {
  uint32_t count = 0;
  std::vector<std::pair<size_t, size_t>> places;
};

Plan MakePlan(const std::string& interface, uint32_t count) {
  Plan plan{.count = count, .places = {}};
  const std::vector<std::string> names = DriverCounterNames(interface);
  for (size_t i = 0; i < names.size(); ++i) {
    if (const auto number = PfcColumn(names[i])) plan.places.emplace_back(i, *number);
  }
  return plan;
}

}  // namespace

std::optional<size_t> PfcColumn(std::string_view counter) {
  for (const Known& known : kKnown) {
    if (counter == known.name) return known.number;
  }
  for (const KnownOfPriority& known : kKnownOfPriority) {
    const size_t at = known.head.size();
    if (counter.size() != at + 1 + known.tail.size() || !counter.starts_with(known.head) ||
        !counter.ends_with(known.tail) || counter[at] < '0' || counter[at] > '7')
      continue;
    return known.number + static_cast<size_t>(counter[at] - '0');
  }
  return std::nullopt;
}

std::vector<std::string> DriverCounterNames(const std::string& interface) {
  std::vector<std::string> names;
  const uint32_t count = CountOf(interface);
  const base::MappedRegion room(sizeof(ethtool_gstrings) + size_t{kMostCounters} * kRoom * ETH_GSTRING_LEN);
  if (count == 0 || !room) return names;
  auto* command = reinterpret_cast<ethtool_gstrings*>(room.data());
  command->cmd = ETHTOOL_GSTRINGS;
  command->string_set = ETH_SS_STATS;
  command->len = count;
  if (!Ask(interface, command)) return names;
  for (uint32_t i = 0; i < std::min(count, command->len); ++i) {
    const auto* name = reinterpret_cast<const char*>(command->data) + size_t{i} * ETH_GSTRING_LEN;
    names.emplace_back(name, ::strnlen(name, ETH_GSTRING_LEN));
  }
  return names;
}

void DriverCounters::Hold() {
  if (Socket()) return;
  const UniqueFd own(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
  const UniqueFd of_first(::open("/proc/1/ns/net", O_RDONLY | O_CLOEXEC));
  struct stat ours {
  }, theirs{};
  const bool elsewhere = own && of_first && ::fstat(own.get(), &ours) == 0 &&
                         ::fstat(of_first.get(), &theirs) == 0 && ours.st_ino != theirs.st_ino;
  if (elsewhere && ::setns(of_first.get(), CLONE_NEWNET) != 0) return;
  Socket().Reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));  // any does
  if (elsewhere) PROFD_CHECK(::setns(own.get(), CLONE_NEWNET) == 0);
}

struct DriverCounters::Shared {
  void Run() {
    const base::MappedRegion room(sizeof(ethtool_stats) + size_t{kMostCounters} * kRoom * sizeof(uint64_t));
    std::unique_lock lock(mutex);
    while (!ending && room) {
      const std::vector<std::string> asked = interfaces;
      lock.unlock();
      std::erase_if(plans,
                    [&](const auto& plan) { return std::ranges::find(asked, plan.first) == asked.end(); });
      std::map<std::string, PfcNumbers> found;
      for (const std::string& interface : asked) Read(interface, room, found);
      lock.lock();
      latest = std::move(found);
      changed.wait_for(lock, kPeriod, [this] { return ending; });
    }
  }

  void Read(const std::string& interface, const base::MappedRegion& room,
            std::map<std::string, PfcNumbers>& found) {
    const uint32_t count = CountOf(interface);
    Plan& plan = plans[interface];
    if (plan.count != count) plan = MakePlan(interface, count);
    if (plan.places.empty()) return;
    auto* command = reinterpret_cast<ethtool_stats*>(room.data());
    command->cmd = ETHTOOL_GSTATS;
    command->n_stats = count;
    if (!Ask(interface, command) || command->n_stats != count) return;
    PfcNumbers& numbers = found[interface];
    for (const auto& [place, number] : plan.places) {
      uint64_t value = 0;
      std::memcpy(&value, room.data() + sizeof *command + place * sizeof value, sizeof value);
      numbers[number] = value;
    }
  }

  std::map<std::string, Plan> plans;  // of the thread

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> interfaces;
  std::map<std::string, PfcNumbers> latest;
  bool ending = false;
};

DriverCounters::DriverCounters() : shared_(std::make_shared<Shared>()) {
  if (Socket()) base::StartThread("nic-counters", [shared = shared_] { shared->Run(); }).detach();
}

DriverCounters::~DriverCounters() {
  const std::lock_guard lock(shared_->mutex);
  shared_->ending = true;
  shared_->changed.notify_all();
}

void DriverCounters::Watch(std::vector<std::string> interfaces) {
  const std::lock_guard lock(shared_->mutex);
  shared_->interfaces = std::move(interfaces);
}

std::map<std::string, PfcNumbers> DriverCounters::Take() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->latest, {});
}

}  // namespace profd::host
