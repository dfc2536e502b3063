#include "client/export/framework/input/calls.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "client/export/framework/input/row_file.h"
#include "client/export/write/json_text.h"
#include "format/framework/mindspore.h"

namespace profd::client::framework {
namespace {

using format::TextId;
namespace bytes = format::framework;

// **Thread:** one. Fills one Calls.
class Reader {
 public:
  Reader(const Folder& folder, bool as_vendor, Report& report, Progress& progress)
      : folder_(folder), as_vendor_(as_vendor), report_(report), progress_(progress) {}

  Calls Run() {
    if (folder_.is_mindspore) {
      ReadMindSpore();
    } else {
      ReadOps();
    }
    ReadMarks();
    ReadMemory();
    ReadGc();
    ReadPython();
    report_.Note(kRecords, calls_.texts.dropped(), "text found no room in memory",
                 "texts found no room in memory");
    return std::move(calls_);
  }

 private:
  int64_t WallNs(int64_t stamp) const { return folder_.clock.WallNs(stamp, as_vendor_); }

  Ref ThreadOf(uint64_t pid, uint64_t tid) {
    const Place place{pid, tid};
    if (!calls_.threads.empty() && calls_.threads[last_thread_] == place) return last_thread_;
    const auto [at, is_new] = threads_.emplace(place, static_cast<Ref>(calls_.threads.size()));
    if (is_new) calls_.threads.push_back(place);
    return last_thread_ = at->second;
  }

  struct Hash {
    size_t operator()(const Rest& rest) const {
      uint64_t hash =
          rest.forward_tid * 0x9E3779B97F4A7C15 + static_cast<uint32_t>(rest.high_sequence) + rest.has;
      for (const uint32_t text : {rest.types, rest.dims, rest.stack, rest.modules, rest.flops})
        hash = (hash ^ text) * 0x9E3779B97F4A7C15;
      return hash ^ hash >> 32;
    }
  };
  Ref RestOf(const Rest& rest) {
    const auto [at, is_new] = rests_.try_emplace(rest, static_cast<Ref>(calls_.rests.size()));
    if (is_new) calls_.rests.push_back(rest);
    return at->second;
  }

  TextId Intern(std::string_view text) {
    if (text.empty()) return 0;
    if (as_vendor_ && ValidUtf8(text) != text) text = "N/A";
    return calls_.texts.Intern(text);
  }

  void ReadOps() {
    RowFile file(folder_.records, "torch.op_range", report_, progress_);
    while (const auto value = file.NextValue()) {
      const auto range = bytes::ParseOpRange(*value);
      if (!range || range->end < range->start) {
        file.Refuse();
        continue;
      }
      if (range->is_torn) file.Tear();
      Op op;
      op.begin = WallNs(range->start);
      op.end = WallNs(range->end);
      op.low_sequence = static_cast<uint32_t>(range->sequence);
      op.thread = ThreadOf(range->pid, range->start_tid);
      op.name = Intern(range->name);
      Rest rest;
      rest.high_sequence = static_cast<int32_t>(range->sequence >> 32);
      rest.forward_tid = range->forward_tid;
      rest.types = Intern(range->types);
      rest.dims = Intern(range->dims);
      rest.stack = Intern(range->stack);
      rest.modules = Intern(range->modules);
      rest.flops = Intern(range->flops);
      rest.has = static_cast<uint8_t>(
          (range->has_types ? Rest::kTypes : 0) | (range->has_dims ? Rest::kDims : 0) |
          (range->has_stack ? Rest::kStack : 0) | (range->has_modules ? Rest::kModules : 0) |
          (range->has_flops ? Rest::kFlops : 0));
      op.rest = RestOf(rest);
      calls_.ops.push_back(op);
    }
  }

