#include "client/export/framework/perfetto_view.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "client/export/framework/join/forwards.h"
#include "client/export/framework/join/python_calls.h"
#include "format/decode/span_writer.h"

namespace profd::client::framework {
namespace {

using format::ArgType;
using format::Span;
using format::SpanKind;
using format::TextId;

constexpr size_t kMostArrows = 256;  // of one operator
// Arrows of the framework's own: far from the numbers of CANN's calls and of agents'.
constexpr uint64_t kQueueFlows = uint64_t{1} << 63, kForwardFlows = uint64_t{1} << 62,
                   kJumpFlows = uint64_t{3} << 61;

// **Thread:** one. Puts all spans of one thread in the order of their begins, outer ones first: readers nest
// them by that.
class Giver {
 public:
  Giver(Calls& calls, Linked linked, format::SpanSink& timeline)
      : calls_(calls), linked_(std::move(linked)), spans_(timeline, calls.texts) {
    const auto key = [&calls](std::string_view text) { return calls.texts.Intern(text); };
    sequence_ = key("Sequence number");
    forward_ = key("Fwd thread id");
    dims_ = key("Input Dims");
    types_ = key("Input type");
    stack_ = key("Call stack");
    modules_ = key("Module Hierarchy");
    flops_ = key("flops");
    correlation_ = key("correlation_id");
    python_id_ = key("Python id");
    of_operator_ = key("cpu_op");
    of_enqueue_ = key("enqueue");
    of_dequeue_ = key("dequeue");
    of_python_ = key("python_function");
    of_gc_ = key("GC");
    flow_ = key("flow");
  }

  void Run() {
    NameProcesses();
    PrepareOthers();
    PrepareFlows();
    size_t other = 0;
    for (const Ref op : linked_.tree.order) {
      for (; other < others_.size() && Before(others_[other], calls_.ops[op]); ++other) Write(others_[other]);
      WriteOp(op);
    }
    for (; other < others_.size(); ++other) Write(others_[other]);
    WriteMemory();
    spans_.Flush();
  }

 private:
  // What is no operator.
  struct Other {
    enum class Is : uint8_t { kPython, kEnqueue, kDequeue, kGc, kJump } is;
    int64_t begin, end;
    uint32_t index;
  };
  static bool Before(const Other& other, const Op& op) {
    return std::tuple(other.begin, -other.end) < std::tuple(op.begin, -op.end);
  }

  void NameProcesses() {
    std::vector<uint64_t> known;
    for (const Place& place : calls_.threads) {
      if (std::ranges::count(known, place.pid) > 0 || known.size() > 64) continue;
      known.push_back(place.pid);
      timeline().Process({static_cast<int64_t>(place.pid), "Python", ""});
    }
  }
  format::SpanSink& timeline() { return spans_.sink(); }

  void PrepareOthers() {
    python_ = ReplayPython(calls_);
    const auto add = [this](Other::Is is, const auto& list) {
      for (size_t i = 0; i < list.size(); ++i)
        others_.push_back({is, list[i].begin, list[i].end, static_cast<uint32_t>(i)});
    };
    add(Other::Is::kPython, python_);
    add(Other::Is::kEnqueue, calls_.enqueues);
    add(Other::Is::kDequeue, calls_.dequeues);
    add(Other::Is::kGc, calls_.gc);
    for (uint32_t i = 0; i < calls_.jumps.size(); ++i)
      others_.push_back({Other::Is::kJump, calls_.jumps[i].ns, calls_.jumps[i].ns, i});
    std::ranges::stable_sort(
        others_, {}, [](const Other& other) { return std::tuple(other.begin, -other.end, other.is); });
    for (const Queued& dequeue : calls_.dequeues) names_.insert_or_assign(dequeue.correlation, dequeue.name);
  }

  void PrepareFlows() {
    for (const OpConnection& made : linked_.connections)
      flows_.push_back({made.op, static_cast<uint64_t>(made.connection)});
    for (Ref i = 0; i < calls_.jumps.size(); ++i) flows_.push_back({calls_.jumps[i].op, kJumpFlows + i});
    uint64_t next = kForwardFlows;
    for (const ForwardPair& pair : PairForwards(calls_, Latest::kByBegin)) {
      if (calls_.ops[pair.forward].thread == calls_.ops[pair.backward].thread) continue;
      flows_.push_back({pair.forward, next});
      flows_.push_back({pair.backward, next++});
    }
    std::ranges::stable_sort(flows_, {}, &Flow::op);
  }

  Span& Add(const Place& place, int64_t begin, int64_t end, TextId name, TextId category) {
    Span& span = spans_.Add(SpanKind::kRange);
    span.begin_ns = static_cast<uint64_t>(begin);
    span.end_ns = static_cast<uint64_t>(std::max(begin, end));
    span.pid = static_cast<int64_t>(place.pid);
    span.tid = static_cast<int64_t>(place.tid);
    span.name = name;
    span.category = category;
    return span;
  }
  void Number(TextId key, auto value) { spans_.AddArg(key, ArgType::kI64, static_cast<uint64_t>(value)); }
  void Arrow(uint64_t connection) { spans_.AddArg(0, ArgType::kFlow, connection); }

