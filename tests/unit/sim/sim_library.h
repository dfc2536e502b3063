// A private copy of the simulated driver library, loaded with a configuration of its own.
#pragma once

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sim/abi.h"

namespace profd::sim {

// **Thread:** as the library: any. **Owns:** its temporary folder; the library stays loaded.
class SimLibrary {
 public:
  static constexpr char kCurrent[] = "", kOld[] = "/old", kEmpty[] = "/empty";

  // `yaml` may say $DIR for the temporary folder; $DIR/truth is where Truth() looks.
  explicit SimLibrary(std::string yaml, const char* variant = kCurrent);
  SimLibrary(const SimLibrary&) = delete;
  SimLibrary& operator=(const SimLibrary&) = delete;
  ~SimLibrary();

  const std::string& folder() const { return folder_; }
  void* Symbol(const char* name) const;
  template <typename Function>
  Function* Call(const char* name) const {
    return reinterpret_cast<Function*>(Symbol(name));
  }

  int Start(uint32_t device, uint32_t channel, uint32_t period_ms = 10, std::string_view payload = {}) const;
  int Stop(uint32_t device, uint32_t channel) const;
  int Read(uint32_t device, uint32_t channel, char* out, uint32_t size) const;
  int Poll(std::vector<PollInfo>& out, int most, int timeout_s) const;
  int Flush(uint32_t device, uint32_t channel, uint32_t* waiting) const;
  int GetChannels(uint32_t device, ChannelList* list) const;
  std::vector<uint32_t> Channels(uint32_t device) const;
  int Info(uint32_t device, int module, int item, int64_t* value) const;

  // Everything that waits; `piece` is the size of each read.
  std::string Drain(uint32_t device, uint32_t channel, uint32_t piece = 65536) const;
  // Reads until at least so much has come.
  std::string ReadAtLeast(uint32_t device, uint32_t channel, size_t bytes, uint32_t piece = 65536) const;
  // Stops while another thread reads; what came from now on.
  std::string StopDraining(uint32_t device, uint32_t channel, int* result = nullptr) const;

  std::vector<nlohmann::json> Truth() const;
  std::vector<nlohmann::json> Samples(uint32_t device, uint32_t channel) const;
  nlohmann::json Event(std::string_view event, uint32_t device, uint32_t channel) const;  // the last one

 private:
  std::string folder_;
  void* handle_ = nullptr;
};

// Payloads: little-endian u32 words.
std::string Words(std::initializer_list<uint32_t> words);
std::string HbmPayload(uint32_t period_ms = 10);
std::string CorePayload(
    uint32_t period_ms);  // channel 54 on chips with 8 counters, PipeUtilization-like events
// Some payload that the channel accepts.
std::string AnyPayload(uint32_t channel);

void SleepMs(int ms);
// Asks again and again until the answer is the wanted one; the test program's time limit is the only other
// end.
template <typename Ask, typename Answer>
void Until(const Ask& ask, Answer wanted) {
  while (ask() != wanted) SleepMs(5);
}

// The records of a stream of one kind.
template <typename Record>
std::vector<Record> Records(std::string_view bytes) {
  std::vector<Record> records(bytes.size() / sizeof(Record));
  std::memcpy(records.data(), bytes.data(), records.size() * sizeof(Record));
  return records;
}
std::vector<std::string> Lines(std::string_view text);

}  // namespace profd::sim
