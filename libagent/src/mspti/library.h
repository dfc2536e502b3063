// Finding the vendor's activity library, in processes where that is safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libagent/abi/words.h"

namespace profd::agent::mspti {

using RequestFn = void (*)(uint8_t** buffer, size_t* size, size_t* max_records);
using CompleteFn = void (*)(uint8_t* buffer, size_t size, size_t valid);

constexpr int kSuccess = 0;
constexpr int kMultipleSubscribers = 2;
constexpr int kWithoutPreload = 6;

struct Library {
  int (*subscribe)(void** subscriber, void (*)(), void* user);
  int (*unsubscribe)(void* subscriber);
  int (*register_callbacks)(RequestFn request, CompleteFn complete);
  int (*enable)(uint32_t kind);
  int (*disable)(uint32_t kind);
  int (*flush_all)(uint32_t flag);
  // Of libprofapi.so: who receives a kind of report, and what all modules are told.
  int (*take_report)(int kind, void* receiver, uint32_t bytes);
  int (*command)(void* command, uint32_t bytes);
  // Of libprofapi.so, where reports are taken without MSPTI: the clock of its stamps, the text of a number,
  // which may be missing, …
  uint64_t (*stamp)();
  const char* (*text_of)(uint64_t number);
  // … and whether the vendor's collector collects: of the collector itself, where it is loaded and says so;
  // else where it collects to, "": nowhere.
  bool (*is_collecting)();
  const char* (*collects_to)();
};

// Why the kinds wait, while IsCannLoaded() does not hold.
inline constexpr const char* kNotYet = abi::kCannIsNotLoaded.data();
// Why memory kinds are missing in a program that the library was loaded into later; before a recording as in
// it.
inline constexpr char kNeedsPreload[] = "needs a start with LD_PRELOAD=libmspti.so";
// Why this process can never have MSPTI; nullptr: it has it, or may still get it. **Thread:** any.
const char* WhyNever();
// Whether CANN is among what is loaded. The library ends a process where it is not. A look at the loader's
// list, which waits for nobody and costs next to nothing while nothing is loaded. **Thread:** the attach
// thread.
bool IsCannLoaded();
// Whether this process is a child that was forked when CANN had been loaded. **Thread:** any.
bool IsCannInherited();
// Handlers of a fork, in the thread that forks. Nobody may be in the loader's list then: its lock would stay
// taken in the child.
void BeforeFork();
void AfterForkInParent();
// In a child, whoever made it.
void ResetListAfterFork();
// Finds what reports are taken by without MSPTI. nullptr, or why not. **Thread:** any.
const char* LoadRouter(Library* library);
// Why reports are not taken: there is one receiver, and the library is it from when it is loaded. nullptr: it
// is not loaded.
const char* WhyMsptiReceives();
// Looks for the collector, too, if it was not loaded before.
bool IsCollecting(Library* library);
// Loads the library for the rest of the process's life. nullptr, or why not. Waits for the loader, which the
// program may hold for long. **Thread:** any.
const char* Load(Library* library);

// Whether the process was started with LD_PRELOAD=…libmspti.so, as the library itself looks at it.
// **Thread:** any.
bool IsPreloaded();

// What can be said of it before any recording, without waiting. `why` is empty or what is missing or limited.
// **Thread:** the attach thread.
struct Outlook {
  bool available;
  bool later;  // not yet
  const char* why;
};
Outlook OutlookFor(bool needs_preload);
// The same of what CANN's modules report, without MSPTI.
Outlook OutlookForReports();

}  // namespace profd::agent::mspti
