// Stands in for the vendor's libprofapi.so: an mstx target that counts what is forwarded to it, and prints it
// at the end. It fills modules 1 (ids 1-3) and 2 (ids 1-5) only, as the real one.
#include <atomic>
#include <cstdint>
#include <cstdio>

namespace {

using Function = void (*)();

std::atomic<int> g_marks, g_starts, g_ends, g_foreign_ends, g_domain_marks, g_domains, g_unknown_domains;
std::atomic<uint64_t> g_next{100};
char g_handle[16];

void Mark(const char*, void*) { ++g_marks; }
uint64_t Start(const char*, void*) {
  ++g_starts;
  return g_next++;
}
void End(uint64_t id) { ++(id >= 100 && id < g_next ? g_ends : g_foreign_ends); }
void* Create(const char*) { return &g_handle[g_domains++]; }
void Destroy(void*) {}
bool Known(void* domain) {
  return domain == nullptr || (domain >= g_handle && domain < g_handle + sizeof(g_handle));
}
void DomainMark(void* domain, const char*, void*) { ++(Known(domain) ? g_domain_marks : g_unknown_domains); }
uint64_t DomainStart(void* domain, const char*, void*) {
  ++(Known(domain) ? g_starts : g_unknown_domains);
  return g_next++;
}
void DomainEnd(void*, uint64_t id) { End(id); }

struct AtEnd {
  ~AtEnd() {
    std::printf("vendor marks=%d starts=%d ends=%d foreign=%d domain_marks=%d domains=%d unknown=%d\n",
                g_marks.load(), g_starts.load(), g_ends.load(), g_foreign_ends.load(), g_domain_marks.load(),
                g_domains.load(), g_unknown_domains.load());
    std::fflush(stdout);
  }
} g_at_end;

}  // namespace

extern "C" int InitInjectionMstx(int (*get_table)(int32_t, Function***, unsigned*)) {
  Function** table = nullptr;
  unsigned size = 0;
  if (get_table(1, &table, &size) != 0 || size < 4) return 1;
  *table[1] = reinterpret_cast<Function>(Mark);
  *table[2] = reinterpret_cast<Function>(Start);
  *table[3] = reinterpret_cast<Function>(End);
  if (get_table(2, &table, &size) != 0 || size < 6) return 1;
  *table[1] = reinterpret_cast<Function>(Create);
  *table[2] = reinterpret_cast<Function>(Destroy);
  *table[3] = reinterpret_cast<Function>(DomainMark);
  *table[4] = reinterpret_cast<Function>(DomainStart);
  *table[5] = reinterpret_cast<Function>(DomainEnd);
  return 0;
}
