#include "client/analyze/reading/database.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "client/analyze/reading/metadata.h"
#include "client/analyze/reading/sqlite_scan.h"
#include "client/words/data_types.h"
#include "format/events/spans.h"

namespace profd::analyze {
namespace {

using base::Result;
using Row = std::span<const SqliteValue>;
using Columns = std::initializer_list<std::string_view>;

constexpr Ns kLatest = INT64_MAX / 4;
constexpr int64_t kDenseTexts = 1 << 22;

// Numbers of kernels or calls, and what is known of each, in one order.
template <typename Value>
class ByNumber {
 public:
  void Add(int64_t number, Value value) {
    sorted_ = sorted_ && (rows_.empty() || rows_.back().first < number);
    rows_.emplace_back(number, value);
  }
  void Sort() {
    if (!sorted_) std::ranges::stable_sort(rows_, {}, &std::pair<int64_t, Value>::first);
    sorted_ = true;
  }
  // Rows are mostly asked for in their order.
  const Value* Find(int64_t number) {
    if (cursor_ < rows_.size() && rows_[cursor_].first == number) return &rows_[cursor_++].second;
    const auto at = std::ranges::lower_bound(rows_, number, {}, &std::pair<int64_t, Value>::first);
    if (at == rows_.end() || at->first != number) return nullptr;
    cursor_ = static_cast<size_t>(at - rows_.begin()) + 1;
    return &at->second;
  }
  bool empty() const { return rows_.empty(); }

 private:
  std::vector<std::pair<int64_t, Value>> rows_;
  size_t cursor_ = 0;
  bool sorted_ = true;
};

struct Kernel {
  uint32_t kernel_class;
  TextId name;
};
// A task of a collective.
struct SubTask {
  Link link;
  uint64_t bytes;
};

// What no table of kernels tells of: by the task's own type (task types of Ascend/msprof's
// analysis/csrc/domain/services, "TASK_TYPE").
enum class TypeOf : uint8_t { kOther, kCompute, kAiCpu, kCopy };
TypeOf KindOfTask(std::string_view type) {
  if (type.find("AI_CPU") != type.npos || type.find("AICPU") != type.npos) return TypeOf::kAiCpu;
  if (type.find("MEMCPY") != type.npos || type.find("PCIE_DMA") != type.npos) return TypeOf::kCopy;
  for (const std::string_view core : {"AI_CORE", "AICORE", "AI_VECTOR", "AIVEC", "MIX_AI", "DSA"}) {
    if (type.find(core) != type.npos) return TypeOf::kCompute;
  }
  return type == "AIC" || type == "AIV" ? TypeOf::kCompute : TypeOf::kOther;
}

constexpr int64_t kNobody = 0xFFFFFFFF;  // stands for no rank, no call, no text
bool IsRank(int64_t number) { return number >= 0 && number < kNobody; }

class DatabaseReader {
 public:
  DatabaseReader(SqliteScan& scan, const std::string& path, bool keeps_all, bool is_of_rank)
      : scan_(scan), builder_(path, keeps_all), is_of_rank_(is_of_rank) {}

  Part Read() {
    ReadTexts();
    ReadKernels();
    ReadPipes();
    ReadTasks();
    ReadCollectives();
    ReadCalls();
    ReadRanges();
    ReadSteps();
    ReadFacts();
    if (scan_.missing_pages() > 0)
      builder_.Note("the file was cut off: " + std::to_string(scan_.missing_pages()) + " pages are missing",
                    true);
    if (torn_.bad_pages + torn_.bad_rows > 0) {
      builder_.Note("torn: " + std::to_string(torn_.bad_pages) + " pages and " +
                        std::to_string(torn_.bad_rows) + " rows cannot be read",
                    true);
    }
    if (torn_.bad_pages + torn_.bad_rows + torn_.removed + senseless_ + scan_.missing_pages() > 0)
      builder_.ForEachRank([](Rank& rank) { rank.gaps.torn = true; });
    if (builder_.is_empty()) {
      builder_.Note(std::string(scan_.Has("TASK") ? "TASK is empty" : "there is no table TASK") +
                        ": nothing is known of what the device did, and this rank is not judged",
                    is_of_rank_);
    }
    if (senseless_ > 0)
      builder_.Note(std::to_string(senseless_) + " rows have times that make no sense, and are left out",
                    true);
    if (scan_.has_journal())
      builder_.Note("a journal lies beside it whose changes are not in it yet: open it once with sqlite3",
                    true);
    return builder_.Finish();
  }

