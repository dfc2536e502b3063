// The instrumented side of mstx, as a program that includes the public header has it: tables of its own,
// filled on the first call by whoever $MSTX_INJECTION_PATH names or, without it, is in the process already.
#pragma once

#include <dlfcn.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace mstx {

using Function = void (*)();
using GetTable = int (*)(int32_t module, Function*** table, unsigned* size);

inline Function mark_a, range_start_a, range_end, get_tool_id;
inline Function domain_create_a, domain_destroy, domain_mark_a, domain_range_start_a, domain_range_end;
inline Function* core_table[] = {nullptr, &mark_a, &range_start_a, &range_end, &get_tool_id, nullptr};
inline Function* domain_table[] = {nullptr,        &domain_create_a,      &domain_destroy,
                                   &domain_mark_a, &domain_range_start_a, &domain_range_end,
                                   nullptr};

inline int Getter(int32_t module, Function*** table, unsigned* size) {
  switch (module) {
    case 1:
      *table = core_table;
      *size = 5;
      return 0;
    case 2:
      *table = domain_table;
      *size = 6;
      return 0;
    default:
      return 1;
  }
}

inline void InitOnce() {
  static std::atomic<int> state{0};
  int fresh = 0;
  if (state.compare_exchange_strong(fresh, 1)) {
    void* library = nullptr;
    if (const char* path = std::getenv("MSTX_INJECTION_PATH")) library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    const auto init = reinterpret_cast<int (*)(GetTable)>(dlsym(library, "InitInjectionMstx"));
    const bool ok = init != nullptr && init(Getter) == 0;
    if (!ok) {
      for (Function* slot : core_table) {
        if (slot != nullptr) *slot = nullptr;
      }
      for (Function* slot : domain_table) {
        if (slot != nullptr) *slot = nullptr;
      }
    }
    state = ok ? 2 : 3;
  }
  while (state < 2) sched_yield();
}

template <typename F, typename R, typename... Args>
R Call(Function& slot, R otherwise, Args... args) {
  InitOnce();
  return slot == nullptr ? otherwise : reinterpret_cast<F>(slot)(args...);
}
template <typename... Args>
void Do(Function& slot, Args... args) {
  InitOnce();
  if (slot != nullptr) reinterpret_cast<void (*)(Args...)>(slot)(args...);
}

inline void Mark(const char* message, void* stream) { Do(mark_a, message, stream); }
inline uint64_t RangeStart(const char* message, void* stream) {
  return Call<uint64_t (*)(const char*, void*), uint64_t>(range_start_a, 0, message, stream);
}
inline void RangeEnd(uint64_t id) { Do(range_end, id); }
inline uint64_t ToolId() {
  uint64_t id = 0;
  Do(get_tool_id, &id);
  return id;
}
inline void* DomainCreate(const char* name) {
  return Call<void* (*)(const char*), void*>(domain_create_a, nullptr, name);
}
inline void DomainDestroy(void* domain) { Do(domain_destroy, domain); }
inline void DomainMark(void* domain, const char* message, void* stream) {
  Do(domain_mark_a, domain, message, stream);
}
inline uint64_t DomainRangeStart(void* domain, const char* message, void* stream) {
  return Call<uint64_t (*)(void*, const char*, void*), uint64_t>(domain_range_start_a, 0, domain, message,
                                                                 stream);
}
inline void DomainRangeEnd(void* domain, uint64_t id) { Do(domain_range_end, domain, id); }

}  // namespace mstx
