// A private copy of the simulated activity library with the router beside it, and a client of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/mspti/abi.h"

namespace profd::sim::mspti {

// One buffer as it came back.
struct Delivered {
  std::string bytes;
  size_t size;
  int64_t thread;
};

// **Thread:** as the library: any; one at a time per process, since the callbacks have no argument.
class MsptiLibrary {
 public:
  struct Options {
    bool old = false;
    bool preloaded = false;  // as LD_PRELOAD says; nothing is
    bool with_profapi = true;
  };
  // `yaml` may say $DIR for the temporary folder; $DIR/truth is where Truth() looks.
  explicit MsptiLibrary(std::string yaml) : MsptiLibrary(std::move(yaml), Options{}) {}
  MsptiLibrary(std::string yaml, Options options);
  ~MsptiLibrary();
  MsptiLibrary(const MsptiLibrary&) = delete;
  MsptiLibrary& operator=(const MsptiLibrary&) = delete;

  void* Symbol(const char* name) const;
  template <typename F>
  F* Call(const char* name) const {
    return reinterpret_cast<F*>(Symbol(name));
  }
  void* ProfapiSymbol(const char* name) const;
  template <typename F>
  F* Profapi(const char* name) const {
    return reinterpret_cast<F*>(ProfapiSymbol(name));
  }

  int Subscribe(CallbackFn function = nullptr, void* user = nullptr);
  int Unsubscribe() const { return Call<int(Subscriber)>("msptiUnsubscribe")(subscriber_); }
  int Enable(uint32_t kind) const { return Call<int(uint32_t)>("msptiActivityEnable")(kind); }
  int Disable(uint32_t kind) const { return Call<int(uint32_t)>("msptiActivityDisable")(kind); }
  int FlushAll() const { return Call<int(uint32_t)>("msptiActivityFlushAll")(1); }
  // Subscribe, register our callbacks, enable.
  void Begin(std::initializer_list<uint32_t> kinds);
  // Disable, flush, unsubscribe, flush.
  void End(std::initializer_list<uint32_t> kinds);

  Subscriber subscriber() const { return subscriber_; }
  nlohmann::json Truth() const;  // of the kinds, latest

  // The callbacks that Begin registers.
  static void Request(uint8_t** buffer, size_t* size, size_t* max_records);
  static void Complete(uint8_t* buffer, size_t size, size_t valid);
  // What came so far.
  static std::vector<Delivered> Buffers();
  static std::atomic<size_t> buffer_bytes;                   // of the next buffers; 0 = refuse
  static std::function<void(uint8_t*, size_t)> on_complete;  // before the buffer is kept
  static std::atomic<int> requests, refused_completes;

 private:
  std::string folder_;
  void* profapi_ = nullptr;
  void* mspti_ = nullptr;
  Subscriber subscriber_ = nullptr;
};

// Size of a record of the kind; 0: no such kind.
uint32_t BytesOf(uint32_t kind);
// The records of the kind in the order of their buffers; stops in a buffer at a kind it doesn't know.
template <typename Record>
std::vector<Record> RecordsOf(const std::vector<Delivered>& buffers, uint32_t kind) {
  std::vector<Record> records;
  for (const Delivered& buffer : buffers) {
    for (size_t at = 0; at < buffer.bytes.size();) {
      uint32_t here;
      std::memcpy(&here, buffer.bytes.data() + at, sizeof here);
      if (here == kind) {
        Record record;
        std::memcpy(&record, buffer.bytes.data() + at, sizeof record);
        records.push_back(record);
      }
      const uint32_t bytes = BytesOf(here);
      if (bytes == 0) break;
      at += bytes;
    }
  }
  return records;
}
std::map<uint32_t, uint64_t> CountByKind(const std::vector<Delivered>& buffers);

// Runs a disabled test of this program in a process of its own; its wait status. **Thread:** any.
int RunAlone(const char* test);

void SleepMs(int ms);
// Asks until it is true; the test program's time limit is the only other end.
void Until(const std::function<bool()>& ask);

}  // namespace profd::sim::mspti
