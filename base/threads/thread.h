// A named thread with all signals blocked: signals belong to ctl.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "base/status.h"

namespace profd::base {

class SpareThreads;

// `name` is cut to the kernel's 15 characters. `slack_ns` sets the timer slack (0 = leave the default of 50
// µs).
std::thread StartThread(std::string name, std::function<void()> body, unsigned long slack_ns = 0);

// What everybody's answers pass through comes before the rest of profd, and of the machine, where profd may
// have it so. main, while it has its rights: for the calling thread, and those that others start from it
// (gRPC).
void ComeFirst();
// A thread that does, if the calling one does: StartThread()'s do not.
std::thread StartFirstThread(std::string name, std::function<void()> body);
// The calling process does so no more, after a fork.
void ComeAsUsual();

// As StartThread(), out of somebody's own spare threads.
std::thread StartThread(SpareThreads& spares, std::string name, std::function<void()> body);

// StartThread() has so many at hand for when the kernel makes no more: what is under way goes on and can end.
// False: it makes none now.
bool KeepSpareThreads(size_t count);
// Before something is begun that takes threads: whether there are as many at hand as there should be.
Status RoomForThreads();

// Asks for the calling thread, not for those it starts, to be scheduled in slices of this length: it waits
// less for others, and others less for it. Linux knows that from 6.12 on; an older one ignores it.
void PreferShortSlices(uint64_t slice_ns);

// What a thread of this process does now.
struct ThreadState {
  bool runs = false;    // on a processor, or waits for one; false too where it has ended
  uint64_t cpu_ns = 0;  // it has had of the processor
};
ThreadState StateOf(pid_t thread);

}  // namespace profd::base
