// The thread that makes the data of every started channel.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "sim/hal/channels/channel.h"
#include "sim/hal/channels/faults.h"
#include "sim/hal/channels/truth.h"
#include "sim/scenario/producers/producer.h"

namespace profd::sim {

// **Thread:** any. **Owns:** the thread sim-gen, made with the first channel, asleep while none is started;
// it lives as long as the process.
class Generator {
 public:
  // `ready` is called when a channel got data.
  using Ready = std::function<void(uint32_t device, uint32_t id, Channel& channel)>;
  Generator(Faults& faults, Truth& truth, Ready ready)
      : faults_(faults), truth_(truth), ready_(std::move(ready)), sample_(truth.on()) {}

  // `producer` is null when the channel is silent, or floods. Never waits for what is being made: a device
  // answers a start at once.
  void Add(uint32_t device, uint32_t id, Channel& channel, std::unique_ptr<Producer> producer,
           Channel::Write how);
  // What is due comes first, then the tail; after it nothing more is delivered.
  void Remove(const Channel& channel);
  // What is due comes now.
  void CatchUp(const Channel& channel);

 private:
  struct Entry {
    uint32_t device, id;
    Channel* channel;
    std::unique_ptr<Producer> producer;
    Channel::Write how;
    bool accident_prone;
    int slots_to_lose = 0;
    std::optional<Channel::Write> backlog = std::nullopt;  // to come with the next sample
    bool lost = false;
  };

  void Run();
  void TakeAdded();  // under mutex_
  void Produce(Entry& entry, uint64_t now_ns);
  void HaveAccidents(Entry& entry);
  void Deliver(Entry& entry);
  uint64_t NextWakeUp(uint64_t now_ns) const;

  Faults& faults_;
  Truth& truth_;
  const Ready ready_;

  std::mutex added_mutex_;  // after mutex_
  std::condition_variable changed_;
  bool running_ = false;
  std::vector<Entry> added_;

  std::mutex mutex_;
  std::vector<Entry> entries_;
  Sample sample_;
};

}  // namespace profd::sim
