#include "daemon/driver/ascend/port_counters.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "daemon/driver/driver.h"
#include "daemon/driver/host_mounts.h"

namespace profd::driver {

namespace {

constexpr int kPort = 0;                 // the only one there is
constexpr size_t kMostBytes = 1u << 20;  // of lines that nobody reads: a minute at the highest rate
constexpr int kFailed = -1, kNoAnswer = -2, kNoSuchChannel = -7;

// A line of netdev_stats.data, behind `lines`.
void AddLine(uint64_t raw_ns, const PortTotals& t, std::string& lines) {
  const std::array<uint64_t, 16> numbers = {
      raw_ns,         t.mac_tx_pfc,       t.mac_rx_pfc,       t.mac_tx_bytes,
      t.mac_rx_bytes, t.mac_tx_bad_bytes, t.mac_rx_bad_bytes, t.roce_tx_all,
      t.roce_rx_all,  t.roce_tx_errors,   t.roce_rx_errors,   t.roce_tx_cnp,
      t.roce_rx_cnp,  t.roce_retries,     t.nic_tx_bytes,     t.nic_rx_bytes};
  constexpr size_t kMostOfNumber = 21;  // with what stands behind it
  char line[numbers.size() * kMostOfNumber];
  char* end = line;
  for (const uint64_t number : numbers) {
    end = std::to_chars(end, std::end(line), number).ptr;
    *end++ = ' ';
  }
  end[-1] = '\n';
  lines.append(line, end);
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

using Clock = std::chrono::steady_clock;
constexpr auto kPatience =
    std::chrono::milliseconds(100);  // beyond it, a device that is asked holds up others

// The next of the moments that all ports with this period share.
Clock::time_point NextOf(std::chrono::milliseconds period) {
  const auto now = Clock::now().time_since_epoch();
  return Clock::time_point((now / period + 1) * period);
}

}  // namespace

// One device's, from its start until its rest is read.
struct PortCounters::Port {
  std::shared_ptr<const CardLibrary> library;
  CardLibrary::Place place;
  std::chrono::milliseconds period{};
  Clock::time_point due{};
  uint64_t reader = 0;  // the thread that asks for it; 0: none does
  bool stopping = false;
  bool failing = false;
  std::string lines = {};

  int Ask(PortTotals* totals) const {
    *totals = {};
    return library->Ask(library->port_totals, place, kPort, totals);
  }
};

class PortCounters::Ports : public std::enable_shared_from_this<Ports> {
 public:
  bool IsStarted(uint32_t device) {
    const std::lock_guard lock(mutex_);
    const auto found = ports_.find(device);
    return found != ports_.end() && found->second.reader != 0;
  }

  void Start(uint32_t device, Port port) {
    uint64_t new_reader = 0;
    {
      const std::lock_guard lock(mutex_);
      new_reader = TakeOver();
      if (shared_ == 0) new_reader = shared_ = ++readers_;
      port.reader = shared_;
      port.due = NextOf(port.period);
      ports_.insert_or_assign(device, std::move(port));
      changed_.notify_all();
    }
    Launch(new_reader);
  }

  // Waits for the library.
  void Stop(uint32_t device) {
    std::unique_lock lock(mutex_);
    Port& port = ports_.at(device);
    port.stopping = true;
    changed_.notify_all();
    while (port.reader != 0) {
      changed_.wait_for(lock, kPatience);
      const uint64_t new_reader = TakeOver();
      lock.unlock();
      Launch(new_reader);
      lock.lock();
    }
  }
  void LeaveAll() {
    const std::lock_guard lock(mutex_);
    for (auto& [device, port] : ports_) port.stopping = true;
    changed_.notify_all();
  }

  int Read(uint32_t device, std::byte* out, uint32_t bytes) {
    uint64_t new_reader = 0;
    const int got = [&] {
      const std::lock_guard lock(mutex_);
      new_reader = TakeOver();
      const auto found = ports_.find(device);
      if (found == ports_.end()) return kStoppedAlready;
      Port& port = found->second;
      if (port.lines.empty()) return port.stopping ? kStoppedAlready : port.failing ? kNoAnswer : 0;
      const size_t size = std::min<size_t>(port.lines.size(), bytes);
      std::memcpy(out, port.lines.data(), size);
      port.lines.erase(0, size);
      return static_cast<int>(size);
    }();
    Launch(new_reader);
    return got;
  }

