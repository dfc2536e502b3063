// Stand-ins for what surrounds daemon/device: a driver that does what a test says, ctl, and the writer's end
// of a pipe.
#pragma once

#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/threads/wake_up.h"
#include "daemon/base/timers.h"
#include "daemon/chunk/pipe.h"
#include "daemon/driver/driver.h"
#include "format/records/device.h"

namespace profd::device {

template <typename Record>
std::string Bytes(const Record& record) {
  return {reinterpret_cast<const char*>(&record), sizeof record};
}

// One period of HBM: eight records with one stamp; `tag` makes every count unique.
inline std::string HbmPeriod(uint64_t time_us, uint64_t tag) {
  std::string bytes;
  for (uint32_t i = 0; i < 8; ++i) bytes += Bytes(format::HbmRecord{time_us, tag * 8 + i, i & 1, i / 2});
  return bytes;
}

// **Thread:** Post() any, the rest that of the test.
class FakeCtl : public base::Timers {
 public:
  Id After(uint64_t delay_ns, std::function<void()> work) override {
    alarms_[{base::MonotonicNs() + delay_ns, ++alarms_made_}] = std::move(work);
    return alarms_made_;
  }
  void Cancel(Id id) override {
    std::erase_if(alarms_, [id](const auto& alarm) { return alarm.first.second == id; });
  }
  uint64_t WallNs() const override { return base::WallNs(); }
  uint64_t RawNs() const override { return base::RawNs(); }

  std::function<void(std::function<void()>)> Post() {
    return [this](std::function<void()> work) {
      {
        const std::lock_guard lock(mutex_);
        queue_.push_back(std::move(work));
      }
      changed_.notify_one();
    };
  }

  // Runs what is posted until `until` holds; false after 30 s, so that a broken test ends.
  bool RunUntil(const std::function<bool()>& until) {
    const uint64_t deadline = base::MonotonicNs() + 30'000'000'000;
    while (!until()) {
      if (base::MonotonicNs() > deadline) return false;
      RunOnce();
    }
    return true;
  }
  void RunFor(uint64_t ns) {
    const uint64_t deadline = base::MonotonicNs() + ns;
    while (base::MonotonicNs() < deadline) RunOnce();
  }

 private:
  void RunOnce() {
    if (!alarms_.empty() && alarms_.begin()->first.first <= base::MonotonicNs()) {
      return alarms_.extract(alarms_.begin()).mapped()();
    }
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::milliseconds(1), [this] { return !queue_.empty(); });
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
  }

  std::map<std::pair<uint64_t, Id>, std::function<void()>> alarms_;  // by their time
  Id alarms_made_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
};

// A door that calls wait at until the test opens it.
class Gate {
 public:
  ~Gate() { Open(); }
  void Close() {
    const std::lock_guard lock(mutex_);
    open_ = false;
  }
  void Open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    changed_.notify_all();
  }
  void Pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.wait(lock, [this] { return open_; });
    --waiting_;
  }
  int waiting() {
    const std::lock_guard lock(mutex_);
    return waiting_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  int waiting_ = 0;
};

class FakeDriver : public driver::Driver {
 public:
  struct Channel {
    std::string ring;                     // what Read() delivers
    std::function<std::string()> supply;  // asked for more when the ring is empty
    uint64_t delivered = 0;
    uint64_t reads = 0;
    uint32_t most_per_read = UINT32_MAX;
    bool started = false;
    int start_code = driver::kOk;
    int stop_code = driver::kOk;
    int read_code = 0;  // ≠ 0: what Read() returns
    std::vector<driver::StartPara> starts;
    uint32_t stops = 0;
    std::shared_ptr<Gate> start_gate = std::make_shared<Gate>();
    std::shared_ptr<Gate> stop_gate = std::make_shared<Gate>();
    std::shared_ptr<Gate> read_gate;  // none: reads do not wait
    // As the real driver: stop waits for the ring to be read empty.
    bool stop_drains = true;
    std::string at_stop;  // arrives when the stop begins
  };

  // Runs `work` on the channel's state.
  template <typename Work>
  auto With(uint32_t device, uint32_t channel, Work&& work) {
    const std::lock_guard lock(mutex_);
    return work(channels_[{device, channel}]);
  }
  void Deliver(uint32_t device, uint32_t channel, const std::string& bytes) {
    With(device, channel, [&](Channel& c) { c.ring += bytes; });
  }
  uint64_t Delivered(uint32_t device, uint32_t channel) {
    return With(device, channel, [](Channel& c) { return c.delivered; });
  }
  bool Empty(uint32_t device, uint32_t channel) {
    return With(device, channel, [](Channel& c) { return c.ring.empty(); });
  }
  void SetStatus(int status) {
    const std::lock_guard lock(mutex_);
    status_ = status;
  }
  void SetListed(std::vector<uint32_t> channels) {
    const std::lock_guard lock(mutex_);
    listed_ = std::move(channels);
  }

  std::string path() const override { return "fake"; }
  uint32_t api_version() const override { return 0x072418; }
  std::vector<std::string> missing_symbols() const override { return {}; }
  base::Result<std::vector<uint32_t>> DeviceIds() override { return std::vector<uint32_t>{0, 1}; }
  driver::DeviceFacts ReadFacts(uint32_t device) override {
    driver::DeviceFacts facts;
    facts.id = device;
    return facts;
  }
  base::Result<std::vector<uint32_t>> Channels(uint32_t) override {
    const std::lock_guard lock(mutex_);
    return listed_;
  }
  base::Result<int> DeviceStatus(uint32_t) override {
    const std::lock_guard lock(mutex_);
    return status_;
  }
  driver::DeviceReading ReadNow(uint32_t) override {
    const std::lock_guard lock(mutex_);
    return {.status = status_, .ai_core_utilization = {}, .ai_core_mhz = {}};
  }
  std::optional<double> HostCounterMhz(uint32_t) override { return std::nullopt; }
  base::Result<format::ClockPair> PairClocks(uint32_t) override { return format::ClockPair{}; }

