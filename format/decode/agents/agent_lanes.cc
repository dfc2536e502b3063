#include "format/decode/agents/agent_lanes.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "format/op_names.h"
#include "format/records/packed.h"
#include "libagent/abi/lane.h"

namespace profd::format {

namespace {

constexpr size_t kMaxNames = 1 << 20;
constexpr size_t kMaxOpen = 1 << 18;
constexpr size_t kMaxDepth = 4096;
constexpr size_t kMaxLanes = abi::kMaxLanes;

}  // namespace

AgentLanes::AgentLanes(const ManifestAgent& agent, uint32_t process, const ClockMap& host, Texts& texts,
                       SpanSink& sink)
    : agent_(agent),
      process_(process),
      host_(host),
      spans_(sink, texts),
      sink_(sink),
      names_(kMaxNames),
      categories_(kMaxNames),
      ranges_(kMaxOpen),
      steps_(kMaxOpen),
      device_marks_(uint64_t{process + 1} << 44 | uint64_t{1} << 43),
      tensors_(texts),
      value_key_(texts.Intern("payload")),
      category_key_(texts.Intern("category")),
      unfinished_key_(texts.Intern(kUnfinished)),
      edge_key_(texts.Intern("edge")),
      level_key_(texts.Intern("level")),
      type_key_(texts.Intern("type")),
      group_key_(texts.Intern("group")),
      name_key_(texts.Intern("name")),
      stream_key_(texts.Intern("stream")),
      flag_key_(texts.Intern("flag")),
      node_level_(texts.Intern("node")) {
  const ManifestTicks &first = agent.first, &latest = agent.latest;
  if (latest.ticks > first.ticks && latest.raw_ns > first.raw_ns) {
    ns_per_tick_ =
        static_cast<double>(latest.raw_ns - first.raw_ns) / static_cast<double>(latest.ticks - first.ticks);
  } else if (first.ticks != 0 && agent.counter_hz != 0) {
    ns_per_tick_ = 1e9 / static_cast<double>(agent.counter_hz);
  } else if (agent.counter == "raw_clock") {
    ns_per_tick_ = 1;
  }
}

uint64_t AgentLanes::Wall(uint64_t ticks) const {
  const bool after = ticks >= agent_.first.ticks;
  const double passed =
      static_cast<double>(after ? ticks - agent_.first.ticks : agent_.first.ticks - ticks) * ns_per_tick_;
  if (!(passed < 9e18)) return 0;
  const auto ns = static_cast<uint64_t>(passed);
  const uint64_t first = agent_.first.raw_ns;
  return host_.HostRawToWall(after ? first + std::min(ns, UINT64_MAX - first) : first - std::min(ns, first))
      .ns;
}

void AgentLanes::Lane(const Block& block) {
  const BlockHeader& header = block.header;
  if (lanes_.size() >= kMaxLanes && !lanes_.contains(header.lane)) {
    counts_.damaged_slots += block.payload.size() / abi::kRecordBytes;
    return;
  }
  const auto [at, is_first] = lanes_.try_emplace(header.lane);
  LaneState& lane = at->second;
  if (header.seq > lane.next_seq) {
    counts_.missing_blocks += header.seq - lane.next_seq;
    if (is_first) counts_.blocks_before += header.seq;
    lane.gap = gap_ = true;
  }
  lane.next_seq = header.seq + 1;
  if (lane.tid != header.tid) {
    CloseStacks(lane);
    lane.tid = header.tid;
  }
  std::span<const std::byte> rest = block.payload;
  while (rest.size() >= abi::kRecordBytes) rest = rest.subspan(Record(lane, rest) * abi::kRecordBytes);
}

// How many slots it took.
size_t AgentLanes::Record(LaneState& lane, std::span<const std::byte> slots) {
  const auto record = Load<abi::Record>(slots.data());
  const size_t size = 1 + size_t{record.more};
  const bool known = (record.kind >= abi::kMark && record.kind <= abi::kStepEnd) ||
                     (record.kind >= abi::kKernel && record.kind <= abi::kTensors) ||
                     record.kind == abi::kThread || record.kind == abi::kLost;
  if (!known || record.more > abi::kMaxValues || size * abi::kRecordBytes > slots.size()) {
    ++counts_.damaged_slots;
    lane.gap = gap_ = true;
    return 1;
  }
  if (record.kind == abi::kThread) {
    if (lane.tid != static_cast<int64_t>(record.value)) CloseStacks(lane);
    lane.tid = static_cast<int64_t>(record.value & 0x7FFFFFFF);
    return size;
  }
  if (record.kind == abi::kLost) {
    counts_.lost += record.value;
    lane.gap = gap_ = true;
    return size;
  }
  ReadValues(slots.subspan(abi::kRecordBytes, size_t{record.more} * abi::kRecordBytes));
  if (values_.damaged) {
    ++counts_.damaged_slots;
    lane.gap = gap_ = true;
    return 1;
  }
  const uint64_t wall_ns = Wall(record.stamp);
  if (record.kind == abi::kTensors) {
    Tensors(record, wall_ns);
    return size;
  }
  ++counts_.records;
  lane.last_ns = std::max(lane.last_ns, wall_ns);
  last_ns_ = std::max(last_ns_, wall_ns);
  switch (record.kind) {
    case abi::kMark:
      Instant(SpanKind::kMark, lane, record, wall_ns);
      break;
    case abi::kCounter:
      Instant(SpanKind::kCounter, lane, record, wall_ns);
      break;
    case abi::kRangePush:
      Push(lane, record, wall_ns);
      break;
    case abi::kRangePop:
      Pop(lane, record, wall_ns);
      break;
    case abi::kRangeStart:
      Begin(ranges_, record.value, lane, record, wall_ns);
      break;
    case abi::kRangeEnd:
      End(ranges_, SpanKind::kRange, record.value, record, wall_ns);
      break;
    case abi::kStepBegin:
      Begin(steps_, record.value, lane, record, wall_ns);
      break;
    case abi::kStepEnd:
      End(steps_, SpanKind::kStep, record.value, record, wall_ns);
      break;
    case abi::kKernel:
      Device(SpanKind::kKernel, lane, record);
      break;
    case abi::kComm:
      Device(SpanKind::kComm, lane, record);
      break;
    case abi::kApi:
      Device(SpanKind::kApi, lane, record);
      break;
    case abi::kDeviceMark:
      DeviceMark(record);
      break;
    default:
      Device(SpanKind::kMemory, lane, record);
  }
  return size;
}

AgentLanes::Open AgentLanes::OpenOf(const LaneState& lane, const abi::Record& record, uint64_t wall_ns) {
  Open open;
  open.begin_ns = wall_ns;
  open.tid = lane.tid;
  open.name = Name(record.name);
  open.domain = DomainName(record.domain);
  if (record.category != 0) {
    const TextId* category = categories_.Find(CategoryKey(record.domain, record.category));
    open.category = category != nullptr ? *category : spans_.texts().Intern(std::to_string(record.category));
  }
  open.used = true;
  open.on_stream = std::ranges::any_of(values_.args, [this](const SpanArg& arg) {
    return arg.key == stream_key_ && arg.type == ArgType::kU64;
  });
  if (!values_.args.empty() && args_.size() < kMaxOpen) {
    open.arg_set = next_args_++;
    if (next_args_ == 0) next_args_ = 1;
    args_[open.arg_set] = values_.args;
  }
  return open;
}

void AgentLanes::Give(SpanKind kind, const Open& open, uint64_t end_ns, uint64_t value, Ending end) {
  Span& span = spans_.Add(kind);
  span.begin_ns = open.begin_ns;
  span.end_ns = std::max(open.begin_ns, end_ns);
  span.value = value;
  span.pid = agent_.pid;
  span.tid = open.tid;
  span.name = open.name;
  if (kind == SpanKind::kStep && open.name == 0) span.name = spans_.texts().Intern("step");
  span.category = open.domain;
  if (connection_ != 0) span.connection = connection_, span.flow = Flow::kBegins;
  if (open.category != 0) spans_.AddArg(category_key_, ArgType::kText, open.category);
  if (open.arg_set != 0) {
    const auto args = args_.find(open.arg_set);
    if (args != args_.end()) {
      for (const SpanArg& arg : args->second) spans_.AddArg(arg.key, arg.type, arg.bits);
      args_.erase(args);
    }
  }
  if (edge_ != 0) spans_.AddArg(edge_key_, ArgType::kText, edge_);
  if (end != Ending::kThere) {
    ++(end == Ending::kGap ? counts_.halves_cut : counts_.unfinished);
    spans_.AddArg(unfinished_key_, ArgType::kU64, 1);
  }
}

void AgentLanes::Push(LaneState& lane, const abi::Record& record, uint64_t wall_ns) {
  const uint32_t depth = record.detail;
  if (depth >= kMaxDepth || open_count_ >= kMaxOpen) {
    ++counts_.no_room;
    return;
  }
  std::vector<Open>& stack = lane.stacks[record.domain];
  // What is deeper has lost its end.
  for (; stack.size() > depth; stack.pop_back()) {
    if (!stack.back().used) continue;
    --open_count_;
    Give(SpanKind::kRange, stack.back(), wall_ns, 0, WithoutEnd(lane.gap));
  }
  stack.resize(depth);
  stack.push_back(OpenOf(lane, record, wall_ns));
  ++open_count_;
}

void AgentLanes::Pop(LaneState& lane, const abi::Record& record, uint64_t wall_ns) {
  const uint32_t depth = record.detail;
  const auto found = lane.stacks.find(record.domain);
  if (found == lane.stacks.end() || depth >= found->second.size() || !found->second[depth].used) {
    EndAlone(lane.gap);
    return;
  }
  std::vector<Open>& stack = found->second;
  for (; stack.size() > depth; stack.pop_back()) {
    if (!stack.back().used) continue;
    --open_count_;
    Give(SpanKind::kRange, stack.back(), wall_ns, 0,
         stack.size() == depth + 1 ? Ending::kThere : WithoutEnd(lane.gap));
  }
}

void AgentLanes::Begin(base::FlatMap<Open>& open, uint64_t key, LaneState& lane, const abi::Record& record,
                       uint64_t wall_ns) {
  Open* place = open.FindOrAdd(key);
  if (place == nullptr) {
    ++counts_.no_room;
    return;
  }
  const SpanKind kind = &open == &steps_ ? SpanKind::kStep : SpanKind::kRange;
  if (place->used) Give(kind, *place, wall_ns, key, WithoutEnd(gap_));
  *place = OpenOf(lane, record, wall_ns);
}

void AgentLanes::End(base::FlatMap<Open>& open, SpanKind kind, uint64_t key, const abi::Record&,
                     uint64_t wall_ns) {
  const Open* begun = open.Find(key);
  if (begun == nullptr) {
    EndAlone(gap_);
    return;
  }
  if (kind == SpanKind::kStep) {
    EndStep(*begun, key, wall_ns);
  } else {
    if (begun->on_stream) connection_ = device_marks_.EndRange(key, {begun->name, begun->domain});
    Give(kind, *begun, wall_ns, key, Ending::kThere);
    if (std::exchange(connection_, 0) != 0) GiveDeviceMarks();
  }
  open.Erase(key);
}

void AgentLanes::EndStep(const Open& open, uint64_t number, uint64_t end_ns) {
  GiveEndedStep(false);
  ended_step_ = {open, end_ns, number};
}

// Beginning and ending a recording costs the program something in the steps next to it: those are marked.
void AgentLanes::GiveEndedStep(bool is_last) {
  if (!ended_step_.open.used) return;
  bool first = !gave_step_ && !continues_, last = is_last && agent_.end != "moved";
  for (const ManifestStepWindow& window : agent_.step_windows) {
    if (window.step == ended_step_.number) (window.opened ? first : last) = true;
  }
  if (first || last)
    edge_ = spans_.texts().Intern(first && last ? "first and last" : first ? "first" : "last");
  Give(SpanKind::kStep, ended_step_.open, ended_step_.end_ns, ended_step_.number);
  edge_ = 0;
  gave_step_ = true;
  ended_step_.open.used = false;
}

void AgentLanes::Instant(SpanKind kind, LaneState& lane, const abi::Record& record, uint64_t wall_ns) {
  const Open open = OpenOf(lane, record, wall_ns);
  uint64_t value = record.value;
  const uint32_t type = record.detail;  // an abi::ValueType, or whatever was on disk
  if (kind == SpanKind::kCounter && type != abi::kF64) {
    value = std::bit_cast<uint64_t>(type == abi::kI64 ? static_cast<double>(static_cast<int64_t>(value))
                                                      : static_cast<double>(value));
  }
  if (kind == SpanKind::kMark && open.on_stream)
    connection_ = device_marks_.Mark(open.tid, wall_ns, {open.name, open.domain});
  Give(kind, open, wall_ns, kind == SpanKind::kCounter ? value : 0, Ending::kThere);
  const bool on_stream = std::exchange(connection_, 0) != 0;
  if (kind != SpanKind::kMark) return;
  if (type == abi::kU64) spans_.AddArg(value_key_, ArgType::kU64, record.value);
  if (type == abi::kI64) spans_.AddArg(value_key_, ArgType::kI64, record.value);
  if (type == abi::kF64) spans_.AddArg(value_key_, ArgType::kF64, record.value);
  if (on_stream) GiveDeviceMarks();
}

void AgentLanes::DeviceMark(const abi::Record& record) {
  uint64_t flag = 0;
  for (const SpanArg& arg : values_.args) {
    if (arg.key == flag_key_ && arg.type == ArgType::kU64) flag = arg.bits;
  }
  if (!values_.has_times ||
      (flag != DeviceMarks::kMark && flag != DeviceMarks::kBegin && flag != DeviceMarks::kEnd)) {
    ++counts_.damaged_slots;
    return;
  }
  if (record.category == kNoId) {
    device_marks_.Made(record.value, record.detail, values_.begin_ns, Name(record.name));
  } else {
    device_marks_.Ran(record.value, static_cast<DeviceMarks::Flag>(flag), values_.begin_ns,
                      static_cast<int32_t>(record.category & 0x7FFFFFFF), record.detail);
  }
  GiveDeviceMarks();
}

void AgentLanes::GiveDeviceMarks() {
  for (const DeviceMarks::Done& done : device_marks_.Take()) {
    Span& span = spans_.Add(done.is_mark ? SpanKind::kMark : SpanKind::kRange);
    span.begin_ns = done.begin_ns;
    span.end_ns = std::max(done.begin_ns, done.end_ns);
    span.value = done.is_mark ? 0 : done.id;
    span.pid = agent_.pid;
    span.name = done.what.name;
    span.category = done.what.domain;
    span.device = done.device;
    span.stream = done.stream;
    span.connection = done.connection;
    span.flow = Flow::kEnds;
  }
}

// What the device runtime reported, with times of its own.
void AgentLanes::Device(SpanKind kind, LaneState& lane, const abi::Record& record) {
  if (!values_.has_times) {
    ++counts_.damaged_slots;
    return;
  }
  Span& span = spans_.Add(kind);
  span.begin_ns = values_.begin_ns;
  span.end_ns = std::max(values_.begin_ns, values_.end_ns);
  span.value = record.value;
  span.pid = agent_.pid;
  span.name = Name(record.name);
  // Correlation ids are the process's own.
  if (record.value != 0)
    span.connection = static_cast<uint64_t>(process_ + 1) << 44 | (record.value & 0xFFFFFFFFFFF);
  if (kind == SpanKind::kApi) {
    span.tid = record.detail;
    span.flow = Flow::kNone;
  } else {
    span.tid = lane.tid;
    span.device = record.category == kNoId ? -1 : static_cast<int32_t>(record.category & 0x7FFFFFFF);
    span.stream = record.detail;
    span.flow = kind != SpanKind::kMemory && record.value != 0 ? Flow::kEnds : Flow::kNone;
  }
  const TextId category_key = kind == SpanKind::kApi    ? level_key_
                              : kind == SpanKind::kComm ? group_key_
                                                        : type_key_;
  for (const SpanArg& arg : values_.args) {
    if (arg.key == category_key && arg.type == ArgType::kText) span.category = static_cast<TextId>(arg.bits);
  }
  // Calls of all levels share the number; the vendor draws the line from that of the operator.
  if (kind == SpanKind::kApi && record.value != 0 && span.category == node_level_) span.flow = Flow::kBegins;
  if (kind == SpanKind::kApi && record.value != 0 && span.category == node_level_)
    tensors_.Call(record.value, {record.detail, HashOf(span.name)}, span.begin_ns);
  if (kind == SpanKind::kKernel) Describe(span);
  if (kind == SpanKind::kComm) span.name = NumberedName(span);
  for (const SpanArg& arg : values_.args) {
    if (kind != SpanKind::kComm || arg.key != name_key_) spans_.AddArg(arg.key, arg.type, arg.bits);
  }
}

void AgentLanes::Tensors(const abi::Record& record, uint64_t wall_ns) {
  if (values_.args.empty() || values_.args[0].type != ArgType::kU64) {
    ++counts_.damaged_slots;
    return;
  }
  const uint64_t stamp = values_.args[0].bits;
  tensors_.Add({record.category, record.value}, {SaidAt(stamp, wall_ns), stamp, record.detail},
               values_.bytes);
}

// A module's own stamp is when the call began: of the counter, which need not be the agent's clock (the agent
// takes CLOCK_MONOTONIC_RAW where the kernel calls the counter unstable), or of CLOCK_MONOTONIC_RAW where the
// vendor's libraries do not know the counter's rate. Else when it was recorded has to do.
uint64_t AgentLanes::SaidAt(uint64_t stamp, uint64_t recorded_ns) const {
  constexpr uint64_t kLongCallNs = 2'000'000'000;
  for (const uint64_t ns : {Wall(stamp), host_.HostCounterToWall(stamp).ns, host_.HostRawToWall(stamp).ns}) {
    if (std::max(ns, recorded_ns) - std::min(ns, recorded_ns) < kLongCallNs) return ns;
  }
  return recorded_ns;
}

uint64_t AgentLanes::HashOf(TextId name) {
  if (name >= hashes_.size()) hashes_.resize(spans_.texts().size() + 1);
  if (hashes_[name] == 0) hashes_[name] = CannHash(spans_.texts().Get(name));
  return hashes_[name];
}

// Of the kernel added last: what its name and its type say of the operator, and what was said of its tensors.
void AgentLanes::Describe(const Span& span) {
  const auto derived = [this](std::vector<TextId>& known, TextId text, auto derive) {
    if (text >= known.size()) known.resize(spans_.texts().size() + 1, kNoId);
    if (known[text] == kNoId) known[text] = spans_.texts().Intern(derive(spans_.texts().Get(text)));
    return known[text];
  };
  TaskDetail& detail = spans_.AddDetail();
  detail.has_op = true;
  detail.kernel_name = detail.op_name = span.name;
  detail.op_type = derived(op_types_, span.name, OpTypeOf);
  detail.op_task_type = derived(task_types_, span.category, OpTaskTypeOf);
  SetTensors(detail, tensors_.Of(span.value));
}

// The library numbers its collectives, the same way in all ranks; where it does not they are numbered as they
// come.
TextId AgentLanes::NumberedName(const Span& span) {
  constexpr size_t kMostKinds = 1 << 12;
  for (const SpanArg& arg : values_.args) {
    if (arg.key == name_key_ && arg.type == ArgType::kText && arg.bits != 0)
      return static_cast<TextId>(arg.bits);
  }
  Texts& texts = spans_.texts();
  const std::string_view name = texts.Get(span.name);
  const std::tuple key(span.device, span.category, span.name);
  const bool room = collectives_.size() < kMostKinds || collectives_.contains(key);
  if (name.empty() || name.find("__") != name.npos || !room || texts.size() >= kMaxNames) return span.name;
  return texts.Intern(CollectiveName(name, texts.Get(span.category), collectives_[key]++));
}

void AgentLanes::CloseStacks(LaneState& lane) {
  for (auto& [domain, stack] : lane.stacks) {
    for (; !stack.empty(); stack.pop_back()) {
      if (!stack.back().used) continue;
      --open_count_;
      Give(SpanKind::kRange, stack.back(), lane.last_ns, 0, WithoutEnd(lane.gap));
    }
  }
  lane.stacks.clear();
}

void AgentLanes::Finish(bool gap) {
  gap_ = gap_ || gap;
  for (auto& [number, lane] : lanes_) {
    lane.gap = lane.gap || gap;
    CloseStacks(lane);
  }
  GiveEndedStep(true);
  const Ending end = WithoutEnd(gap_);
  ranges_.ForEach([&](uint64_t id, const Open& open) { Give(SpanKind::kRange, open, last_ns_, id, end); });
  steps_.ForEach([&](uint64_t step, const Open& open) { Give(SpanKind::kStep, open, last_ns_, step, end); });
  ranges_.Clear();
  steps_.Clear();
  args_.clear();
  spans_.Flush();
}

}  // namespace profd::format