  void ReadMindSpore() {
    {
      RowFile file(folder_.records, "mindspore.op_range", report_, progress_);
      MsFlows flows;
      std::optional<bytes::MsLayout> layout;
      uint64_t pid = 0;
      while (const auto value = file.NextValue()) {
        if (!layout) layout = bytes::MsLayoutOf(*value);
        const auto range = layout ? bytes::ParseMsRange(*value, *layout) : std::nullopt;
        if (!range || range->end < range->start || range->start == 0) {
          file.Refuse();
          continue;
        }
        if (range->is_torn) file.Tear();
        if (range->pid != 0) pid = range->pid;
        AddMindSpore(*range, range->pid != 0 ? range->pid : pid, flows);
      }
      for (const auto& [flow, ends] : flows) {
        if (ends.first && ends.second != kNoRef)
          calls_.jumps.push_back({ends.first->ns, ends.first->thread, ends.second});
      }
    }
    RowFile file(folder_.records, "mindspore.record_shapes", report_, progress_);
    while (const auto value = file.NextValue()) {
      const bytes::MsShapes shapes = bytes::ParseMsShapes(*value);
      if (shapes.is_torn) file.Tear();
      calls_.shapes.push_back({Intern(shapes.name), Intern(shapes.shapes)});
    }
  }

  // By number: where a flow begins, and the operator that it leads to.
  using MsFlows = std::map<uint64_t, std::pair<std::optional<Jump>, Ref>>;
  void AddMindSpore(const bytes::MsRange& range, uint64_t pid, MsFlows& flows) {
    Op op;
    op.begin = WallNs(range.start);
    op.end = WallNs(range.end);
    op.low_sequence = UINT32_MAX;
    op.thread = ThreadOf(pid, range.tid);
    if (range.BeginsFlow()) {
      flows.try_emplace(range.flow, std::nullopt, kNoRef).first->second.first =
          Jump{op.begin, op.thread, kNoRef};
      return;
    }
    if (range.flow != bytes::MsRange::kNoFlow)
      flows.try_emplace(range.flow, std::nullopt, kNoRef).first->second.second =
          static_cast<Ref>(calls_.ops.size());
    op.name = Intern(range.Name());
    Rest rest;
    rest.high_sequence = -1;
    rest.types = Intern(range.types);
    rest.dims = Intern(range.shapes);
    rest.stack = Intern(range.stack);
    rest.modules = Intern(range.custom);
    rest.has =
        static_cast<uint8_t>((rest.types != 0 ? Rest::kTypes : 0) | (rest.dims != 0 ? Rest::kDims : 0) |
                             (rest.stack != 0 ? Rest::kStack : 0) | (rest.modules != 0 ? Rest::kModules : 0) |
                             (range.is_python ? Rest::kPython : 0));
    op.rest = RestOf(rest);
    calls_.ops.push_back(op);
  }

  // A begin that waits for its end.
  struct Open {
    int64_t begin = 0;
    bool is_open = false;
  };
  using OpenMarks = std::map<std::pair<Ref, TextId>, Open>;

  // Of marks with the same thread and name an end belongs to the latest begin; those before have none.
  void ReadMarks() {
    struct Mark {
      int64_t ns;
      uint64_t correlation;
      Ref thread;
      TextId name;
      bytes::OpMark::Kind kind;
    };
    std::vector<Mark> marks;
    RowFile file(folder_.records, "torch.op_mark", report_, progress_);
    calls_.has_queue = file.is_there();
    while (const auto value = file.NextValue()) {
      const auto mark = bytes::ParseOpMark(*value);
      if (!mark) {
        file.Refuse();
        continue;
      }
      if (mark->is_torn) file.Tear();
      marks.push_back({WallNs(mark->time), mark->correlation, ThreadOf(mark->pid, mark->tid),
                       Intern(mark->name), mark->kind});
    }
    std::ranges::stable_sort(marks, {}, &Mark::ns);
    OpenMarks enqueues, dequeues;
    uint64_t alone = 0;
    for (const Mark& mark : marks) {
      const bool is_enqueue = mark.kind < bytes::OpMark::Kind::kDequeueStart;
      const bool is_begin =
          mark.kind == bytes::OpMark::Kind::kEnqueueStart || mark.kind == bytes::OpMark::Kind::kDequeueStart;
      Open& open = (is_enqueue ? enqueues : dequeues)[{mark.thread, mark.name}];
      if (is_begin) {
        if (open.is_open) ++alone;
        open = {mark.ns, true};
      } else if (!open.is_open) {
        ++alone;
      } else {
        (is_enqueue ? calls_.enqueues : calls_.dequeues)
            .push_back({open.begin, mark.ns, mark.correlation, mark.thread, mark.name});
        open.is_open = false;
      }
    }
    for (const OpenMarks* left : {&enqueues, &dequeues}) {
      alone += static_cast<uint64_t>(
          std::ranges::count_if(*left, [](const auto& entry) { return entry.second.is_open; }));
    }
    report_.Cut(std::string(kRecords) + "/torch.op_mark", alone, "begin or end of the queue is alone",
                "begins and ends of the queue are alone");
  }

