#include "client/export/framework/database/memory_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "client/export/framework/database/call_tables.h"
#include "client/export/framework/join/allocations.h"

namespace profd::client::framework {
namespace {

// Of CANN: an operator took memory, or gave it back.
struct CannChange {
  int64_t name, address, bytes, ns, allocated, reserved, device;
};
// What a component holds.
struct Level {
  int64_t ns = 0, allocated = 0, reserved = 0, active = 0;
  DbValue stream;
  int64_t device = 0;
};

// Whatever the numbers are.
int64_t Wrapped(int64_t a, uint64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + b); }

std::vector<CannChange> CannChanges(SqliteEngine& engine) {
  std::vector<CannChange> changes;
  if (!engine.HasTable("NPU_OP_MEM") || !engine.HasTable("STRING_IDS")) return changes;
  engine.ForEach(
      "SELECT operatorName, addr, size, timestampNs, totalAllocate, totalReserve, deviceId, s.value = "
      "'release' "
      "FROM NPU_OP_MEM m LEFT JOIN STRING_IDS s ON s.id = m.type ORDER BY m.rowid",
      [&changes](const SqliteEngine::Row& row) {
        const int64_t bytes = row.Int(7) != 0 && row.Int(2) != INT64_MIN ? -row.Int(2) : row.Int(2);
        changes.push_back({row.Int(0), row.Int(1), bytes, row.Int(3), row.Int(4), row.Int(5), row.Int(6)});
      });
  return changes;
}

// MEMORY_RECORD: two components that go on side by side, and their sum. **Thread:** one.
class RecordWriter {
 public:
  RecordWriter(SqliteEngine& engine, StringIds& strings)
      : rows_(engine.Into("MEMORY_RECORD", 7)), strings_(strings) {}

  void Framework(const Level& level, bool is_workspace) {
    if (is_workspace) return Row("WORKSPACE", level);
    Row("PTA", level);
    Sum(level, last_cann_);
    last_framework_.insert_or_assign(level.device, level);
  }
  void Cann(const Level& level) {
    Row("GE", level);
    Sum(level, last_framework_);
    last_cann_.insert_or_assign(level.device, level);
  }

 private:
  void Row(std::string_view component, const Level& level) {
    rows_.Append({strings_.Of(component), level.ns, level.allocated, level.reserved, level.active,
                  level.stream, level.device});
  }
  void Sum(Level level, const std::map<int64_t, Level>& others) {
    if (const auto other = others.find(level.device); other != others.end()) {
      level.allocated = Wrapped(level.allocated, static_cast<uint64_t>(other->second.allocated));
      level.reserved = Wrapped(level.reserved, static_cast<uint64_t>(other->second.reserved));
      level.active = Wrapped(level.active, static_cast<uint64_t>(other->second.active));
      if (level.stream.integer == 0) level.stream = other->second.stream;
    }
    Row("PTA+GE", level);
  }

  SqliteEngine::Insert rows_;
  StringIds& strings_;
  std::map<int64_t, Level> last_framework_, last_cann_;  // by device
};

void WriteRecords(const Folder& folder, const Calls& calls, std::vector<CannChange> changes,
                  SqliteEngine& engine, StringIds& strings) {
  if (calls.memory.empty() && changes.empty()) return;
  engine.Run("DROP TABLE IF EXISTS MEMORY_RECORD");
  engine.Run(
      "CREATE TABLE MEMORY_RECORD (component INTEGER, timestamp INTEGER, totalAllocated INTEGER, "
      "totalReserved "
      "INTEGER, totalActive INTEGER, streamPtr INTEGER, deviceId INTEGER)");
  std::ranges::stable_sort(changes, {}, &CannChange::ns);
  RecordWriter writer(engine, strings);
  auto next = changes.begin();
  const auto write = [&writer](const CannChange& change) {
    writer.Cann({change.ns, change.allocated, change.reserved, 0, {}, change.device});
  };
  for (const MemoryChange& change : calls.memory) {
    for (; next != changes.end() && next->ns < change.ns; ++next) write(*next);
    writer.Framework({change.ns, change.use.allocated, change.use.reserved, change.use.active,
                      change.use.stream, DeviceNumber(folder, change.use)},
                     change.use.is_workspace);
  }
  for (; next != changes.end(); ++next) write(*next);
}

// OP_MEMORY: what was taken, and what gave it back. **Thread:** one.
class OperatorWriter {
 public:
  explicit OperatorWriter(SqliteEngine& engine) : rows_(engine.Into("OP_MEMORY", 15)) {}

