// Finding the vendor's activity library, in processes where that is safe.
#pragma once

#include <cstddef>
#include <cstdint>

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
};

// nullptr where MSPTI may be loaded into this process, else why not. Loads nothing: the library ends a
// process that has not loaded CANN before. **Thread:** any.
const char* WhyNotLoadable();
// Loads the library for the rest of the process's life. nullptr, or why not. **Thread:** any.
const char* Load(Library* library);

// What can be said of it before any recording. `why` is empty or what is missing or limited.
struct Outlook {
  bool available;
  const char* why;
};
Outlook OutlookFor(bool needs_preload);

}  // namespace profd::agent::mspti
