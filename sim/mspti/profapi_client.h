// libprofapi.so as libmspti.so finds and uses it.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "sim/mspti/abi.h"

namespace profd::sim::mspti {

// **Thread:** any (immutable).
class Profapi {
 public:
  // Ends the process where the library or one of its functions is missing, as the real libmspti.so does.
  Profapi() noexcept;

  void RegisterMstx(InitMstxFn init) const { register_mstx_(init, kMsptiOwner); }
  void RouteMstxTo(MstxOwner owner) const { enable_mstx_(owner); }
  // nullptr takes it back; kDeviceState replays the devices that are open.
  void SetCallback(ProfileCallback type, void* function) const {
    set_callback_(type, function, sizeof function);
  }
  void Switch(bool on, uint64_t switches, const std::vector<uint32_t>& devices) const;

  // As a module of CANN that launches operators.
  bool TellsTensors() const { return report_ != nullptr && (switches_ & kTaskTimeL1) != 0; }
  void Report(TensorReport& report) const { report_(1, &report, sizeof report); }

 private:
  int (*set_callback_)(int, void*, uint32_t) = nullptr;
  int (*set_command_)(void*, uint32_t) = nullptr;
  int (*register_mstx_)(InitMstxFn, int) = nullptr;
  int (*enable_mstx_)(int) = nullptr;
  int (*report_)(uint32_t, void*, uint32_t) = nullptr;
  static std::atomic<uint64_t> switches_;
};

const Profapi& TheProfapi();

}  // namespace profd::sim::mspti
