#include "sim/hal/capture/replay.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "sim/abi.h"

namespace profd::sim {
namespace {

constexpr uint32_t kNode = UINT32_MAX;
constexpr uint64_t kLongestNs = 60'000'000'000;
// A stop waits that long for its reader, here as there.
constexpr uint64_t kDrainNs = 1'000'000'000;
constexpr size_t kWhat = 8;  // bytes that say what is asked for; behind them a buffer as it was

// What took less takes as long here.
constexpr uint64_t kWorthWaitingNs = 200'000;

void Wait(uint64_t ns) {
  if (ns > kWorthWaitingNs) std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(ns, kLongestNs)));
}

class CaptureProducer : public Producer {
 public:
  CaptureProducer(const RecordedChannel& channel, const RecordedRun& run, uint64_t start_ns)
      : bytes_(channel.bytes), pieces_(run.pieces), start_ns_(start_ns) {
    SkipErrors();
  }

  uint64_t due_ns() const override {
    return next_ == pieces_.size() ? kNever : start_ns_ + pieces_[next_].after_ns;
  }
  void Emit(Sample& sample) override {
    Append(sample);
    sample.number = ++number_;
    sample.host_raw_ns = start_ns_ + pieces_[next_ - 1].after_ns;
    SkipErrors();
  }
  // What was read after the stop began.
  void Finish(Sample& sample) override {
    for (; next_ < pieces_.size(); SkipErrors()) Append(sample);
  }

 private:
  void Append(Sample& sample) {
    const RecordedRun::Piece& piece = pieces_[next_++];
    sample.AppendRaw(std::string_view(bytes_).substr(piece.begin, piece.bytes));
  }
  void SkipErrors() {
    while (next_ < pieces_.size() && pieces_[next_].code < 0) ++next_;
  }

  const std::string& bytes_;
  const std::vector<RecordedRun::Piece>& pieces_;
  const uint64_t start_ns_;
  size_t next_ = 0;
  uint64_t number_ = 0;
};

}  // namespace

const RecordedDevice* Replay::Find(uint32_t device) const {
  const auto found = capture_.devices.find(device);
  return found == capture_.devices.end() ? nullptr : &found->second;
}

const Answer* Replay::Next(const std::map<std::string, std::vector<Answer>, std::less<>>& answers,
                           uint32_t device, const std::string& key) {
  const auto found = answers.find(key);
  if (found == answers.end()) return nullptr;
  const std::lock_guard lock(mutex_);
  size_t& said = said_[{device, key}];
  return &found->second[std::min(said++, found->second.size() - 1)];
}

int Replay::Say(std::string_view call, uint32_t device, std::string_view given, void* out, size_t bytes) {
  const RecordedDevice* const found = Find(device);
  if (found == nullptr) return code::kInvalidValue;
  const Answer* answer = Next(found->answers, device, Capture::KeyOf(call, given));
  if (answer == nullptr) answer = Next(found->answers, device, Capture::KeyOf(call, given.substr(0, kWhat)));
  if (answer == nullptr) return code::kNotSupported;
  Wait(answer->took_ns);
  if (answer->code == code::kOk && out != nullptr)
    std::memcpy(out, answer->bytes.data(), std::min(bytes, answer->bytes.size()));
  return answer->code;
}

int Replay::SayOfNode(std::string_view call, void* out, size_t bytes) {
  const Answer* const answer = Next(capture_.node, kNode, Capture::KeyOf(call, ""));
  if (answer == nullptr) return code::kNotSupported;
  Wait(answer->took_ns);
  if (answer->code == code::kOk && out != nullptr)
    std::memcpy(out, answer->bytes.data(), std::min(bytes, answer->bytes.size()));
  return answer->code;
}

int Replay::CodeOf(std::string_view call, uint32_t device, std::string_view given) {
  return Say(call, device, given, nullptr, 0);
}

bool Replay::Lists(uint32_t device, uint32_t channel) const {
  const RecordedDevice* const found = Find(device);
  return found != nullptr && std::binary_search(found->listed.begin(), found->listed.end(), channel);
}

int Replay::Start(uint32_t device, uint32_t channel, uint64_t now_ns, std::unique_ptr<Producer>* producer) {
  const RecordedDevice* const found = Find(device);
  if (found == nullptr) return code::kNotSupported;
  const auto recorded = found->channels.find(channel);
  if (recorded == found->channels.end() || recorded->second.runs.empty()) return code::kNotSupported;
  const std::vector<RecordedRun>& runs = recorded->second.runs;
  size_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = started_[{device, channel}]++;
  }
  // After the last there is nothing more to play: it starts as the last did, and stays silent.
  const RecordedRun& run = runs[std::min(number, runs.size() - 1)];
  Wait(run.start.took_ns);
  if (run.start.code != code::kOk) return run.start.code;
  const std::lock_guard lock(mutex_);
  running_[{device, channel}] = {&run, now_ns, number < runs.size() ? 0 : run.pieces.size()};
  if (number < runs.size()) *producer = std::make_unique<CaptureProducer>(recorded->second, run, now_ns);
  return code::kOk;
}

int Replay::Stop(uint32_t device, uint32_t channel) {
  Running running;
  {
    const std::lock_guard lock(mutex_);
    running = std::exchange(running_[{device, channel}], {});
  }
  if (running.run == nullptr || !running.run->was_stopped) return code::kOk;
  const Answer& stop = running.run->stop;
  Wait(stop.took_ns > kDrainNs * 3 / 2 ? stop.took_ns - kDrainNs : 0);
  return stop.code;
}

std::optional<int> Replay::ReadError(uint32_t device, uint32_t channel, uint64_t now_ns) {
  const std::lock_guard lock(mutex_);
  const auto found = running_.find({device, channel});
  if (found == running_.end() || found->second.run == nullptr) return std::nullopt;
  Running& running = found->second;
  const std::vector<RecordedRun::Piece>& pieces = running.run->pieces;
  while (running.next_error < pieces.size() && pieces[running.next_error].code >= 0) ++running.next_error;
  if (running.next_error == pieces.size() || now_ns < running.start_ns + pieces[running.next_error].after_ns)
    return std::nullopt;
  return pieces[running.next_error++].code;
}

std::optional<Replay::Clock> Replay::Now(uint32_t device, uint64_t now_ns) {
  const RecordedDevice* const found = Find(device);
  if (found == nullptr || !found->clock.known) return std::nullopt;
  uint64_t first_ns = 0;
  {
    const std::lock_guard lock(mutex_);
    first_ns = first_asked_ns_.emplace(device, now_ns).first->second;
  }
  const RecordedClock& clock = found->clock;
  const double passed = static_cast<double>(now_ns - first_ns) * clock.device_per_host;
  return Clock{clock.device_ns + static_cast<uint64_t>(passed),
               clock.ticks + static_cast<uint64_t>(passed * clock.ticks_per_ns)};
}

}  // namespace profd::sim
