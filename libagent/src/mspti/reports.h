// What CANN's modules report of the process, where MSPTI does not know the chips (310, 910, 310P) or a
// session asks for it: the calls of its layers, and the operators and tasks that they launch.
//
// The modules report through libprofapi.so, on the program's threads, to one receiver of each kind: to the
// vendor's collector, or to whoever has registered (hicann/runtime, src/dfx/msprof/collector/dvvp/profapi,
// prof_cann_plugin.cpp), as MSPTI does. There is no way to ask who has. So where MSPTI is loaded, or the
// collector collects, nothing is taken.
//
// A report goes as it is into the lane of its thread; profd makes the collector's files of them.
#pragma once

#include <cstdint>

#include "libagent/src/mspti/library.h"
#include "libagent/src/mspti/source.h"

namespace profd::agent::mspti {

// The kinds that the modules report, of Armed::kinds.
extern const uint32_t kReportedKinds;  // NOLINT(bugprone-dynamic-static-initializers): constant

// **Thread:** the worker, which owns it.
class Reports {
 public:
  // From now on reports are recorded. nullptr, or why not. `wake`: rung when there is something to look at.
  const char* Begin(uint32_t kinds, const From& from, int wake);
  // Switches modules on for devices that the program has opened since, and asks for texts that reports refer
  // to. nullptr, or who gets the reports from now on.
  const char* Look();
  void End();

 private:
  void LookAtDevices();
  void LookAtTexts();

  Library library_{};
  bool taken_ = false;
  uint64_t switches_ = 0, on_ = 0;
};

}  // namespace profd::agent::mspti
