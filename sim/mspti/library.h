// What libmspti.so is: one subscriber, the kinds that are on, callbacks, external correlation and marker
// domains.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <bitset>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "sim/hal/channels/truth.h"
#include "sim/mspti/buffers.h"
#include "sim/mspti/config.h"
#include "sim/mspti/texts.h"

namespace profd::sim::mspti {

class Job;

// **Thread:** any. **Owns:** everything; lives as long as the process, its threads until static destructors
// run.
class Library {
 public:
  static Library& Get();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  int Subscribe(Subscriber* out, CallbackFn function, void* user);
  int Unsubscribe(Subscriber subscriber);
  int EnableCallback(bool on, Subscriber subscriber, uint32_t domain, uint32_t callback);
  int EnableDomain(bool on, Subscriber subscriber, uint32_t domain);
  int RegisterCallbacks(RequestFn request, CompleteFn complete);
  int Enable(uint32_t kind);
  int Disable(uint32_t kind);
  bool IsEnabled(uint32_t kind) const { return kind < kKinds && enabled_[kind]; }
  int FlushAll();
  int FlushPeriod(uint32_t ms);
  int PushExternal(uint32_t kind, uint64_t id);
  int PopExternal(uint32_t kind, uint64_t* last);
  int SetMarkerDomain(const char* name, bool on);

  // For the job's threads.
  const MsptiConfig& config() const { return configs_.mspti; }
  const Config& node() const { return configs_.node; }
  Buffers& buffers() { return buffers_; }
  Texts& texts() { return texts_; }
  std::vector<uint32_t> OpenDevices();
  std::vector<uint32_t> ReadDevices();  // of them, whose channels it reads
  bool Reads(uint32_t device) const;
  // Records of the kind are taken; of a device only if its reader runs.
  bool Takes(uint32_t kind, bool of_device) const;
  // A new id; what is on the external stacks is told first.
  uint64_t NewCorrelation();
  void Call(uint32_t domain, uint32_t callback, const char* function);
  bool MarkerDomainIsOn(const std::string& name);
  uint64_t NextMarkerId() { return ++marker_id_; }

  // From libprofapi.so.
  void OnDevice(const DeviceState& state);

 private:
  Library();
  void Exit();
  bool Preloaded() const;
  int CheckSubscriber(Subscriber subscriber) const;
  void WriteTruth();

  const pid_t pid_;
  const Configs configs_;
  profd::sim::Truth truth_;
  Buffers buffers_;
  Texts texts_;

  std::mutex mutex_;  // of subscribing and the devices
  bool subscribed_ = false;
  CallbackFn function_ = nullptr;
  void* user_ = nullptr;
  std::map<uint32_t, bool> devices_;
  std::unique_ptr<Job> job_;

  std::array<std::atomic<bool>, kKinds> enabled_{};
  std::array<std::atomic<bool>, kKinds> device_reader_{};
  std::array<std::atomic<uint64_t>, kKinds> disabled_at_ns_{};
  std::array<std::bitset<kCallbacks>, 3> callbacks_;
  std::mutex callback_mutex_;

  std::atomic<uint64_t> correlation_{0};
  std::atomic<uint64_t> marker_id_{0};
  std::mutex external_mutex_;
  std::map<uint32_t, std::vector<uint64_t>> external_;  // one stack per kind for the whole process
  std::mutex domain_mutex_;
  std::set<std::string> domains_off_;
};

}  // namespace profd::sim::mspti
