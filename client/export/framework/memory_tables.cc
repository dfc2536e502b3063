#include "client/export/framework/memory_tables.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/export/framework/input/csv_rows.h"
#include "client/export/framework/input/trace_file.h"
#include "client/export/framework/join/allocations.h"

namespace profd::client::framework {
namespace {

using base::Status;
using Use = format::framework::MemoryUse;

constexpr double kKb = 1024, kMb = 1024.0 * 1024;

std::string DeviceOf(const Folder& folder, const Use& use) {
  return "NPU:" + std::to_string(DeviceNumber(folder, use));
}

void WriteSizes(CsvFile& table, const MemoryChange* change) {
  for (const int64_t Use::*size : {&Use::allocated, &Use::reserved, &Use::active}) {
    change == nullptr ? table.Plain("") : table.Shortest(static_cast<double>(change->use.*size) / kMb);
  }
}

void WriteTime(CsvFile& table, const MemoryChange* change) {
  change == nullptr ? table.Plain("") : table.Stamp(static_cast<uint64_t>(change->ns));
}

// Of CANN's table: no streams, nothing of what is active.
void WriteOfCann(const CannFiles& cann, CsvFile& table, Report& report) {
  for (const std::string& file : cann.Of("operator_memory")) {
    CsvRows rows(cann, file, report);
    const auto cell = [&rows](std::string_view name) { return rows.Cell(rows.Column(name)); };
    const auto mb = [&](std::string_view name) {
      const std::string_view kb = cell(name);
      kb.empty() ? table.Plain("") : table.Shortest(Number(kb) / kKb);
    };
    while (rows.Next()) {
      const auto taken = NsOfMicroseconds(cell("Allocation Time(us)")),
                 held = NsOfMicroseconds(cell("Duration(us)"));
      table.Text("cann::" + std::string(cell("Name")));
      table.Text(cell("Size(KB)"));
      table.Text(cell("Allocation Time(us)"));
      taken&& held ? table.Stamp(static_cast<uint64_t>(*taken + *held)) : table.Plain("");
      table.Plain("");
      table.Text(cell("Duration(us)"));
      table.Plain("");
      mb("Allocation Total Allocated(KB)");
      mb("Allocation Total Reserved(KB)");
      table.Plain("");
      mb("Release Total Allocated(KB)");
      mb("Release Total Reserved(KB)");
      table.Plain("");
      table.Plain("");
      table.Text(cell("Device"));
      table.End();
    }
  }
}

// How much a component holds.
struct Level {
  int64_t ns = 0;
  double allocated = 0, reserved = 0, active = 0;  // MiB
  std::string device;
  std::optional<int64_t> stream;
  bool is_workspace = false;
};

// memory_record.csv of two components that go on side by side. **Thread:** one.
class RecordWriter {
 public:
  explicit RecordWriter(CsvFile& table) : table_(table) {}

  void Framework(const Level& level) {
    if (level.is_workspace) return Row("WORKSPACE", level, true);
    Row("PTA", level, true);
    Sum(level, last_cann_);
    last_framework_.insert_or_assign(level.device, level);
  }
  void Cann(const Level& level) {
    Row("GE", level, false);
    Sum(level, last_framework_);
    last_cann_.insert_or_assign(level.device, level);
  }

 private:
  void Row(std::string_view component, const Level& level, bool has_active) {
    table_.Plain(component);
    table_.Stamp(static_cast<uint64_t>(level.ns));
    table_.Shortest(level.allocated);
    table_.Shortest(level.reserved);
    has_active ? table_.Shortest(level.active) : table_.Plain("");
    level.stream ? table_.Int(*level.stream) : table_.Plain("");
    table_.Text(level.device);
    table_.End();
  }
  void Sum(Level level, const std::map<std::string, Level>& others) {
    const auto other = others.find(level.device);
    // CANN has no active memory: alone it is a 0 without a fraction.
    const bool is_alone = other == others.end();
    if (!is_alone) {
      level.allocated += other->second.allocated;
      level.reserved += other->second.reserved;
      level.active += other->second.active;
      if (level.stream.value_or(0) == 0) level.stream = other->second.stream;
    }
    table_.Plain("PTA+GE");
    table_.Stamp(static_cast<uint64_t>(level.ns));
    table_.Shortest(level.allocated);
    table_.Shortest(level.reserved);
    is_alone&&& others == &last_framework_ ? table_.Int(0) : table_.Shortest(level.active);
    level.stream ? table_.Int(*level.stream) : table_.Plain("");
    table_.Text(level.device);
    table_.End();
  }

