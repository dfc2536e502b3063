// Plays a capture: the recorded answers one after the other, the last of them again and again; a channel's
// bytes as long after its start as they came.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/hal/capture/capture.h"
#include "sim/scenario/producers/producer.h"

namespace profd::sim {

// **Thread:** any.
class Replay {
 public:
  explicit Replay(const Capture& capture) : capture_(capture) {}

  // The code, with the answer in `out`; kNotSupported for what was never asked.
  int Say(std::string_view call, uint32_t device, std::string_view given, void* out, size_t bytes);
  int SayOfNode(std::string_view call, void* out, size_t bytes);
  // The code of a call whose answer is made elsewhere; takes as long as it took.
  int CodeOf(std::string_view call, uint32_t device, std::string_view given);
  bool Lists(uint32_t device, uint32_t channel) const;

  // The next start of the channel: its code. Ok: `producer` brings what came.
  int Start(uint32_t device, uint32_t channel, uint64_t now_ns, std::unique_ptr<Producer>* producer);
  int Stop(uint32_t device, uint32_t channel);
  // A read that failed and is due.
  std::optional<int> ReadError(uint32_t device, uint32_t channel, uint64_t now_ns);

  struct Clock {
    uint64_t device_ns, ticks;
  };
  // nullopt: the capture has none.
  std::optional<Clock> Now(uint32_t device, uint64_t now_ns);

 private:
  struct Running {
    const RecordedRun* run = nullptr;
    uint64_t start_ns = 0;
    size_t next_error = 0;
  };
  using Key = std::pair<uint32_t, uint32_t>;

  const Answer* Next(const std::map<std::string, std::vector<Answer>, std::less<>>& answers, uint32_t device,
                     const std::string& key);
  const RecordedDevice* Find(uint32_t device) const;

  const Capture& capture_;
  std::mutex mutex_;
  std::map<std::pair<uint32_t, std::string>, size_t> said_;
  std::map<Key, size_t> started_;
  std::map<Key, Running> running_;
  std::map<uint32_t, uint64_t> first_asked_ns_;  // for its clocks
};

}  // namespace profd::sim
