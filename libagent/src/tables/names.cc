#include "libagent/src/tables/names.h"

#include <sys/mman.h>

#include <atomic>
#include <cstring>

#include "libagent/src/tables/latch.h"

namespace profd::agent {

namespace {

constexpr uint32_t kArenaBytes = 4U << 20;
constexpr uint32_t kBuckets = 1U << 17;  // more than entries fit into the arena

struct Shared {
  abi::RegionHeader* header;
  char* table;
  uint32_t bytes;
  uint32_t stored;  // bytes of the arena that are in the table; our own word for header->names_used
  uint32_t seen;    // bytes of the arena that are in the table or counted as lost
};

// All zero until the first name; kept by forked children, copy on write.
Latch g_latch;
std::atomic<char*> g_arena;  // entries as in a region's name table
std::atomic<uint32_t>* g_buckets;
uint32_t g_used;
Shared g_shared;

uint32_t Hash(abi::NameType type, uint16_t domain, uint32_t number, std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325ULL ^ (uint64_t{type} | uint64_t{domain} << 8 | uint64_t{number} << 24);
  hash *= 0x100000001b3ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return static_cast<uint32_t>(hash ^ (hash >> 32));
}

uint32_t EntryBytes(size_t text_bytes) {
  return static_cast<uint32_t>((sizeof(abi::NameEntry) + text_bytes + abi::kNameUnit) / abi::kNameUnit *
                               abi::kNameUnit);
}

const abi::NameEntry* EntryAt(const char* arena, uint32_t reference) {
  return reinterpret_cast<const abi::NameEntry*>(arena + uint64_t{reference} * abi::kNameUnit);
}

bool Matches(const abi::NameEntry* known, const abi::NameEntry& wanted, std::string_view text) {
  return known->hash == wanted.hash && known->bytes == wanted.bytes && known->type == wanted.type &&
         known->domain == wanted.domain && known->number == wanted.number &&
         std::memcmp(known + 1, text.data(), text.size()) == 0;
}

// The reference, or 0 and the bucket where it belongs.
uint32_t Find(const char* arena, const abi::NameEntry& wanted, std::string_view text, uint32_t* bucket) {
  for (*bucket = wanted.hash % kBuckets;; *bucket = (*bucket + 1) % kBuckets) {
    const uint32_t reference = g_buckets[*bucket].load(std::memory_order_acquire);
    if (reference == 0 || Matches(EntryAt(arena, reference), wanted, text)) return reference;
  }
}

// Needs g_latch.
char* MakeArena() {
  if (char* arena = g_arena.load(std::memory_order_relaxed)) return arena;
  void* memory = ::mmap(nullptr, kArenaBytes + kBuckets * sizeof(uint32_t), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  char* arena = static_cast<char*>(memory);
  g_buckets = reinterpret_cast<std::atomic<uint32_t>*>(arena + kArenaBytes);
  g_used = abi::kFirstNameOffset;
  g_arena.store(arena, std::memory_order_release);
  return arena;
}

// Needs g_latch. References are offsets: after the first entry without room there is none for a later one.
void CopyToRegion(const char* arena) {
  if (g_shared.header == nullptr) return;
  while (g_shared.seen < g_used) {
    const uint32_t bytes = EntryBytes(EntryAt(arena, g_shared.seen / abi::kNameUnit)->bytes);
    if (g_shared.stored == g_shared.seen && g_shared.stored + bytes <= g_shared.bytes) {
      std::memcpy(g_shared.table + g_shared.stored, arena + g_shared.stored, bytes);
      g_shared.stored += bytes;
      std::atomic_ref(g_shared.header->names_used).store(g_shared.stored, std::memory_order_release);
    } else {
      std::atomic_ref(g_shared.header->names_lost).fetch_add(1, std::memory_order_relaxed);
    }
    g_shared.seen += bytes;
  }
}

}  // namespace

std::string_view NameText(const char* text) {
  if (text == nullptr) return {};
  return {text, ::strnlen(text, abi::kMaxNameBytes + 1)};
}

uint32_t Define(abi::NameType type, uint16_t domain, uint32_t number, std::string_view text) {
  if (text.empty()) return 0;
  abi::NameEntry entry{};
  if (text.size() > abi::kMaxNameBytes) {
    size_t end = abi::kMaxNameBytes;
    // Not in the middle of a character.
    while (end > abi::kMaxNameBytes - 4 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    text = std::string_view(text.data(), end);
    entry.cut = 1;
  }
  entry.bytes = static_cast<uint32_t>(text.size());
  entry.type = static_cast<uint8_t>(type);
  entry.domain = domain;
  entry.number = number;
  entry.hash = Hash(type, domain, number, text);

  uint32_t bucket = 0;
  if (const char* arena = g_arena.load(std::memory_order_acquire)) {
    if (const uint32_t known = Find(arena, entry, text, &bucket)) return known;
  }
  const Latched latched(g_latch);
  if (!latched) return 0;
  char* arena = MakeArena();
  if (arena == nullptr) return 0;
  if (const uint32_t known = Find(arena, entry, text, &bucket)) return known;
  const uint32_t bytes = EntryBytes(text.size());
  if (g_used + bytes > kArenaBytes) return 0;
  const uint32_t at = g_used;
  std::memcpy(arena + at, &entry, sizeof(entry));
  std::memcpy(arena + at + sizeof(entry), text.data(), text.size());
  g_used = at + bytes;
  CopyToRegion(arena);
  const uint32_t reference = at / abi::kNameUnit;
  g_buckets[bucket].store(reference, std::memory_order_release);
  return reference;
}

const char* TextOf(uint32_t reference) {
  const char* arena = g_arena.load(std::memory_order_acquire);
  return reinterpret_cast<const char*>(EntryAt(arena, reference) + 1);
}

void NameThread(const char* text) {
  Define(abi::kNameOfThread, 0, static_cast<uint32_t>(ThreadId()), NameText(text));
}

void ShareNames(abi::RegionHeader* region, char* table, uint32_t table_bytes) {
  const Latched latched(g_latch);
  if (!latched) return;
  g_shared = {region, table, table_bytes, abi::kFirstNameOffset, abi::kFirstNameOffset};
  if (region == nullptr) return;
  std::atomic_ref(region->names_used).store(abi::kFirstNameOffset, std::memory_order_release);
  if (const char* arena = g_arena.load(std::memory_order_relaxed)) CopyToRegion(arena);
}

void ResetNamesAfterFork() {
  g_latch.Reset();
  g_shared = {};
}

}  // namespace profd::agent