 private:
  // How many rows there are. `columns`: without a "+column" no row says anything.
  uint64_t Scan(std::string_view table, Columns columns, const SqliteScan::Visitor& visit) {
    std::vector<std::string_view> names;
    for (std::string_view name : columns) {
      if (name.starts_with('+')) {
        name.remove_prefix(1);
        if (scan_.Has(table) && !scan_.HasColumn(table, name)) {
          builder_.Note(std::string(table) + " has no column " + std::string(name) + ": none of it is used",
                        true);
          return 0;
        }
      }
      names.push_back(name);
    }
    unknown_ = 0;
    const SqliteScan::Outcome outcome = scan_.Scan(table, names, visit);
    if (unknown_ > 0)
      builder_.Note(std::to_string(unknown_) + " names in " + std::string(table) + " are not in STRING_IDS",
                    true);
    if (outcome.removed > 0)
      builder_.Note(std::to_string(outcome.removed) + " rows of " + std::string(table) + " have been removed",
                    true);
    torn_.bad_pages += outcome.bad_pages;
    torn_.bad_rows += outcome.bad_rows;
    torn_.removed += outcome.removed + unknown_;
    return outcome.rows;
  }
  // False: they can be no times of anything.
  bool Times(const SqliteValue& begin, const SqliteValue& end, Ns& from, Ns& to) {
    from = begin.Integer(-1);
    to = end.Integer(-1);
    const bool good = from >= 0 && to >= from && to < kLatest;
    senseless_ += good ? 0 : 1;
    return good;
  }
  TextId Text(const SqliteValue& value) {
    if (value.type == SqliteValue::Type::kText) return builder_.Text(value.text);
    const int64_t id = value.Integer(-1);
    if (id >= 0 && static_cast<size_t>(id) < dense_.size() && dense_[static_cast<size_t>(id)] != kNone)
      return dense_[static_cast<size_t>(id)];
    if (const auto found = sparse_.find(id); found != sparse_.end()) return found->second;
    if (id >= 0 && id < kNobody) ++unknown_;
    return 0;
  }
  std::string_view View(TextId id) { return texts_view_->Get(id); }
  TypeOf TypeOfTask(TextId type) {
    if (type_ == type) return type_of_;
    type_ = type;
    const auto [known, is_new] = types_.try_emplace(type, TypeOf::kOther);
    if (is_new) known->second = KindOfTask(View(type));
    return type_of_ = known->second;
  }

  void ReadTexts();
  void ReadKernels();
  void ReadPipes();
  void ReadTasks();
  void ReadCollectives();
  void ReadCalls();
  void ReadRanges();
  void ReadSteps();
  void ReadMemory();
  void ReadFacts();