  void WriteOp(Ref i) {
    const Op& op = calls_.ops[i];
    const Rest& rest = calls_.RestOf(op);
    Add(calls_.PlaceOf(op.thread), op.begin, op.end, op.name,
        (rest.has & Rest::kPython) != 0 ? of_python_ : of_operator_);
    if (rest.high_sequence >= 0) Number(sequence_, calls_.SequenceOf(op));
    if (rest.forward_tid != 0) Number(forward_, rest.forward_tid);
    for (const auto& [key, text] : {std::pair{dims_, rest.dims},
                                    {types_, rest.types},
                                    {stack_, rest.stack},
                                    {modules_, rest.modules},
                                    {flops_, rest.flops}}) {
      if (text != 0) spans_.AddArg(key, ArgType::kText, text);
    }
    size_t arrows = 0;
    for (auto at = std::ranges::lower_bound(flows_, i, {}, &Flow::op);
         at != flows_.end() && at->op == i && arrows < kMostArrows; ++at, ++arrows)
      Arrow(at->connection);
  }

  void Write(const Other& other) {
    switch (other.is) {
      case Other::Is::kPython: {
        const PythonSpan& span = python_[other.index];
        Add(calls_.PlaceOf(span.thread), span.begin, span.end, calls_.texts.Intern(span.name), of_python_);
        return Number(python_id_, span.id);
      }
      case Other::Is::kGc: {
        const uint64_t pid = calls_.gc[other.index].pid;
        Add({pid, pid}, other.begin, other.end, of_gc_, of_gc_);
        return;
      }
      case Other::Is::kJump:
        Add(calls_.PlaceOf(calls_.jumps[other.index].thread), other.begin, other.end, flow_, of_operator_);
        return Arrow(kJumpFlows + other.index);
      case Other::Is::kEnqueue:
        return WriteQueued(calls_.enqueues[other.index], "Enqueue", of_enqueue_);
      case Other::Is::kDequeue:
        return WriteQueued(calls_.dequeues[other.index], "Dequeue", of_dequeue_);
    }
  }
  void WriteQueued(const Queued& queued, std::string name, TextId category) {
    if (const auto known = names_.find(queued.correlation); known != names_.end()) {
      name += '@';
      name += calls_.texts.Get(known->second);
    }
    Add(calls_.PlaceOf(queued.thread), queued.begin, queued.end, calls_.texts.Intern(name), category);
    Number(correlation_, queued.correlation);
    Arrow(kQueueFlows | queued.correlation);
  }

  // What the framework's allocator holds, of each device.
  void WriteMemory() {
    for (const MemoryChange& change : calls_.memory) {
      if (change.use.is_workspace) continue;
      for (const auto& [what, bytes] :
           {std::pair{"allocated", change.use.allocated}, {"reserved", change.use.reserved}}) {
        const std::string name =
            "PTA " + std::string(what) + " NPU " + std::to_string(change.use.device) + " (B)";
        Span& span = spans_.Add(SpanKind::kCounter);
        span.begin_ns = span.end_ns = static_cast<uint64_t>(change.ns);
        span.pid = static_cast<int64_t>(calls_.PlaceOf(change.thread).pid);
        span.name = calls_.texts.Intern(name);
        span.value = std::bit_cast<uint64_t>(static_cast<double>(bytes));
      }
    }
  }

  struct Flow {
    Ref op;
    uint64_t connection;
  };

  Calls& calls_;
  const Linked linked_;
  format::SpanWriter spans_;
  std::vector<PythonSpan> python_;
  std::vector<Other> others_;
  std::vector<Flow> flows_;
  std::unordered_map<uint64_t, TextId> names_;
  TextId sequence_ = 0, forward_ = 0, dims_ = 0, types_ = 0, stack_ = 0, modules_ = 0, flops_ = 0,
         correlation_ = 0, python_id_ = 0, of_operator_ = 0, of_enqueue_ = 0, of_dequeue_ = 0, of_python_ = 0,
         of_gc_ = 0, flow_ = 0;
};

}  // namespace

void PerfettoView::Spans(const format::SpanBatch& batch) {
  for (const Span& span : batch.spans) {
    if (span.kind != SpanKind::kApi || span.flow != format::Flow::kBegins || span.connection == 0) continue;
    launches_.push_back({static_cast<int64_t>(span.begin_ns), static_cast<int64_t>(span.end_ns),
                         GlobalTid(static_cast<uint64_t>(span.pid), static_cast<uint64_t>(span.tid)),
                         static_cast<int64_t>(span.connection)});
  }
}

void PerfettoView::Give(format::SpanSink& timeline) {
  std::ranges::stable_sort(launches_, {}, &CannCall::begin);
  Giver(calls_, LinkCalls(calls_, launches_, {}), timeline).Run();
}

base::Status WritePerfettoAlone(Calls& calls, const std::string& path) {
  CaptureFacts facts;
  facts.start_ns = UINT64_MAX;
  for (const Op& op : calls.ops) facts.start_ns = std::min(facts.start_ns, static_cast<uint64_t>(op.begin));
  if (calls.ops.empty()) facts.start_ns = 0;
  PROFD_ASSIGN_OR_RETURN(const std::unique_ptr<ExportOutput> output, MakePerfettoOutput(path, facts, {}));
  PerfettoView(calls).Give(*output);
  return output->Finish();
}

}  // namespace profd::client::framework
