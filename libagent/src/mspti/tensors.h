// What operators work on, which MSPTI does not tell: shapes, types and formats of their tensors.
//
// The modules that launch operators report them through libprofapi.so, in the thread that launches, to one
// receiver. While it is subscribed that is MSPTI, which drops them (Ascend/mspti, csrc/common/inject/
// profapi_inject.cpp). So this one report is taken here instead; all others stay with MSPTI. The modules are
// told to make it by the command that MSPTI gives them, too, with one more switch.
#pragma once

#include <cstdint>

#include "libagent/src/mspti/library.h"

namespace profd::agent::mspti {

// **Thread:** the worker, which owns it.
class Tensors {
 public:
  // From now on reports are recorded; call it after subscribing, which takes them. `switches`: what MSPTI has
  // the modules report for its kinds.
  void Begin(const Library& library, uint64_t switches);
  // Devices that the program uses, by bit. A module keeps the latest command only, and MSPTI gives one when
  // a device comes into use.
  void Use(uint64_t devices);
  // Before MSPTI is unsubscribed.
  void End();

 private:
  const Library* library_ = nullptr;
  uint64_t switches_ = 0, used_ = 0;
};

}  // namespace profd::agent::mspti
