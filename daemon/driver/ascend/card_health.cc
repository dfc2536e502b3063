#include "daemon/driver/ascend/card_health.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "daemon/driver/host_mounts.h"

namespace profd::driver {

namespace {

constexpr auto kPeriod = std::chrono::seconds(5);
constexpr uint64_t kForgottenNs = 30'000'000'000;  // nobody has asked for so long
constexpr int kHbm = 2;                            // of dcmi_device_type
constexpr uint32_t kMostFaults = 128;
// Beyond these an answer is none: 0x7ffd and 0x7fff are the vendor's own for what could not be read.
constexpr int kLeastCelsius = -60, kMostCelsius = 200, kMostDeciwatts = 100'000;
constexpr uint32_t kMostHealth = 3;
constexpr uint64_t kMostMb = uint64_t{1} << 30;
constexpr double kMb = 1024 * 1024;

std::optional<double> Celsius(int value) {
  if (value < kLeastCelsius || value > kMostCelsius) return {};
  return value;
}

void AskMemory(const CardLibrary& library, const CardLibrary::Place& place, DeviceHealth* health) {
  CardMemory memory{};
  if (library.Ask(library.memory, place, &memory) != kCardDone) return;
  // Zeros are the answer of chips without HBM.
  if (memory.total_mb == 0 || memory.total_mb > kMostMb || memory.used_mb > memory.total_mb) return;
  health->memory_bytes = static_cast<double>(memory.total_mb) * kMb;
  health->memory_used_bytes = static_cast<double>(memory.used_mb) * kMb;
  health->memory_celsius = Celsius(memory.celsius);
}

DeviceHealth Ask(const CardLibrary& library, const CardLibrary::Place& place) {
  DeviceHealth health;
  uint32_t number = 0;
  int value = 0;
  if (library.Ask(library.health, place, &number) == kCardDone && number <= kMostHealth)
    health.alarm = number;
  if (library.Ask(library.temperature, place, &value) == kCardDone) health.celsius = Celsius(value);
  value = -1;
  if (library.Ask(library.power, place, &value) == kCardDone && value >= 0 && value <= kMostDeciwatts)
    health.watts = value / 10.0;
  AskMemory(library, place, &health);
  CardEcc ecc{};
  if (library.Ask(library.ecc, place, kHbm, &ecc) == kCardDone && ecc.enabled == 1) {
    health.ecc = DeviceHealth::Ecc{ecc.corrected, ecc.uncorrected, ecc.uncorrected_pages};
  }
  uint32_t codes[kMostFaults] = {};
  value = -1;
  if (library.Ask(library.faults, place, &value, codes, kMostFaults) == kCardDone && value >= 0 &&
      value <= static_cast<int>(kMostFaults))
    health.faults = static_cast<uint32_t>(value);
  value = -1;
  if (library.Ask(library.network, place, &value) == kCardDone && value >= 0 && value <= UINT8_MAX)
    health.network = static_cast<uint32_t>(value);
  return health;
}

}  // namespace

struct CardHealth::State : std::enable_shared_from_this<CardHealth::State> {
  explicit State(std::shared_ptr<Cards> of) : cards(std::move(of)) {}

  struct Device {
    uint64_t asked_ns = 0;                         // for it, last
    std::optional<CardLibrary::Place> place = {};  // once it is found
    DeviceHealth health = {};
  };

  void Run() {
    std::unique_lock lock(mutex);
    while (!leaving) {
      const uint64_t now = base::RawNs();
      std::erase_if(devices, [now](const auto& each) { return now - each.second.asked_ns > kForgottenNs; });
      if (devices.empty()) break;
      std::map<uint32_t, std::optional<CardLibrary::Place>> places;
      for (const auto& [id, device] : devices) places.emplace(id, device.place);
      lock.unlock();
      const auto library = cards->Load();
      for (auto& [id, place] : places) {
        if (!place && library.ok()) place = (*library)->PlaceOf(id);
        DeviceHealth health = place ? Ask(**library, *place) : DeviceHealth{};
        health.wall_ns = base::WallNs();
        const std::lock_guard again(mutex);
        const auto device = devices.find(id);
        if (device == devices.end()) continue;
        device->second.place = place;
        device->second.health = health;
      }
      lock.lock();
      changed.wait_for(lock, kPeriod, [this] { return leaving || is_new; });
      is_new = false;
    }
    runs = false;
  }

  const std::shared_ptr<Cards> cards;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<uint32_t, Device> devices;
  bool is_new = false;  // a device that nobody has asked for before
  bool runs = false;
  bool leaving = false;
};

CardHealth::CardHealth(std::shared_ptr<Cards> cards) : state_(std::make_shared<State>(std::move(cards))) {}

CardHealth::~CardHealth() {
  const std::lock_guard lock(state_->mutex);
  state_->leaving = true;
  state_->changed.notify_all();
}

DeviceHealth CardHealth::Latest(uint32_t device) {
  const std::lock_guard lock(state_->mutex);
  const auto [found, is_new] = state_->devices.try_emplace(device);
  found->second.asked_ns = base::RawNs();
  if (is_new) {
    state_->is_new = true;
    state_->changed.notify_all();
  }
  if (!std::exchange(state_->runs, true)) {
    StartDriverThread("cards", [state = state_] { state->Run(); }).detach();
  }
  return found->second.health;
}

}  // namespace profd::driver