  void OfFramework(const Folder& folder, const Held& held, int64_t name) {
    const auto at = [](const MemoryChange* change) {
      return change == nullptr ? DbValue() : DbValue(change->ns);
    };
    const auto lasted = [&held](const MemoryChange* change) {
      return change == nullptr ? DbValue() : DbValue(change->ns - held.taken->ns);
    };
    using Use = format::framework::MemoryUse;
    const auto size = [](const MemoryChange* change, int64_t Use::*of) {
      return change == nullptr ? DbValue() : DbValue(change->use.*of);
    };
    const MemoryChange *taken = held.taken, *last = held.last();
    rows_.Append({name, taken->use.bytes, at(taken), at(held.freed), at(held.released), lasted(held.freed),
                  lasted(held.released), size(taken, &Use::allocated), size(taken, &Use::reserved),
                  size(taken, &Use::active), size(last, &Use::allocated), size(last, &Use::reserved),
                  size(last, &Use::active), taken->use.stream, DeviceNumber(folder, taken->use)});
  }

  // By operator, address and device; those that are not given back come last.
  void OfCann(const std::vector<CannChange>& changes) {
    using Key = std::tuple<int64_t, int64_t, int64_t>;
    struct Open {
      size_t order;
      CannChange taken;
    };
    std::map<Key, Open> open;
    size_t order = 0;
    for (const CannChange& change : changes) {
      const Key key{change.name, change.address, change.device};
      const auto found = open.find(key);
      if (change.bytes > 0) {
        found == open.end() ? void(open.emplace(key, Open{order++, change}))
                            : void(found->second.taken = change);
      } else if (change.bytes < 0 && found != open.end()) {
        Cann(found->second.taken, &change);
        open.erase(found);
      }
    }
    std::vector<const Open*> rest;
    rest.reserve(open.size());
    for (const auto& [key, one] : open) rest.push_back(&one);
    std::ranges::sort(rest, {}, &Open::order);
    for (const Open* one : rest) Cann(one->taken, nullptr);
  }

 private:
  void Cann(const CannChange& taken, const CannChange* back) {
    const auto of = [back](int64_t CannChange::*member) {
      return back == nullptr ? DbValue() : DbValue(back->*member);
    };
    const DbValue lasted =
        back == nullptr ? DbValue() : DbValue(Wrapped(back->ns, -static_cast<uint64_t>(taken.ns)));
    rows_.Append({taken.name,
                  taken.bytes,
                  taken.ns,
                  of(&CannChange::ns),
                  {},
                  lasted,
                  {},
                  taken.allocated,
                  taken.reserved,
                  {},
                  of(&CannChange::allocated),
                  of(&CannChange::reserved),
                  {},
                  {},
                  taken.device});
  }

  SqliteEngine::Insert rows_;
};

}  // namespace

void WriteMemoryRows(const Folder& folder, const Calls& calls, const Tree& tree, SqliteEngine& engine) {
  const std::vector<CannChange> changes = CannChanges(engine);
  StringIds strings(engine, StringIds::kOfMemory);
  WriteRecords(folder, calls, changes, engine, strings);
  const std::vector<Held> allocations = Allocations(calls);
  if (allocations.empty() && changes.empty()) return;
  engine.Run("DROP TABLE IF EXISTS OP_MEMORY");
  engine.Run(
      "CREATE TABLE OP_MEMORY (name INTEGER, size INTEGER, allocationTime INTEGER, releaseTime INTEGER, "
      "activeReleaseTime INTEGER, duration INTEGER, activeDuration INTEGER, allocationTotalAllocated "
      "INTEGER, "
      "allocationTotalReserved INTEGER, allocationTotalActive INTEGER, releaseTotalAllocated INTEGER, "
      "releaseTotalReserved INTEGER, releaseTotalActive INTEGER, streamPtr INTEGER, deviceId INTEGER)");
  OperatorWriter writer(engine);
  std::optional<Namer> namer;
  if (!allocations.empty()) namer.emplace(calls, tree);
  for (const Held& held : allocations)
    writer.OfFramework(folder, held, strings.Of(namer->NameOf(*held.taken)));
  writer.OfCann(changes);
}

}  // namespace profd::client::framework
