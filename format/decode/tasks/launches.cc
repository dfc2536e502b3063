#include "format/decode/tasks/launches.h"

#include <algorithm>
#include <tuple>

namespace profd::format {

namespace {

// How many calls of a thread may begin after a moment's own one and be over before that moment.
constexpr int kMostSteps = 4096;
constexpr uint32_t kGeCollective = 9;  // GeTaskTypeName()
// Every shape is a text of its own.
constexpr size_t kMostTexts = 1 << 20;

uint64_t EventKey(const CannApiRecord& event) {
  uint64_t key =
      static_cast<uint64_t>(event.level) << 48 ^ static_cast<uint64_t>(event.type) << 32 ^ event.thread;
  key = (key ^ event.item * 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
  return key ^ key >> 31 ^ event.request;
}

bool IsComputeType(std::string_view type) {
  return type.starts_with("KERNEL") || type == "STARS_COMMON" || type == "FFTS_PLUS";
}

}  // namespace

void Launches::Add(const CannApiRecord& record) {
  if (record.magic != kCannMagic) {
    ++foreign_;
    return;
  }
  uint64_t begin_stamp = record.begin, end_stamp = record.end;
  if (record.end == kCannEvent) {  // begin and end come one by one
    const uint64_t key = EventKey(record);
    const Event* begin = events_.Find(key);
    if (begin == nullptr) {
      if (Event* place = events_.FindOrAdd(key)) {
        place->stamp = record.begin;
      } else {
        ++unpaired_;
      }
      return;
    }
    begin_stamp = std::min(begin->stamp, record.begin);
    end_stamp = std::max(begin->stamp, record.begin);
    events_.Erase(key);
  }
  Call& call = calls_.emplace_back();
  call.begin = begin_stamp;
  call.end = std::max(begin_stamp, end_stamp);
  call.item = record.item;
  call.thread = record.thread;
  call.type = record.type;
  call.request = record.request;
  call.level = record.level;
  call.item_text = names_.Hash(record.item);
  end_stamp_ = std::max(end_stamp_, call.end);
}

TextId Launches::Level(uint16_t level) {
  auto& [cached, text] = levels_[level / 500 % levels_.size()];  // the known ones are multiples of 500
  if (text == 0 || cached != level) cached = level, text = texts_.Intern(CannLevelName(level));
  return text;
}

TextId Launches::GeTaskType(uint32_t type) {
  TextId& text = ge_types_[std::min<size_t>(type, ge_types_.size() - 1)];
  if (text == 0) text = texts_.Intern(GeTaskTypeName(type));
  return text;
}

bool Launches::IsCompute(TextId task_type) {
  if (task_type == compute_type_) return true;
  if (task_type == other_type_) return false;
  const bool is = IsComputeType(texts_.Get(task_type));
  (is ? compute_type_ : other_type_) = task_type;
  return is;
}

int64_t Launches::Around(uint32_t thread, uint64_t stamp, uint16_t level) {
  const std::pair wanted(thread, stamp);
  const auto begins = [this](const std::pair<uint32_t, uint32_t>& entry) {
    return std::pair(entry.first, calls_[entry.second].begin);
  };
  // Behind the last call of the thread that begins at or before the moment: near where it was the last time.
  size_t at = std::min(around_, by_thread_.size());
  int near = 0;
  constexpr int kNear = 32;
  for (; near < kNear && at > 0 && wanted < begins(by_thread_[at - 1]); ++near) --at;
  for (; near < kNear && at < by_thread_.size() && !(wanted < begins(by_thread_[at])); ++near) ++at;
  if (near == kNear) {
    at = static_cast<size_t>(
        std::upper_bound(by_thread_.begin(), by_thread_.end(), wanted,
                         [&](const auto& moment, const auto& entry) { return moment < begins(entry); }) -
        by_thread_.begin());
  }
  around_ = at;
  // The innermost one begins last.
  for (int steps = 0; steps < kMostSteps && at > 0; ++steps) {
    --at;
    if (by_thread_[at].first != thread) break;
    const Call& call = calls_[by_thread_[at].second];
    if (call.end < stamp) continue;
    if (level == kAny || call.level == level) return by_thread_[at].second;
  }
  return -1;
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
  for (const CannTaskTrack& track : waiting_tracks_) since = std::min(since, track.head.stamp);
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
  const bool tells_blocks = track.blocks != 0 && texts_.Get(launch.task_type) != "KERNEL_SIMT";
  if (tells_blocks) {
    constexpr uint8_t kMixBits = 7;
    launch.blocks = track.blocks;
    launch.mix_blocks = uint32_t{track.blocks} * (track.mix & kMixBits);
  }
  if (call == nullptr) return launch;
  launch.connection = call->connection;
  if (!call->Is(CannLevel::kNode) || !IsCompute(launch.task_type)) {
    return launch;
  }
  launch.is_compute = true;
  if (call->tensors >= 0) {
    const TensorList& list = lists_[static_cast<size_t>(call->tensors)];
    const bool same =
        call->info < 0 || infos_[static_cast<size_t>(call->info)].record.op_name == list.op_name();
    if (same && texts_.size() < kMostTexts) launch.tensors = list.Intern(texts_);
  }
  if (call->info < 0) {
    launch.op_name = call->item_text;
    return launch;
  }
  const auto& [info, is_dynamic] = infos_[static_cast<size_t>(call->info)];
  launch.op_name = info.op_name == call->item ? call->item_text : names_.Hash(info.op_name);
  launch.op_type = op_type_.Get(info.op_type, [this](uint64_t hash) { return names_.Hash(hash); });
  launch.op_task_type = GeTaskType(info.task_type);
  if (!tells_blocks) {
    launch.blocks = info.blocks & 0xFFFF;
    launch.mix_blocks = (info.blocks & 0xFFFF) * (info.blocks >> 16);
  }
  launch.hf32 = (info.flags & 1) != 0;
  launch.is_dynamic = is_dynamic;
  return launch;
}

void Launches::Join(bool last, std::vector<Launch>& launches) {
  SortCalls();
  by_thread_.clear();
  for (Call& call : calls_) {
    if (!call.told) call.connection = next_connection_++;
    by_thread_.emplace_back(call.thread, static_cast<uint32_t>(&call - calls_.data()));
  }
  const auto before = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (!std::is_sorted(by_thread_.begin(), by_thread_.end(), before)) {
    std::stable_sort(by_thread_.begin(), by_thread_.end(), before);
  }

  // What waited for this window comes first. Nothing waits twice.
  const size_t old_infos = waiting_infos_.size(), old_tracks = waiting_tracks_.size();
  infos_.insert(infos_.begin(), waiting_infos_.begin(), waiting_infos_.end());
  tracks_.insert(tracks_.begin(), waiting_tracks_.begin(), waiting_tracks_.end());
  waiting_infos_.clear();
  waiting_tracks_.clear();
  for (size_t i = 0; i < infos_.size(); ++i) {
    const CannHead& head = infos_[i].record.head;
    if (head.magic != kCannMagic) {
      ++foreign_;
      continue;
    }
    const int64_t found = Around(head, CannLevel::kNode);
    if (found >= 0) {
      int32_t& info = calls_[static_cast<size_t>(found)].info;
      if (info < 0) info = static_cast<int32_t>(i);
    } else if (i >= old_infos && !last) {
      waiting_infos_.push_back(infos_[i]);
    }
  }
  JoinTensors(last);
  JoinCollectives(last);
  for (size_t i = 0; i < tracks_.size(); ++i) {
    const CannTaskTrack& track = tracks_[i];
    if (track.head.magic != kCannMagic) {
      ++foreign_;
      continue;
    }
    int64_t found = Around(track.head, CannLevel::kNode);
    // The call of the node level ends later than that of the runtime, which may be here already.
    if (found < 0 && i >= old_tracks && !last) {
      waiting_tracks_.push_back(track);
      continue;
    }
    if (found < 0) found = Around(track.head.thread, track.head.stamp, kAny);
    Call* call = found < 0 ? nullptr : &calls_[static_cast<size_t>(found)];
    if (call == nullptr) ++without_call_;
    launches.push_back(MakeLaunch(track, call));
    if (call == nullptr) continue;
    call->launches = true;
    const int64_t library = call->Is(CannLevel::kNode) ? Around(track.head, CannLevel::kCommunication) : -1;
    if (library >= 0) MakeComm(calls_[static_cast<size_t>(library)], *call, launches.back());
  }
  if (!last) KeepForNext();
  tracks_.clear();
  infos_.clear();
}

void Launches::JoinTensors(bool last) {
  const size_t old = waiting_tensors_.size();
  tensors_.insert(tensors_.begin(), waiting_tensors_.begin(), waiting_tensors_.end());
  waiting_tensors_.clear();
  lists_.clear();
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const CannTensorInfo& tensors = tensors_[i];
    if (tensors.head.magic != kCannMagic) {
      ++foreign_;
      continue;
    }
    const int64_t found = Around(tensors.head, CannLevel::kNode);
    if (found < 0) {
      if (i >= old && !last) waiting_tensors_.push_back(tensors);
      continue;
    }
    int32_t& list = calls_[static_cast<size_t>(found)].tensors;
    if (list < 0) {
      list = static_cast<int32_t>(lists_.size());
      lists_.emplace_back();
    }
    lists_[static_cast<size_t>(list)].Add(tensors);
  }
  tensors_.clear();
}

// What the innermost call around each says of itself.
void Launches::JoinCollectives(bool last) {
  const size_t old_parts = waiting_comm_parts_.size(), old_ops = waiting_comm_ops_.size();
  comm_parts_.insert(comm_parts_.begin(), waiting_comm_parts_.begin(), waiting_comm_parts_.end());
  comm_ops_.insert(comm_ops_.begin(), waiting_comm_ops_.begin(), waiting_comm_ops_.end());
  waiting_comm_parts_.clear();
  waiting_comm_ops_.clear();
  for (size_t i = 0; i < comm_ops_.size(); ++i) {
    const CannCommOp& op = comm_ops_[i];
    if (op.head.magic != kCannMagic) {
      ++foreign_;
      continue;
    }
    const int64_t found = Around(op.head, CannLevel::kNode);
    if (found >= 0) {
      std::shared_ptr<Collective>& collective = calls_[static_cast<size_t>(found)].collective;
      if (collective != nullptr) continue;
      collective = std::make_shared<Collective>();
      comm_.Describe(op, *collective);
    } else if (i >= old_ops && !last) {
      waiting_comm_ops_.push_back(op);
    }
  }
  for (size_t i = 0; i < comm_parts_.size(); ++i) {
    const CannCommPart& record = comm_parts_[i];
    if (record.head.magic != kCannMagic) {
      ++foreign_;
      continue;
    }
    const int64_t found = Around(record.head, CannLevel::kCommunication);
    if (found >= 0) {
      Call& call = calls_[static_cast<size_t>(found)];
      const CommPart part = comm_.PartOf(record);
      if (call.collective == nullptr) {  // kept for a call that says nothing of its group
        call.collective = std::make_shared<Collective>();
        comm_.SetGroup(record.group, *call.collective);
        call.collective->rank_size = record.rank_size;
      }
      // Of one sub task the last one holds.
      const auto same = std::ranges::find(call.parts, part.context, &CommPart::context);
      same == call.parts.end() ? call.parts.push_back(part) : void(*same = part);
    } else if (i >= old_parts && !last) {
      waiting_comm_parts_.push_back(record);
    }
  }
  comm_parts_.clear();
  comm_ops_.clear();
}

void Launches::MakeComm(const Call& of_library, Call& asked, Launch& launch) {
  const auto comm = std::make_shared<CommLaunch>();
  if (asked.collective == nullptr) asked.collective = std::make_shared<Collective>();
  Collective& collective = *asked.collective;
  if (collective.name == 0) {
    collective.name = asked.item_text;
    collective.connection = asked.connection;
    collective.of_ai_cpu = texts_.Get(asked.item_text).find("AicpuKernel") != std::string_view::npos;
  }
  if (of_library.collective != nullptr) {
    if (collective.group == 0) {
      collective.group = of_library.collective->group;
      collective.group_digits = of_library.collective->group_digits;
    }
    collective.rank_size = of_library.collective->rank_size;
  }
  comm->of = asked.collective;
  comm->is_master = texts_.Get(CallType(of_library)) == "master";
  comm->parts = of_library.parts;
  collective.parts += static_cast<uint32_t>(std::max<size_t>(comm->parts.size(), 1));
  launch.comm = comm;
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

void Launches::KeepForNext() {
  for (const Call& call : calls_) {
    if (call.told || !call.Is(CannLevel::kCommunication)) continue;
    if (Around(call.thread, call.end, static_cast<uint16_t>(CannLevel::kNode)) >= 0) continue;
    waiting_calls_.push_back(call);
    waiting_calls_.back().told = true;
  }
}

}  // namespace profd::format