  CsvFile& table_;
  std::map<std::string, Level> last_framework_, last_cann_;  // by device
};

// The process's own: what the driver says of it.
void WriteOfProcess(const CannFiles& cann, CsvFile& table, Report& report) {
  for (const std::string& file : cann.Of("npu_mem")) {
    CsvRows rows(cann, file, report);
    const size_t event = rows.Column("event"), time = rows.Column("timestamp(us)"),
                 kb = rows.Column("memory(KB)"), device = rows.Column("Device_id");
    while (rows.Next()) {
      if (rows.Cell(event) != "APP") continue;
      table.Plain("APP");
      table.Text(rows.Cell(time));
      table.Plain("");
      table.Shortest(Number(rows.Cell(kb)) / kKb);
      table.Plain("");
      table.Plain("");
      table.Text("NPU:" + std::string(rows.Cell(device)));
      table.End();
    }
  }
}

}  // namespace

Status WriteOperatorMemory(const Folder& folder, const Calls& calls, const Tree& tree, const CannFiles& cann,
                           Results& results, Report& report) {
  constexpr char kName[] = "operator_memory.csv";
  PROFD_ASSIGN_OR_RETURN(
      const std::unique_ptr<CsvFile> table,
      results.OpenTable(
          kName,
          "Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),Active "
          "Duration(us),Allocation Total Allocated(MB),Allocation Total Reserved(MB),Allocation Total "
          "Active(MB),Release Total Allocated(MB),Release Total Reserved(MB),Release Total Active(MB),"
          "Stream Ptr,Device Type"));
  const std::vector<Held> allocations = Allocations(calls);
  std::optional<Namer> namer;
  if (!allocations.empty()) namer.emplace(calls, tree);
  const auto duration = [&table](const Held& held, const MemoryChange* end) {
    end == nullptr ? table->Plain("") : table->Us(static_cast<uint64_t>(end->ns - held.taken->ns), "\t");
  };
  uint64_t open = 0;
  for (const Held& held : allocations) {
    table->Text(namer->NameOf(*held.taken));
    table->Shortest(static_cast<double>(held.taken->use.bytes) / kKb);
    WriteTime(*table, held.taken);
    WriteTime(*table, held.freed);
    WriteTime(*table, held.released);
    duration(held, held.freed);
    duration(held, held.released);
    WriteSizes(*table, held.taken);
    WriteSizes(*table, held.last());
    table->Int(held.taken->use.stream);
    table->Text(DeviceOf(folder, held.taken->use));
    table->End();
    if (held.freed == nullptr || held.released == nullptr) ++open;
  }
  report.Note(kName, open, "allocation was not given back before the end",
              "allocations were not given back before the end");
  WriteOfCann(cann, *table, report);
  return results.Finish(*table, kName);
}

Status WriteMemoryRecord(const Folder& folder, const Calls& calls, const CannFiles& cann, Results& results,
                         Report& report) {
  constexpr char kName[] = "memory_record.csv";
  PROFD_ASSIGN_OR_RETURN(
      const std::unique_ptr<CsvFile> table,
      results.OpenTable(
          kName,
          "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream "
          "Ptr,Device Type"));
  WriteOfProcess(cann, *table, report);
  std::vector<Level> of_cann;
  std::vector<std::pair<std::string, Level>> others;  // components that are summed with none
  for (const std::string& file : cann.Of("memory_record")) {
    CsvRows rows(cann, file, report);
    const size_t component = rows.Column("Component"), time = rows.Column("Timestamp(us)"),
                 allocated = rows.Column("Total Allocated(KB)"), reserved = rows.Column("Total Reserved(KB)"),
                 device = rows.Column("Device");
    while (rows.Next()) {
      Level level;
      level.ns = NsOfMicroseconds(rows.Cell(time)).value_or(0);
      level.allocated = Number(rows.Cell(allocated)) / kKb;
      level.reserved = Number(rows.Cell(reserved)) / kKb;
      level.device = rows.Cell(device);
      if (rows.Cell(component) == "GE") {
        of_cann.push_back(std::move(level));
      } else {
        others.emplace_back(rows.Cell(component), std::move(level));
      }
    }
  }
  std::ranges::stable_sort(of_cann, {}, &Level::ns);
  RecordWriter writer(*table);
  auto next = of_cann.begin();
  for (const MemoryChange& change : calls.memory) {
    for (; next != of_cann.end() && next->ns < change.ns; ++next) writer.Cann(*next);
    writer.Framework({change.ns, static_cast<double>(change.use.allocated) / kMb,
                      static_cast<double>(change.use.reserved) / kMb,
                      static_cast<double>(change.use.active) / kMb, DeviceOf(folder, change.use),
                      change.use.stream, change.use.is_workspace});
  }
  for (; next != of_cann.end(); ++next) writer.Cann(*next);
  for (const auto& [component, level] : others) {
    table->Text(component);
    table->Stamp(static_cast<uint64_t>(level.ns));
    table->Shortest(level.allocated);
    table->Shortest(level.reserved);
    table->Plain("");
    table->Plain("");
    table->Text(level.device);
    table->End();
  }
  return results.Finish(*table, kName);
}

}  // namespace profd::client::framework
