// What happened from one moment to another, or at one moment and has a name: tasks on a device, API calls,
// ranges and marks of a program. On the wall clock, the same for every output; numbers over time are in
// series.h.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "format/texts.h"

namespace profd::format {

// What `category`, `value` and the place of a span are, by kind. Host kinds are on (pid, tid), device = -1,
// unless the record itself names a device; device kinds on (device, stream).
enum class SpanKind : uint8_t {
  kTask,  // on the device, of its scheduler's log. category: task type; value: task id; `detail`
  kApi,   // call of the CANN layers. name: as the level calls it ("launch"); category: level ("node"); value:
          // item id
  kOsCall,    // system or pthread call
  kStep,      // a program's step (pid, tid) or a scheduler's iteration (device, stream). value: its number
  kRange,     // of a program. category: domain ("" = default); value: id of a start/end range, 0 of push/pop
  kMark,      // instant of a program. category: domain
  kCounter,   // sample of a program's counter, an instant. category: domain; value: the bits of a double,
              // CounterValue()
  kKernel,    // as the runtime reports it to the process. category: its type; value: correlation id
  kComm,      // the same of a collective; args count, data_type, algorithm, group. category: group
  kMemory,    // the same of copy, set, allocation, release (time of the host's call); args bytes, address,
              // copy, …
  kCommPart,  // of a collective: a task on a device. category: group; stream: plane; args as the vendor's
              // timeline has them
  kOverlap,   // derived, on a device. name: Computing, Communication, Communication(Not Overlapped), Free;
              // value: 0 … 3
  kMission,   // of a device's collective unit. name: LoopGroup, an instruction, or Wait, for other ranks;
              // value: task id; args as the vendor's timeline has them
  // In no timeline, instants:
  kOpMemory,  // what an operator took of `device`'s memory. name: the operator; category: whose memory it
              // is; args size (< 0: gave back), address, total allocated, total reserved
  kFusedOp,   // an operator made of others when its model was built. category: the model's name; value: its
              // number; args parts, then bytes: input, output, weight, workspace, total
  kTableRow,  // a row of a table of its own. category: the table; args: what its columns hold, in their order
};
inline constexpr size_t kSpanKinds = 16;
std::string_view SpanKindName(SpanKind kind);

inline constexpr uint32_t kNoId = 0xFFFFFFFF;  // as the vendor prints "none" of a 32-bit id

// The argument of a span whose end the recording did not see, so that nobody knows how long it took. It ends
// with the recording.
inline constexpr std::string_view kUnfinished = "unfinished";

enum class Flow : uint8_t { kNone, kBegins, kEnds };  // kBegins: the call; kEnds: the task it started

struct Span {
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;  // of an instant: begin_ns
  uint64_t value = 0;
  uint64_t connection = 0;  // the same at both ends of a flow; 0 = none
  int64_t pid = 0, tid = 0;
  TextId name = 0, category = 0;
  int32_t device = -1;
  uint32_t stream = kNoId;
  uint32_t detail = kNoId;  // index in SpanBatch::tasks
  uint32_t first_arg = 0;   // index in SpanBatch::args
  uint16_t arg_count = 0;
  SpanKind kind = SpanKind::kTask;
  Flow flow = Flow::kNone;

  bool instant() const { return kind == SpanKind::kMark || kind == SpanKind::kCounter; }
  bool in_timelines() const { return kind < SpanKind::kOpMemory; }
  double CounterValue() const { return std::bit_cast<double>(value); }
};

// What is known of a task beyond its time. Texts may be 0: not known.
struct TaskDetail {
  uint32_t batch = 0;
  uint32_t context = kNoId;  // sub task
  uint32_t model = kNoId;
  uint32_t block_num = 0, mix_block_num = 0;
  uint32_t counters = kNoId;  // index in SpanBatch::counters
  bool has_op = false;        // a node_basic_info or a track named an operator: it's a compute task
  bool carries_out = false;   // a collective, on an AI CPU: it computes nothing
  TextId kernel_name = 0;     // Span::name is the operator's, or the kernel's, or the task type
  TextId op_name = 0, op_type = 0, op_state = 0, op_task_type = 0, hf32 = 0, attributes = 0;
  TextId model_name = 0;
  TextId input_shapes = 0, input_types = 0, input_formats = 0;
  TextId output_shapes = 0, output_types = 0, output_formats = 0;
};

// The vendor's numbers of connections are below 2^32.
constexpr bool OfAgent(uint64_t connection) { return connection >> 32 != 0; }

// What the counters of AI cores [0] and vector cores [1] counted during a task; the events are those of
// sample.json, in its order.
struct TaskCounters {
  static constexpr size_t kEvents = 10;
  struct Core {
    bool counted = false;
    uint64_t cycles = 0;
    uint64_t busy_ticks = 0;  // 0: its record does not say
    uint32_t blocks = 0;      // the same
    uint64_t event[kEvents] = {};
  };
  Core core[2];
};

enum class ArgType : uint8_t { kU64, kI64, kF64, kText, kFlow };
struct SpanArg {
  TextId key = 0;
  ArgType type = ArgType::kU64;
  // As i64, f64 by bit_cast; kText: a TextId; kFlow: one more connection, for arrows between what has the
  // same by time (Perfetto's timeline alone has them).
  uint64_t bits = 0;
};

// Spans in no particular order: a span is known when it ends. Spans of one batch share its tables.
struct SpanBatch {
  const Texts* texts = nullptr;
  std::string_view kind = {};  // as --kinds names it; "" = by each span's kind, of an agent
  std::vector<Span> spans;
  std::vector<TaskDetail> tasks;
  std::vector<SpanArg> args;
  std::vector<TaskCounters> counters;

  std::span<const SpanArg> ArgsOf(const Span& span) const {
    return std::span(args).subspan(span.first_arg, span.arg_count);
  }
  bool IsUnfinished(const Span& span) const;
  const TaskDetail* DetailOf(const Span& span) const {
    return span.detail < tasks.size() ? &tasks[span.detail] : nullptr;
  }
  const TaskCounters* CountersOf(const TaskDetail& detail) const {
    return detail.counters < counters.size() ? &counters[detail.counters] : nullptr;
  }
  void Clear() { spans.clear(), tasks.clear(), args.clear(), counters.clear(); }
};

// Who is behind a pid of spans, where that is known; comes before the spans.
struct SpanProcess {
  int64_t pid = 0;
  std::string_view name;   // executable
  std::string_view label;  // "rank 3, train-7", "" if none
};

struct SpanThread {
  int64_t pid = 0, tid = 0;
  std::string_view name;
};

// Where decoders put what they find. **Thread:** one.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual void Process(const SpanProcess&) {}
  virtual void Thread(const SpanThread&) {}
  virtual void Spans(const SpanBatch& batch) = 0;
};

}  // namespace profd::format