  int Start(uint32_t device, uint32_t channel, const driver::StartPara& para) override {
    With(device, channel, [](Channel& c) { return c.start_gate; })->Pass();
    return With(device, channel, [&](Channel& c) {
      if (c.started) return driver::kStateBusy;
      c.starts.push_back(para);
      c.started = c.start_code == driver::kOk;
      return c.start_code;
    });
  }
  int Stop(uint32_t device, uint32_t channel) override {
    With(device, channel, [](Channel& c) { return c.stop_gate; })->Pass();
    With(device, channel, [](Channel& c) { c.ring += std::exchange(c.at_stop, {}); });
    const bool drains = With(device, channel, [](Channel& c) { return c.stop_drains; });
    while (drains && !Empty(device, channel)) {
      std::unique_lock lock(mutex_);
      read_.wait_for(lock, std::chrono::milliseconds(1));
    }
    return With(device, channel, [&](Channel& c) {
      ++c.stops;
      if (!c.started) return driver::kStateBusy;
      c.started = false;
      return c.stop_code;
    });
  }
  int Read(uint32_t device, uint32_t channel, std::byte* out, uint32_t bytes) override {
    if (const auto gate = With(device, channel, [](Channel& c) { return c.read_gate; })) gate->Pass();
    const std::lock_guard lock(mutex_);
    Channel& c = channels_[{device, channel}];
    ++c.reads;
    if (c.read_code != 0) return c.read_code;
    if (c.ring.empty() && c.supply && c.started) c.ring = c.supply();
    if (!c.started && c.ring.empty()) return driver::kStoppedAlready;
    const auto size = static_cast<uint32_t>(std::min<size_t>({c.ring.size(), bytes, c.most_per_read}));
    std::memcpy(out, c.ring.data(), size);
    c.ring.erase(0, size);
    c.delivered += size;
    read_.notify_all();
    return static_cast<int>(size);
  }
  int Flush(uint32_t, uint32_t, uint32_t*) override { return driver::kNotSupported; }
  base::Result<int> OpenProcess(uint32_t, const driver::ProcessPara& para) override {
    process_gate_.Pass();
    const std::lock_guard lock(mutex_);
    if (!process_status_.ok()) return process_status_;
    processes_.push_back(para);
    ++open_processes_;
    return 1100;
  }
  base::Status CloseProcess(uint32_t, int process) override {
    const std::lock_guard lock(mutex_);
    if (process != 1100 || open_processes_ == 0) return {base::Code::kNotFound, "no such process"};
    --open_processes_;
    return {};
  }
  void RefuseProcesses(base::Status status) {
    const std::lock_guard lock(mutex_);
    process_status_ = std::move(status);
  }
  std::vector<driver::ProcessPara> Processes() {
    const std::lock_guard lock(mutex_);
    return processes_;
  }
  int OpenProcesses() {
    const std::lock_guard lock(mutex_);
    return open_processes_;
  }
  Gate& process_gate() { return process_gate_; }

 private:
  std::mutex mutex_;
  std::condition_variable read_;
  std::map<std::pair<uint32_t, uint32_t>, Channel> channels_;
  int status_ = 1;
  std::vector<uint32_t> listed_;
  Gate process_gate_;
  base::Status process_status_;
  std::vector<driver::ProcessPara> processes_;
  int open_processes_ = 0;
};

// The writer's end of a pipe: takes what comes and keeps it by stream.
class FakeWriter {
 public:
  struct Stream {
    std::string bytes;
    uint64_t records = 0;
    uint64_t next_seq = 0;
    std::vector<format::Loss> losses;
  };

  explicit FakeWriter(size_t chunk_bytes = 64 << 10, size_t chunks = 64)
      : pipe_("test", chunk_bytes, chunks, bell_) {}

  chunk::Pipe& pipe() { return pipe_; }
  // False when a chunk was out of order.
  void Take() {
    chunk::Item item;
    while (pipe_.Pop(item)) {
      Stream& stream = streams_[item.key.stream];
      switch (item.what) {
        case chunk::Item::What::kChunk:
          stream.bytes.append(reinterpret_cast<const char*>(item.chunk->data), item.chunk->header.used);
          stream.records += item.chunk->header.records;
          in_order_ &= item.chunk->header.seq == stream.next_seq++;
          in_order_ &= item.chunk->header.key == item.key && item.chunk->header.used != 0;
          pipe_.Return(item.chunk);
          break;
        case chunk::Item::What::kLoss:
          stream.losses.push_back(item.loss);
          break;
        case chunk::Item::What::kEnd:
          ends_.push_back(item.key.trace);
          break;
        case chunk::Item::What::kStream:
          break;
      }
    }
  }
  Stream& operator[](uint32_t stream) {
    Take();
    return streams_[stream];
  }
  bool in_order() const { return in_order_; }
  const std::vector<uint32_t>& ends() const { return ends_; }

 private:
  base::WakeUp bell_;
  chunk::Pipe pipe_;
  std::map<uint32_t, Stream> streams_;
  std::vector<uint32_t> ends_;
  bool in_order_ = true;
};

inline uint64_t LostRecords(const FakeWriter::Stream& stream, format::Loss::Where where) {
  uint64_t records = 0;
  for (const format::Loss& loss : stream.losses) records += loss.where == where ? loss.records : 0;
  return records;
}

}  // namespace profd::device