  void ReadMemory() {
    RowFile file(folder_.records, "torch.memory_usage", report_, progress_);
    uint64_t others = 0;
    while (const auto value = file.NextValue()) {
      const auto use = bytes::ParseMemoryUse(*value);
      if (!use) {
        file.Refuse();
      } else if (use->device_type != bytes::MemoryUse::kNpu) {
        ++others;
      } else {
        calls_.memory.push_back({WallNs(use->time), *use, ThreadOf(use->pid, use->tid)});
      }
    }
    std::ranges::stable_sort(calls_.memory, {}, &MemoryChange::ns);
    report_.Note(std::string(kRecords) + "/torch.memory_usage", others,
                 "record is of the host's memory, of which no table is made",
                 "records are of the host's memory, of which no table is made");
  }

  void ReadGc() {
    RowFile file(folder_.records, "torch.gc_record", report_, progress_);
    while (const auto row = file.Next(bytes::GcRun::kBytes)) {
      const bytes::GcRun run = bytes::ParseGcRun(*row);
      if (run.end < run.start) {
        file.Refuse();
      } else {
        calls_.gc.push_back({WallNs(run.start), WallNs(run.end), run.pid});
      }
    }
  }

  void ReadPython() {
    {
      RowFile names(folder_.records, "torch.python_tracer_hash", report_, progress_);
      while (const auto value = names.NextValue()) {
        const auto name = bytes::ParsePythonName(*value);
        if (!name) {
          names.Refuse();
          continue;
        }
        if (name->is_torn) names.Tear();
        calls_.python_names.insert_or_assign(name->key, Intern(name->text));
      }
    }
    RowFile file(folder_.records, "torch.python_tracer_func", report_, progress_);
    while (const auto row = file.Next(bytes::PythonCall::kBytes)) {
      const auto call = bytes::ParsePythonCall(*row);
      if (!call) {
        file.Refuse();
        continue;
      }
      calls_.python.push_back({WallNs(call->time), call->key, ThreadOf(call->pid, call->tid), call->kind});
    }
  }

  const Folder& folder_;
  const bool as_vendor_;
  Report& report_;
  Progress& progress_;
  Calls calls_;
  std::map<Place, Ref> threads_;
  std::unordered_map<Rest, Ref, Hash> rests_;
  Ref last_thread_ = 0;
};

}  // namespace

std::string InLines(std::string_view text) {
  std::string lines;
  for (const char c : text) {
    lines += c;
    if (c == ';') lines += "\r\n";
  }
  return lines;
}

const std::string& Lines::Get(format::TextId id) {
  if (known_.size() > kMost) known_.clear();
  const auto [at, is_new] = known_.try_emplace(id);
  if (is_new) at->second = InLines(texts_.Get(id));
  return at->second;
}

Calls ReadCalls(const Folder& folder, bool as_vendor, Report& report, Progress& progress) {
  return Reader(folder, as_vendor, report, progress).Run();
}

}  // namespace profd::client::framework
