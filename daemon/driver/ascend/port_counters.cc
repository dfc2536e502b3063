#include "daemon/driver/ascend/port_counters.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "daemon/driver/driver.h"
#include "daemon/driver/host_mounts.h"

namespace profd::driver {

namespace {

constexpr int kPort = 0;                 // the only one there is
constexpr size_t kMostBytes = 1u << 20;  // of lines that nobody reads: a minute at the highest rate
constexpr int kFailed = -1, kNoAnswer = -2, kNoSuchChannel = -7;

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
    case kCardDone:
      return kOk;
    case kCardForbidden:
      return 46;
    case kCardUnsupported:
      return kNoSuchChannel;
    default:
      return 7;
  }
}

}  // namespace

// One device's, while it is started and until the rest is read. Its thread has it, too.
class PortCounters::Port : public std::enable_shared_from_this<Port> {
 public:
  Port(std::shared_ptr<const CardLibrary> library, uint32_t device, CardLibrary::Place place)
      : library_(std::move(library)), device_(device), place_(place) {}

  int Ask(PortTotals* totals) const {
    *totals = {};
    return library_->Ask(library_->port_totals, place_, kPort, totals);
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
      const bool answered = Ask(&totals) == kCardDone;
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

  const std::shared_ptr<const CardLibrary> library_;
  const uint32_t device_;
  const CardLibrary::Place place_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false;  // and its thread has not ended
  bool stopping_ = false;
  bool failing_ = false;
  std::string lines_;
};

PortCounters::PortCounters(std::shared_ptr<Cards> cards) : cards_(std::move(cards)) {}
PortCounters::~PortCounters() {
  for (const auto& [device, port] : ports_) port->Leave();
}

std::shared_ptr<PortCounters::Port> PortCounters::Find(uint32_t device) {
  const std::lock_guard lock(mutex_);
  const auto found = ports_.find(device);
  return found == ports_.end() ? nullptr : found->second;
}

int PortCounters::Start(uint32_t device, uint32_t period_ms) {
  if (const auto port = Find(device); port != nullptr && port->started()) return kStateBusy;
  const auto library = cards_->Load();
  if (!library.ok()) return library.status().code() == base::Code::kUnimplemented ? kNotSupported : kFailed;
  if (!(*library)->Has((*library)->port_totals)) return kNotSupported;
  const auto place = (*library)->PlaceOf(device);
  if (!place) return 1;
  auto port = std::make_shared<Port>(*library, device, *place);
  PortTotals totals;
  if (const int code = port->Ask(&totals); code != kCardDone) return CodeOf(code);
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
