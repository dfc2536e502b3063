// A program instrumented with NVTX v3 that knows nothing of profd: loader and tables as the public headers
// describe them. Waits for a line before and after its work.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

using Function = void (*)();

// -- The header's part.
Function g_core[16], g_core2[16], g_sync[7];
Function* g_core_table[17];
Function* g_core2_table[17];
Function* g_sync_table[8];
uint32_t g_injection_version;

int GetModuleTable(int32_t module, Function*** table, unsigned* size) {
  switch (module) {
    case 1:
      *table = g_core_table;
      *size = 16;
      return 1;
    case 5:
      *table = g_core2_table;
      *size = 16;
      return 1;
    case 6:
      *table = g_sync_table;
      *size = 7;
      return 1;
    default:
      return 0;
  }
}
struct {
  size_t struct_size = 16;
  int (*get_module_table)(int32_t, Function***, unsigned*) = GetModuleTable;
} g_callbacks;
struct {
  size_t struct_size = 24;
  uint32_t version = 3;
  uint32_t reserved = 0;
  void (*set_version)(uint32_t) = [](uint32_t version) { g_injection_version = version; };
} g_version_info;

const void* GetExportTable(uint32_t id) {
  if (id == 1) return &g_callbacks;
  if (id == 3) return &g_version_info;
  return nullptr;
}

void Init() {
  for (int i = 1; i < 16; ++i) {
    g_core_table[i] = &g_core[i];
    g_core2_table[i] = &g_core2[i];
    if (i < 7) g_sync_table[i] = &g_sync[i];
  }
  const char* path = std::getenv("NVTX_INJECTION64_PATH");
  void* library = path != nullptr ? dlopen(path, RTLD_LAZY) : nullptr;
  if (library == nullptr) return;
  const auto init =
      reinterpret_cast<int (*)(const void* (*)(uint32_t))>(dlsym(library, "InitializeInjectionNvtx2"));
  if (init == nullptr || init(GetExportTable) == 0) dlclose(library);
}

template <typename R, typename... Args>
R Call(Function slot, R otherwise, Args... args) {
  return slot == nullptr ? otherwise : reinterpret_cast<R (*)(Args...)>(slot)(args...);
}
template <typename... Args>
void Do(Function slot, Args... args) {
  if (slot != nullptr) reinterpret_cast<void (*)(Args...)>(slot)(args...);
}

struct Attributes {
  uint16_t version = 3;
  uint16_t size = 48;
  uint32_t category = 0;
  int32_t color_type = 0;
  uint32_t color = 0;
  int32_t payload_type = 0;
  int32_t reserved = 0;
  union {
    uint64_t u64 = 0;
    double f64;
    float f32;
    int32_t i32;
  } payload;
  int32_t message_type = 0;
  union {
    const char* ascii = nullptr;
    const wchar_t* wide;
    const void* registered;
  } message;
};
static_assert(sizeof(Attributes) == 48);

// -- The program's.
void Hear() {
  char line[64];
  if (std::fgets(line, sizeof(line), stdin) == nullptr) std::exit(0);
}

int g_failures = 0;
void Expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("FAILED %s\n", what);
  ++g_failures;
}

void Work() {
  Do(g_core[2], "mark");
  Do(g_core[3], L"wide \u00e4\u6f22\U0001F600");
  Expect(Call(g_core[9], -9, "outer") == 0, "the first level is 0");
  Expect(Call(g_core[10], -9, L"inner") == 1, "the second is 1");
  Expect(Call(g_core[11], -9) == 1, "pop tells the level that ends");
  Expect(Call(g_core[11], -9) == 0, "and the outer one");
  Expect(Call(g_core[11], -9) < 0, "underflow is negative");
  const auto id = Call(g_core[5], uint64_t{0}, "across threads");
  Expect(id != 0, "range ids are not 0");
  std::thread([id] { Do(g_core[7], id); }).join();

  void* domain = Call(g_core2[12], static_cast<void*>(nullptr), "library");
  Expect(domain != nullptr, "a domain");
  Expect(Call(g_core2[13], static_cast<void*>(nullptr), L"library") == domain,
         "the same name is the same domain");
  void* registered = Call(g_core2[10], static_cast<void*>(nullptr), domain, "registered text");
  Expect(registered != nullptr, "a registered string");
  Expect(Call(g_core2[11], static_cast<void*>(nullptr), domain, L"registered text") == registered,
         "is unique");
  Do(g_core2[8], domain, uint32_t{5}, "five");
  Do(g_core[12], uint32_t{6}, "six");
  Do(g_core[14], uint32_t{4711}, "some thread");

  Attributes event;
  event.category = 5;
  event.color_type = 1;
  event.color = 0xFF00FF00;
  event.payload_type = 3;
  event.payload.f64 = 0.5;
  event.message_type = 3;
  event.message.registered = registered;
  Do(g_core2[1], domain, static_cast<const void*>(&event));
  event.message_type = 1;
  event.message.ascii = "in the domain";
  event.payload_type = 5;
  event.payload.i32 = -3;
  Expect(Call(g_core2[4], -9, domain, static_cast<const void*>(&event)) == 0, "levels count per domain");
  Expect(Call(g_core2[5], -9, domain) == 0, "and end per domain");
  const auto domain_id = Call(g_core2[2], uint64_t{0}, domain, static_cast<const void*>(&event));
  Do(g_core2[3], domain, domain_id);

  // An old program's attributes end early: what lies behind is not ours to read.
  Attributes old;
  old.size = 16;
  old.category = 77;
  old.message_type = 1;
  old.message.ascii = reinterpret_cast<const char*>(0x10);
  Do(g_core[1], static_cast<const void*>(&old));
  Do(g_core[1], static_cast<const void*>(nullptr));
  Do(g_core2[14], domain);
}

}  // namespace

int main() {
  Init();
  std::printf("version %u\n", g_injection_version);
  std::fflush(stdout);
  Hear();
  Work();
  std::printf("worked %d\n", g_failures);
  std::fflush(stdout);
  Hear();
  return g_failures;
}