 private:
  // Needs the mutex. Where the thread that is shared waits for a device, the others' ports get a new one: its
  // number, which is to be launched; else 0.
  uint64_t TakeOver() {
    if (shared_ == 0 || !asking_since_ || Clock::now() - *asking_since_ < kPatience) return 0;
    const uint64_t hangs = std::exchange(shared_, 0);
    asking_since_.reset();
    for (auto& [device, port] : ports_) {
      if (port.reader != hangs || device == asked_) continue;
      if (shared_ == 0) shared_ = ++readers_;
      port.reader = shared_;
    }
    return shared_;
  }

  void Launch(uint64_t reader) {
    if (reader == 0) return;
    StartDriverThread("ports", [self = shared_from_this(), reader] { self->Serve(reader); }).detach();
  }

  void Serve(uint64_t own) {
    std::unique_lock lock(mutex_);
    while (const auto next = NextFor(own)) {
      if (Port& port = ports_.at(*next); Clock::now() < port.due) {
        changed_.wait_until(lock, port.due);
      } else {
        AskFor(*next, port, own, lock);
      }
    }
    if (shared_ == own) shared_ = 0;
  }

  // Needs the mutex. The device that is due next; none: this thread has nothing more to do.
  std::optional<uint32_t> NextFor(uint64_t own) {
    std::optional<uint32_t> next;
    for (auto& [device, port] : ports_) {
      if (port.reader != own) continue;
      if (port.stopping) {
        port.reader = 0;
        changed_.notify_all();
      } else if (!next || port.due < ports_.at(*next).due) {
        next = device;
      }
    }
    return next;
  }

  // A port that has a reader stays where it is.
  void AskFor(uint32_t device, Port& port, uint64_t own, std::unique_lock<std::mutex>& lock) {
    if (shared_ == own) {
      asked_ = device;
      asking_since_ = Clock::now();
    }
    lock.unlock();
    PortTotals totals;
    const uint64_t before = base::RawNs();
    const bool answered = port.Ask(&totals) == kCardDone;
    const uint64_t raw_ns = before + (base::RawNs() - before) / 2;
    lock.lock();
    if (shared_ == own) asking_since_.reset();
    port.failing = !answered;
    if (answered && port.lines.size() < kMostBytes) AddLine(raw_ns, totals, port.lines);
    port.due = NextOf(port.period);  // those that were missed are
  }

  std::mutex mutex_;  // guards all
  std::condition_variable changed_;
  std::map<uint32_t, Port> ports_;
  uint64_t readers_ = 0;  // threads ever
  uint64_t shared_ = 0;   // the one that serves all ports that answer; 0: none
  uint32_t asked_ = 0;    // by that one
  std::optional<Clock::time_point> asking_since_;
};

PortCounters::PortCounters(std::shared_ptr<Cards> cards)
    : cards_(std::move(cards)), ports_(std::make_shared<Ports>()) {}
PortCounters::~PortCounters() { ports_->LeaveAll(); }

int PortCounters::Start(uint32_t device, uint32_t period_ms) {
  if (ports_->IsStarted(device)) return kStateBusy;
  const auto library = cards_->Load();
  if (!library.ok()) return library.status().code() == base::Code::kUnimplemented ? kNotSupported : kFailed;
  if (!(*library)->Has((*library)->port_totals)) return kNotSupported;
  const auto place = (*library)->PlaceOf(device);
  if (!place) return 1;
  Port port{
      .library = *library, .place = *place, .period = std::chrono::milliseconds(std::max(period_ms, 1U))};
  PortTotals totals;
  if (const int code = port.Ask(&totals); code != kCardDone) return CodeOf(code);
  ports_->Start(device, std::move(port));
  return kOk;
}

int PortCounters::Stop(uint32_t device) {
  if (!ports_->IsStarted(device)) return kStateBusy;
  ports_->Stop(device);
  return kOk;
}

int PortCounters::Read(uint32_t device, std::byte* out, uint32_t bytes) {
  return ports_->Read(device, out, bytes);
}

}  // namespace profd::driver
