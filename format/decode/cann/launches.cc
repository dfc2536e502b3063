#include "format/decode/cann/launches.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "format/comm_words.h"

namespace profd::format {

namespace {

constexpr uint32_t kGeCollective = 9;  // GeTaskTypeName()
// Every shape is a text of its own.
constexpr size_t kMostTexts = 1 << 20;

template <typename Record>
const CannHead& HeadOf(const Record& record) {
  return record.head;
}

bool IsComputeType(std::string_view type) {
  return type.starts_with("KERNEL") || type == "STARS_COMMON" || type == "FFTS_PLUS";
}

// What type the operator is of that a kernel is alone (cann_trace_db_dumper.cpp, RtsTaskTypeMap); "": it is
// no operator.
std::string_view OperatorTypeOf(std::string_view task_type) {
  constexpr std::pair<std::string_view, uint32_t> kTypes[] = {{"KERNEL_AICORE", 0},  {"KERNEL_AICPU", 1},
                                                              {"KERNEL_AIVEC", 2},   {"KERNEL_SIMT", 2},
                                                              {"KERNEL_MIX_AIC", 4}, {"KERNEL_MIX_AIV", 5}};
  for (const auto& [kernel, type] : kTypes)
    if (kernel == task_type) return GeTaskTypeName(type);
  return {};
}

}  // namespace

void Launches::Add(const CannApiRecord& record) {
  if (record.magic != kCannMagic) {
    ++foreign_;
    return;
  }
  uint64_t begin = 0, end = 0;
  if (!times_.Of(record, begin, end)) return;
  Call& call = calls_.emplace_back();
  call.begin = begin;
  call.end = end;
  call.item = record.item;
  call.thread = record.thread;
  call.type = record.type;
  call.request = record.request;
  call.level = record.level;
  call.item_text = ItemText(call);
  end_stamp_ = std::max(end_stamp_, call.end);
}

TextId Launches::ItemText(const Call& call) {
  if (call.Is(CannLevel::kModel)) return texts_.Intern(std::to_string(call.item));  // a model's number
  const TextId known = items_[call.level / 500 % items_.size()].Get(
      call.item, [this](uint64_t hash) { return names_.HashOrNone(hash); });
  return known != 0 ? known : names_.Hash(call.item);
}

void Launches::Add(const CannCopy& copy) {
  if (copy.head.magic != kCannMagic) {
    ++foreign_;
    return;
  }
  copies_[std::pair(uint64_t{copy.head.stamp}, uint32_t{copy.head.thread})] = {copy.bytes, copy.most_bytes,
                                                                               copy.operation};
}

void Launches::Add(const CannContexts& contexts) {
  if (contexts.head.magic != kCannMagic || contexts.count > CannContexts::kMost) {
    ++foreign_;
  } else if (contexts.head.level == static_cast<uint16_t>(CannLevel::kNode)) {
    contexts_.push_back(contexts);  // those of collectives are told by their parts, too
  }
}

bool Launches::IsCompute(TextId task_type) {
  if (task_type == compute_type_) return true;
  if (task_type == other_type_) return false;
  const bool is = IsComputeType(texts_.Get(task_type));
  (is ? compute_type_ : other_type_) = task_type;
  return is;
}

// By begin; an outer call before the inner ones that begin with it. They come by their ends, nearly in order.
void Launches::SortCalls() {
  const auto before = [](const Call& a, const Call& b) {
    return a.begin != b.begin ? a.begin < b.begin : std::tuple(b.end, a.level) < std::tuple(a.end, b.level);
  };
  size_t moves = 16 * calls_.size();
  for (size_t i = 1; i < calls_.size() && moves > 0; ++i) {
    for (size_t at = i; at > 0 && moves > 0 && before(calls_[at], calls_[at - 1]); --at, --moves) {
      std::swap(calls_[at], calls_[at - 1]);
    }
  }
  if (moves == 0) std::sort(calls_.begin(), calls_.end(), before);
}

uint64_t Launches::waiting_since() const {
  uint64_t since = UINT64_MAX;
  for (const CannTaskTrack& track : waiting_tracks_) since = std::min(since, uint64_t{track.head.stamp});
  for (const CommKernel& kernel : waiting_kernels_) since = std::min(since, kernel.launch.stamp);
  return since;
}

Launch Launches::MakeLaunch(const CannTaskTrack& track, const Call* call) {
  Launch launch;
  launch.stamp = track.head.stamp;
  launch.device = track.device;
  launch.stream = track.stream;
  launch.task = track.task;
  launch.batch = track.batch;
  launch.thread = track.head.thread;
  launch.task_type = task_type_.Get(track.task_type, [this](uint64_t type) {
    return names_.Type(static_cast<uint16_t>(CannLevel::kRuntime), type);
  });
  launch.kernel = kernel_.Get(track.kernel, [this](uint64_t hash) { return names_.HashOrNone(hash); });
  if (!copies_.empty()) FindCopy(track, launch);
  launch.model = models_.At(track.head.thread, track.head.stamp);
  if (launch.model == kNoId)
    launch.model = captures_.ModelOf(launch.device, launch.stream, launch.batch, launch.stamp);
  const bool tells_blocks = track.blocks != 0 && texts_.Get(launch.task_type) != "KERNEL_SIMT";
  if (tells_blocks) {
    constexpr uint8_t kMixBits = 7;
    launch.blocks = track.blocks;
    launch.mix_blocks = uint32_t{track.blocks} * (track.mix & kMixBits);
  }
  if (call != nullptr) launch.connection = call->connection;
  if (call == nullptr || !call->Is(CannLevel::kNode)) {
    DescribeAlone(launch);
    return launch;
  }
  if (!IsCompute(launch.task_type)) return launch;
  if (const More* more = FindMore(*call); more != nullptr && !more->sub_ops.empty()) {
    std::map<uint32_t, LaunchedOp>& sub_tasks = launch.MakeExtras().sub_tasks;
    for (const SubOp& of : more->sub_ops) {
      LaunchedOp op{.blocks = launch.blocks, .mix_blocks = launch.mix_blocks, .is_compute = true};
      Describe(of.info, of.tensors, op);
      op.op_name = names_.Hash(of.op_name);
      op.attributes = AttributesOf(*call, of.op_name);
      for (const uint32_t context : of.contexts) sub_tasks.try_emplace(context, op);
    }
    return launch;
  }
  launch.is_compute = true;
  launch.op_name = call->item_text;
  op_name_ = {call->item, call->item_text};
  Describe(call->info, call->tensors, launch);
  launch.attributes = AttributesOf(
      *call, call->info < 0 ? call->item : infos_[static_cast<size_t>(call->info)].record.op_name);
  return launch;
}

void Launches::DescribeAlone(Launch& launch) {
  const std::string_view type = OperatorTypeOf(texts_.Get(launch.task_type));
  if (type.empty()) return;
  const auto* const captured = captures_.OpOf(launch.device, launch.stream, launch.task);
  if (captured == nullptr && launch.kernel == 0) return;
  LaunchedOp op{.op_name = launch.kernel, .op_type = launch.kernel, .is_compute = true};
  op.op_task_type = texts_.Intern(type);
  if (captured != nullptr) op = *captured;
  if (names_only_) op = {.op_name = op.op_name, .attributes = op.attributes, .is_compute = true};
  if (launch.blocks != 0) {  // the launch tells
    op.blocks = launch.blocks;
    op.mix_blocks = launch.mix_blocks;
  }
  static_cast<LaunchedOp&>(launch) = op;
}

TextId Launches::AttributesOf(const Call& call, uint64_t op_name) {
  const More* const more = FindMore(call);
  if (more == nullptr) return 0;
  const auto found = std::ranges::find(more->attributes, op_name, &std::pair<uint64_t, uint64_t>::first);
  return found == more->attributes.end() ? 0 : names_.Hash(found->second);
}

// Several tasks are one copy where it is larger than one may be (memcpy_info_dumper.cpp).
void Launches::FindCopy(const CannTaskTrack& track, Launch& launch) {
  const auto found = copies_.find(std::pair(uint64_t{track.head.stamp}, uint32_t{track.head.thread}));
  if (found == copies_.end() || texts_.Get(launch.task_type) != "MEMCPY_ASYNC") return;
  Copy& copy = found->second;
  if (copy.left == 0) return;  // one task more than it needs
  LaunchExtras& extras = launch.MakeExtras();
  extras.copied_bytes = std::min(copy.left, copy.most);
  copy.left -= extras.copied_bytes;
  extras.copy_operation = copy_.Get(copy.operation, [this](uint64_t operation) {
    return texts_.Intern(operation < std::size(kCopyOperations) ? kCopyOperations[operation].name
                                                                : kOtherCopy.name);
  });
}

void Launches::Describe(int32_t info_at, int32_t tensors_at, LaunchedOp& op) {
  const NodeInfo* info = info_at < 0 ? nullptr : &infos_[static_cast<size_t>(info_at)];
  if (tensors_at >= 0 && texts_.size() < kMostTexts) {
    const TensorList& list = lists_[static_cast<size_t>(tensors_at)];
    if (info == nullptr || info->record.op_name == list.op_name()) op.tensors = list.Intern(texts_);
  }
  if (info == nullptr) return;
  const CannNodeInfo& record = info->record;
  op.op_name = op_name_.Get(record.op_name, [this](uint64_t hash) { return names_.Hash(hash); });
  op.op_type = op_type_.Get(record.op_type, [this](uint64_t hash) { return names_.Hash(hash); });
  op.op_task_type = GeTaskType(record.task_type);
  if (op.blocks == 0) {  // the launch does not tell
    op.blocks = record.blocks & 0xFFFF;
    op.mix_blocks = (record.blocks & 0xFFFF) * (record.blocks >> 16);
  }
  op.hf32 = (record.flags & 1) != 0;
  op.is_dynamic = info->is_dynamic;
  op.has_info = true;
}

void Launches::NumberCalls() {
  all_.Clear();
  nodes_.Clear();
  libraries_.Clear();
  for (size_t i = 0; i < calls_.size(); ++i) {
    Call& call = calls_[i];
    if (!call.told) call.connection = next_connection_++;
    const bool is_node = call.Is(CannLevel::kNode);
    if (!is_node && !call.Is(CannLevel::kCommunication)) continue;
    (is_node ? nodes_ : libraries_).Add(call.thread, call.begin, call.end, static_cast<uint32_t>(i));
  }
  nodes_.Finish();
  libraries_.Finish();
}

int64_t Launches::AroundAny(const CannHead& head) {
  if (all_.empty()) {  // few windows need it
    for (size_t i = 0; i < calls_.size(); ++i)
      all_.Add(calls_[i].thread, calls_[i].begin, calls_[i].end, static_cast<uint32_t>(i));
    all_.Finish();
  }
  return Around(all_, head);
}

void Launches::Join(bool last, const Take& take_launch) {
  SortCalls();
  NumberCalls();

  // What waited for this window comes first. Nothing waits twice.
  const size_t old_tracks = waiting_tracks_.size();
  tracks_.insert(tracks_.begin(), waiting_tracks_.begin(), waiting_tracks_.end());
  waiting_tracks_.clear();
  JoinContexts(last);
  JoinInfos(last);
  JoinTensors(last);
  JoinAttributes(last);
  JoinCollectives(last);
  for (CommKernel& kernel : std::exchange(waiting_kernels_, {})) {
    FindCarriedOut(kernel);
    take_launch(std::move(kernel.launch));
  }
  for (size_t i = 0; i < tracks_.size(); ++i) {
    const CannTaskTrack& track = tracks_[i];
    if (track.head.magic != kCannMagic) {
      ++foreign_;
      continue;
    }
    int64_t found = Around(nodes_, track.head);
    // The call of the node level ends later than that of the runtime, which may be here already.
    if (found < 0 && i >= old_tracks && !last) {
      waiting_tracks_.push_back(track);
      continue;
    }
    if (found < 0) found = AroundAny(track.head);
    Call* call = found < 0 ? nullptr : &calls_[static_cast<size_t>(found)];
    if (call == nullptr) ++without_call_;
    Launch launch = MakeLaunch(track, call);
    if (call != nullptr) {
      call->launches = true;
      const int64_t library = call->Is(CannLevel::kNode) ? Around(libraries_, track.head) : -1;
      if (library >= 0) MakeComm(calls_[static_cast<size_t>(library)], *call, launch);
      if (library < 0 && texts_.Get(call->item_text).ends_with(kCommKernel)) {
        CommKernel kernel{std::move(launch), call->begin, call->end};
        if (!FindCarriedOut(kernel) && !last) {
          waiting_kernels_.push_back(std::move(kernel));
          continue;
        }
        launch = std::move(kernel.launch);
      }
    }
    take_launch(std::move(launch));
  }
  if (!last) KeepForNext();
  // A track waits for one window at most.
  copies_.erase(copies_.begin(), copies_.lower_bound(std::pair(former_end_stamp_, uint32_t{0})));
  former_end_stamp_ = end_stamp_;
  tracks_.clear();
  infos_.clear();
}

// Gives each record with its innermost call. Those whose call may come with the next window wait for it,
// once.
template <typename Record, typename HeadOf, typename TakeRecord>
void Launches::JoinTo(CallIndex& index, std::vector<Record>& records, std::vector<Record>& waiting, bool last,
                      HeadOf head_of, TakeRecord take) {
  const size_t old = waiting.size();
  records.insert(records.begin(), waiting.begin(), waiting.end());
  waiting.clear();
  for (size_t i = 0; i < records.size(); ++i) {
    const CannHead& head = head_of(records[i]);
    if (head.magic != kCannMagic) {
      ++foreign_;
      continue;
    }
    const int64_t found = Around(index, head);
    if (found >= 0) {
      take(calls_[static_cast<size_t>(found)], records[i], i);
    } else if (i >= old && !last) {
      waiting.push_back(records[i]);
    }
  }
}

// Which operators a call launches as sub tasks.
void Launches::JoinContexts(bool last) {
  const auto take = [this](Call& call, const CannContexts& record, size_t) {
    SubOp* op = FindSubOp(call, record.op_name);
    if (op == nullptr) op = &MoreOf(call).sub_ops.emplace_back(SubOp{record.op_name});
    for (uint32_t n = 0; n < record.count; ++n) {
      const uint32_t context = record.contexts[n];
      op->contexts.push_back(context);
    }
  };
  JoinTo(nodes_, contexts_, waiting_contexts_, last, HeadOf<CannContexts>, take);
  contexts_.clear();
}

Launches::More& Launches::MoreOf(Call& call) {
  if (call.more < 0) {
    call.more = static_cast<int32_t>(more_.size());
    more_.emplace_back();
  }
  return more_[static_cast<size_t>(call.more)];
}

Launches::SubOp* Launches::FindSubOp(const Call& call, uint64_t op_name) {
  if (call.more < 0) return nullptr;
  std::vector<SubOp>& ops = more_[static_cast<size_t>(call.more)].sub_ops;
  const auto found = std::ranges::find(ops, op_name, &SubOp::op_name);
  return found == ops.end() ? nullptr : &*found;
}

void Launches::JoinInfos(bool last) {
  const auto head_of = [](const NodeInfo& info) -> const CannHead& { return info.record.head; };
  const auto take = [this](Call& call, const NodeInfo& of, size_t at) {
    SubOp* const op = FindSubOp(call, of.record.op_name);
    int32_t& info = op != nullptr ? op->info : call.info;
    if (info < 0) info = static_cast<int32_t>(at);
  };
  JoinTo(nodes_, infos_, waiting_infos_, last, head_of, take);
}

void Launches::JoinTensors(bool last) {
  lists_.clear();
  const auto take = [this](Call& call, const CannTensorInfo& tensors, size_t) {
    SubOp* const op = FindSubOp(call, tensors.op_name);
    int32_t& list = op != nullptr ? op->tensors : call.tensors;
    if (list < 0) {
      list = static_cast<int32_t>(lists_.size());
      lists_.emplace_back();
    }
    lists_[static_cast<size_t>(list)].Add(tensors);
  };
  JoinTo(nodes_, tensors_, waiting_tensors_, last, HeadOf<CannTensorInfo>, take);
  tensors_.clear();
}

void Launches::JoinAttributes(bool last) {
  const auto take = [this](Call& call, const CannNodeAttributes& of, size_t) {
    // By value: a packed field is not where a reference may point.
    MoreOf(call).attributes.emplace_back(uint64_t{of.op_name}, uint64_t{of.attributes});
  };
  JoinTo(nodes_, attributes_, waiting_attributes_, last, HeadOf<CannNodeAttributes>, take);
  attributes_.clear();
}

// What the innermost call around each says of itself.
void Launches::JoinCollectives(bool last) {
  const auto take_op = [this](Call& call, const CannCommOp& op, size_t) {
    std::shared_ptr<Collective>& collective = MoreOf(call).collective;
    if (collective != nullptr) return;
    collective = std::make_shared<Collective>();
    comm_.Describe(op, *collective);
  };
  const auto take_part = [this](Call& of_library, const CannCommPart& record, size_t) {
    More& call = MoreOf(of_library);
    const CommPart part = comm_.PartOf(record);
    if (call.collective == nullptr) {  // kept for a call that says nothing of its group
      call.collective = std::make_shared<Collective>();
      comm_.SetGroup(record.group, *call.collective);
      call.collective->rank_size = record.rank_size;
    }
    // Of one sub task the last one holds.
    const auto same = std::ranges::find(call.parts, part.context, &CommPart::context);
    same == call.parts.end() ? call.parts.push_back(part) : void(*same = part);
  };
  JoinTo(nodes_, comm_ops_, waiting_comm_ops_, last, HeadOf<CannCommOp>, take_op);
  JoinTo(libraries_, comm_parts_, waiting_comm_parts_, last, HeadOf<CannCommPart>, take_part);
  comm_parts_.clear();
  comm_ops_.clear();
}

std::shared_ptr<Collective> Launches::CollectiveOf(Call& asked) {
  std::shared_ptr<Collective>& shared = MoreOf(asked).collective;
  if (shared == nullptr) shared = std::make_shared<Collective>();
  if (shared->name == 0) {
    shared->name = asked.item_text;
    shared->connection = asked.connection;
    shared->of_ai_cpu = texts_.Get(asked.item_text).find(kCommKernel) != std::string_view::npos;
  }
  return shared;
}

void Launches::MakeComm(const Call& of_library, Call& asked, Launch& launch) {
  CommLaunch& comm = launch.MakeExtras().comm.emplace();
  const std::shared_ptr<Collective> shared = CollectiveOf(asked);
  Collective& collective = *shared;
  static const More kNothing;
  const More* const found = FindMore(of_library);
  const More& library = found != nullptr ? *found : kNothing;
  if (library.collective != nullptr) {
    if (collective.group == 0) {
      collective.group = library.collective->group;
      collective.group_digits = library.collective->group_digits;
    }
    collective.rank_size = library.collective->rank_size;
  }
  comm.of = shared;
  comm.is_master = texts_.Get(CallType(of_library)) == "master";
  comm.parts = library.parts;
  collective.parts += static_cast<uint32_t>(std::max<size_t>(comm.parts.size(), 1));
  // Kernels of a collective are called as the part that they are (tree_analyzer.cpp,
  // UpdateComputeDescForHcclSituation); what holds sub tasks is none.
  if (texts_.Get(launch.task_type) == "FFTS_PLUS") launch.is_compute = false;
  if (!launch.is_compute) {
    launch.op_name = launch.op_type = 0;
    return;
  }
  launch.op_name = of_library.item_text;
  const std::string_view type = texts_.Get(launch.task_type);
  if (type == "KERNEL_AICORE") launch.op_task_type = GeTaskType(kGeCollective);
  if (type == "KERNEL_AICPU") launch.op_task_type = texts_.Intern("HCCL_AI_CPU");
}

bool Launches::FindCarriedOut(CommKernel& kernel) {
  const int64_t around = kernel.begin == 0 ? -1 : nodes_.Around(kernel.launch.thread, kernel.begin - 1);
  if (around < 0 || calls_[static_cast<size_t>(around)].end < kernel.end) return false;
  kernel.launch.MakeExtras().carries_out = CollectiveOf(calls_[static_cast<size_t>(around)]);
  return true;
}

void Launches::KeepForNext() {
  if (libraries_.empty()) return;
  for (const Call& call : calls_) {
    if (call.told || !call.Is(CannLevel::kCommunication)) continue;
    if (nodes_.Around(call.thread, call.end) >= 0) continue;
    Call& kept = waiting_calls_.emplace_back(call);
    kept.told = true;
    if (const More* more = FindMore(call)) {
      kept.more = static_cast<int32_t>(waiting_more_.size());
      waiting_more_.push_back(*more);
    }
  }
}

}  // namespace profd::format