  SqliteScan& scan_;
  RankBuilder builder_;
  bool is_of_rank_;
  const format::Texts* texts_view_ = nullptr;
  std::vector<TextId> dense_;
  std::unordered_map<int64_t, TextId> sparse_;
  ByNumber<Kernel> kernels_;
  std::unordered_map<TextId, TypeOf> types_;
  TextId type_ = UINT32_MAX;  // the last one that was asked for
  TypeOf type_of_ = TypeOf::kOther;
  uint64_t senseless_ = 0;
  uint64_t known_kernels_ = 0, run_kernels_ = 0;  // that have a name, and that have a task, too
  uint64_t unknown_ = 0;                          // texts of the table that is read
  SqliteScan::Outcome torn_;
};

void DatabaseReader::ReadTexts() {
  texts_view_ = &builder_.texts();
  Scan("STRING_IDS", {"id", "+value"}, [this](Row row) {
    const int64_t id = row[0].Integer(-1);
    if (id < 0) return;
    const TextId text = builder_.Text(row[1].text);
    if (id >= kDenseTexts) {
      sparse_.emplace(id, text);
      return;
    }
    if (static_cast<size_t>(id) >= dense_.size())
      dense_.resize(std::max<size_t>(static_cast<size_t>(id) + 1, dense_.size() * 2), kNone);
    dense_[static_cast<size_t>(id)] = text;
  });
}

void DatabaseReader::ReadKernels() {
  const TextId unknown = builder_.Text("N/A");
  Scan("COMPUTE_TASK_INFO",
       {"+globalTaskId", "name", "opType", "inputShapes", "taskType", "blockNum|blockDim"}, [&](Row row) {
         const TextId name = Text(row[1]);
         TextId type = Text(row[2]), shapes = Text(row[3]);
         if (type == 0 || type == unknown) type = name;
         if (shapes == unknown) shapes = 0;
         const TextId task_type = Text(row[4]);
         const Work work = TypeOfTask(task_type) == TypeOf::kAiCpu ? Work::kAiCpu : Work::kCompute;
         const int64_t blocks = row[5].Integer(0);
         const KernelClass of{type, shapes, work,
                              blocks > 0 && blocks <= UINT32_MAX ? static_cast<uint32_t>(blocks) : 0,
                              IsOfVectors(builder_.texts().Get(task_type))};
         kernels_.Add(row[0].Integer(-1), {builder_.Class(of), name});
         ++known_kernels_;
       });
  kernels_.Sort();
}

// A row for each figure of each kernel.
void DatabaseReader::ReadPipes() {
  std::map<TextId, std::optional<PipeOfCore>> metrics;
  Scan("TASK_PMU_INFO", {"globalTaskId", "name", "value"}, [&](Row row) {
    const TextId name = Text(row[1]);
    const auto [metric, is_new] = metrics.try_emplace(name);
    if (is_new) metric->second = PipeOf(builder_.texts().Get(name));
    if (!metric->second) return;
    const Kernel* kernel = kernels_.Find(row[0].Integer(-1));
    if (kernel != nullptr) builder_.AddPipe(kernel->kernel_class, *metric->second, row[2].Real(-1));
  });
}

void DatabaseReader::ReadTasks() {
  const bool has_kernels = !kernels_.empty();
  struct Kernels {
    uint64_t named = 0, nameless = 0;
  };
  std::map<std::pair<int, int64_t>, Kernels> of_streams;  // by device and stream
  Kernels* of_stream = nullptr;
  std::pair<int, int64_t> stream;
  std::set<int64_t> of_collectives;
  std::map<int64_t, TextId> transports;
  Scan("ENUM_HCCL_TRANSPORT_TYPE", {"id", "name"},
       [&](Row row) { transports[row[0].Integer(-1)] = builder_.Text(row[1].text); });
  ByNumber<SubTask> sub_tasks;
  Scan("COMMUNICATION_TASK_INFO",
       {"globalTaskId", "groupName", "srcRank", "dstRank", "transportType", "size"}, [&](Row row) {
         const auto transport = transports.find(row[4].Integer(-1));
         sub_tasks.Add(row[0].Integer(-1),
                       {{Text(row[1]), transport == transports.end() ? 0 : transport->second,
                         row[2].Integer(-1), row[3].Integer(-1)},
                        static_cast<uint64_t>(std::max<int64_t>(0, row[5].Integer(0)))});
       });
  sub_tasks.Sort();
  Scan("TASK",
       {"+startNs", "+endNs", "deviceId", "connectionId", "+globalTaskId", "taskType", "streamId",
        "globalPid"},
       [&](Row row) {
         Task task;
         const int64_t device = row[2].Integer(0), number = row[4].Integer(-1);
         const Kernel* kernel = kernels_.Find(number);
         const TextId type = Text(row[5]);
         if (const std::pair own(static_cast<int>(device), row[6].Integer(-1));
             of_stream == nullptr || own != stream)
           of_stream = &of_streams[stream = own];
         if (kernel != nullptr) {
           task.kind = kernel->kernel_class;
           task.name = kernel->name;
           ++(task.name != 0 ? of_stream->named : of_stream->nameless);
         } else if (const SubTask* part = sub_tasks.Find(number); part != nullptr) {
           Ns from = 0, to = 0;
           if (part->bytes > 0 && IsRank(part->link.from) && IsRank(part->link.to) &&
               Times(row[0], row[1], from, to)) {
             Carried& carried = builder_.At(static_cast<int>(device)).links[part->link];
             carried.bytes += part->bytes;
             carried.ns += to - from;
             ++carried.count;
           }
           builder_.AddOther(row[3].Integer(RankBuilder::kNoConnection));
           return;
         }
         const TypeOf known = TypeOfTask(type);
         if (kernel == nullptr) {
           // Without any table of kernels the tasks of cores are what is known; with one, they are parts of
           // collectives, unless their stream is one of kernels: then their names are lost.
           if (known == TypeOf::kCompute || known == TypeOf::kAiCpu) ++of_stream->nameless;
           if (known == TypeOf::kOther || (has_kernels && known != TypeOf::kCopy))
             return builder_.AddOther(row[3].Integer(RankBuilder::kNoConnection));
           task.name = type;
           task.work = known == TypeOf::kCopy    ? Work::kCopy
                       : known == TypeOf::kAiCpu ? Work::kAiCpu
                                                 : Work::kCompute;
           task.kind = builder_.Class(type, 0, task.work);
         } else if (known == TypeOf::kAiCpu) {
           task.work = Work::kAiCpu;
         }
         if (!Times(row[0], row[1], task.begin, task.end)) return;
         run_kernels_ += kernel != nullptr ? 1 : 0;
         // Of what is no kernel it is the pid of whom the recording was asked for.
         const auto pid = static_cast<uint64_t>(std::max<int64_t>(row[7].Integer(0), 0));
         builder_.AddTask(static_cast<int>(device), task, row[6].Integer(-1),
                          row[3].Integer(RankBuilder::kNoConnection), kernel != nullptr ? pid : 0);
         if (pid > 0) builder_.At(static_cast<int>(device)).process = pid;
       });
  std::map<int, Kernels> of_devices;
  for (const auto& [key, kernels] : of_streams) {
    if (has_kernels && kernels.named == 0) continue;
    of_devices[key.first].named += kernels.named;
    of_devices[key.first].nameless += kernels.nameless;
  }
  const double run =
      known_kernels_ == 0 ? 1 : static_cast<double>(run_kernels_) / static_cast<double>(known_kernels_);
  builder_.ForEachRank([&](Rank& rank) {
    const Kernels& of = of_devices[rank.device];
    const auto all = static_cast<double>(of.named + of.nameless);
    rank.gaps.kernels = 1 - std::min(run, 1.0) * (all > 0 ? static_cast<double>(of.named) / all : 1);
  });
}

void DatabaseReader::ReadCollectives() {
  std::map<int64_t, uint64_t> element_bytes;
  Scan("ENUM_HCCL_DATA_TYPE", {"id", "name"},
       [&](Row row) { element_bytes[row[0].Integer(-1)] = client::ElementBytes(row[1].text); });
  // Whose device a row of collectives without one is: that of the only device there is.
  std::set<int64_t> devices;
  Scan("RANK_DEVICE_MAP", {"deviceId"}, [&](Row row) { devices.insert(row[0].Integer(0)); });
  const int64_t only = devices.size() == 1 ? *devices.begin() : 0;
  Scan("COMMUNICATION_OP",
       {"opName", "+startNs", "+endNs", "connectionId", "+groupName", "dataType", "count", "deviceId",
        "opType"},
       [&](Row row) {
         Collective collective;
         if (!Times(row[1], row[2], collective.begin, collective.end)) return;
         collective.name = Text(row[0]);
         collective.group = Text(row[4]);
         std::string_view type = View(collective.name);
         if (type.empty()) type = View(Text(row[8]));
         collective.type = builder_.Text(CollectiveType(type));
         const auto bytes = element_bytes.find(row[5].Integer(-1));
         const int64_t count = row[6].Integer(0);
         if (bytes != element_bytes.end() && count > 0 && count < int64_t{1} << 48)
           collective.bytes = static_cast<uint64_t>(count) * bytes->second;
         builder_.AddCollective(static_cast<int>(row[7].Integer(only)), collective,
                                row[3].Integer(RankBuilder::kNoConnection));
       });
}

void DatabaseReader::ReadCalls() {
  std::unordered_map<TextId, CallKind> kinds;
  TextId last = UINT32_MAX;
  CallKind kind = CallKind::kOther;
  Scan("CANN_API", {"+startNs", "+endNs", "globalTid", "connectionId", "name"}, [&](Row row) {
    Call call;
    if (!Times(row[0], row[1], call.begin, call.end)) return;
    call.name = Text(row[4]);
    if (call.name != last) {
      last = call.name;
      const auto [known, is_new] = kinds.try_emplace(last, CallKind::kOther);
      if (is_new) known->second = KindOfCall(View(last));
      kind = known->second;
    }
    call.kind = kind;
    builder_.AddCall(call, static_cast<uint64_t>(row[2].Integer(0)),
                     row[3].Integer(RankBuilder::kNoConnection));
  });
}

void DatabaseReader::ReadRanges() {
  Scan("PYTORCH_API", {"startNs", "endNs", "globalTid", "name"}, [&](Row row) {
    Range range;
    if (!Times(row[0], row[1], range.begin, range.end)) return;
    range.thread = static_cast<uint64_t>(row[2].Integer(0));
    range.name = Text(row[3]);
    builder_.AddRange(range);
  });
  Scan("MSTX_EVENTS", {"startNs", "endNs", "globalTid", "message", "eventType"}, [&](Row row) {
    Range range;
    constexpr int64_t kMarker = 0, kMarkerEx = 3;
    const int64_t type = row[4].Integer(kMarker);
    if (type == kMarker || type == kMarkerEx || !Times(row[0], row[1], range.begin, range.end)) return;
    range.thread = static_cast<uint64_t>(row[2].Integer(0));
    range.name = Text(row[3]);
    range.kind = RangeKind::kUser;
    builder_.AddRange(range);
  });
  const TextId garbage = builder_.Text("garbage collection");
  Scan("GC_RECORD", {"startNs", "endNs", "globalTid"}, [&](Row row) {
    Range range;
    if (!Times(row[0], row[1], range.begin, range.end)) return;
    range.thread = static_cast<uint64_t>(row[2].Integer(0));
    range.name = garbage;
    range.kind = RangeKind::kGarbage;
    builder_.AddRange(range);
  });
}

void DatabaseReader::ReadSteps() {
  Scan("STEP_TIME", {"+id", "+startNs", "+endNs", "globalTid", "deviceId", "edge"}, [&](Row row) {
    if (View(Text(row[5])) == format::kUnfinished) return;
    Step step;
    if (!Times(row[1], row[2], step.begin, step.end)) return;
    step.number = row[0].Integer(0);
    builder_.AddStep(step, static_cast<int>(row[4].Integer(-1)), static_cast<uint64_t>(row[3].Integer(0)));
  });
}

// Of CANN's modules; of the framework's allocators, whose rows name no device where there is one.
void DatabaseReader::ReadMemory() {
  std::map<int64_t, TextId> modules;
  Scan("ENUM_MODULE", {"id", "name"},
       [&](Row row) { modules[row[0].Integer(-1)] = builder_.Text(row[1].text); });
  const auto add = [this](const SqliteValue& device, const SqliteValue& at, TextId owner,
                          const SqliteValue& bytes) {
    const auto number = static_cast<int>(device.Integer(0));
    const Ns when = at.Integer(-1);
    if (builder_.Has(number) && when >= 0 && when < kLatest && !bytes.is_null())
      builder_.At(number).memory.push_back({when, owner, bytes.Real(0)});
  };
  Scan("NPU_MODULE_MEM", {"moduleId", "timestampNs", "totalReserved", "deviceId"}, [&](Row row) {
    const int64_t module = row[0].Integer(-1);
    const auto [known, is_new] = modules.try_emplace(module, 0);
    if (is_new) known->second = builder_.Text("module " + std::to_string(module));
    add(row[3], row[1], known->second, row[2]);
  });
  std::map<TextId, Allocator> allocators;
  Scan("MEMORY_RECORD", {"component", "timestamp", "totalAllocated", "totalReserved"}, [&](Row row) {
    const TextId owner = Text(row[0]);
    const Ns at = row[1].Integer(-1);
    // Sums of two of them have both names.
    if (row[2].is_null() || row[3].is_null() || at < 0 || at >= kLatest ||
        View(owner).find('+') != std::string_view::npos)
      return;
    Allocator& most = allocators[owner];
    if (const double used = row[2].Real(0); used > most.used) most = {owner, at, used, row[3].Real(0)};
  });
  builder_.ForEachRank([&](Rank& rank) {
    for (const auto& [owner, most] : allocators) {
      if (most.used > 0) rank.allocators.push_back(most);
    }
  });
  builder_.ForEachRank([](Rank& rank) { std::ranges::sort(rank.memory, {}, &MemoryLook::at); });
}

void DatabaseReader::ReadFacts() {
  std::string node;
  Scan("HOST_INFO", {"hostUid", "hostName"},
       [&](Row row) { node = row[1].text.empty() ? std::string(row[0].text) : std::string(row[1].text); });
  client::Metadata metadata;
  Scan("META_DATA", {"name", "value"}, [&](Row row) {
    if (!row[0].text.starts_with("SCHEMA")) metadata.emplace_back(row[0].text, row[1].text);
  });
  std::vector<std::pair<int64_t, int64_t>> ranks;  // rank, device
  Scan("RANK_DEVICE_MAP", {"rankId", "deviceId"},
       [&](Row row) { ranks.emplace_back(row[0].Integer(-1), row[1].Integer(0)); });
  if (is_of_rank_ || ranks.size() == 1) builder_.DropSmallDevices();
  is_of_rank_ = is_of_rank_ || !ranks.empty();
  Scan("AICORE_FREQ", {"deviceId", "+timestampNs", "+freq"}, [&](Row row) {
    const auto device = static_cast<int>(row[0].Integer(-1));
    if (builder_.Has(device)) builder_.At(device).frequencies.push_back({row[1].Integer(0), row[2].Real(0)});
  });
  ReadMemory();
  for (const auto& [rank, device] : ranks) {
    if (builder_.Has(static_cast<int>(device))) builder_.At(static_cast<int>(device)).number = rank;
  }
  builder_.ForEachRank([&](Rank& rank) {
    rank.node = node;
    std::ranges::sort(rank.frequencies, {}, &Frequency::at);
  });
  TakeMetadata(metadata, builder_);
}

}  // namespace

Result<Part> ReadDatabase(const std::string& path, bool keeps_all, bool is_of_rank) {
  PROFD_ASSIGN_OR_RETURN(const std::unique_ptr<SqliteScan> scan, SqliteScan::Open(path));
  return DatabaseReader(*scan, path, keeps_all, is_of_rank).Read();
}

}  // namespace profd::analyze
