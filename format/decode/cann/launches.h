// What the host says of device tasks: the calls of its CANN layers, and which of them launched which task.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "format/decode/cann/call_index.h"
#include "format/decode/cann/cann_names.h"
#include "format/decode/cann/captures.h"
#include "format/decode/cann/collectives.h"
#include "format/decode/cann/launched_op.h"
#include "format/decode/cann/model_calls.h"
#include "format/decode/span_writer.h"
#include "format/records/cann.h"

namespace profd::format {

// What few launches have.
struct LaunchExtras {
  uint64_t copied_bytes = 0;
  TextId copy_operation = 0;                      // from where to where, if that is told
  std::optional<CommLaunch> comm = {};            // of a collective
  std::shared_ptr<Collective> carries_out = {};   // of a kernel that does so: the call's around its own
  std::map<uint32_t, LaunchedOp> sub_tasks = {};  // by context
};

// A task as it was given to a device. Its operator is not known where it has none, or one for each sub task.
// Small: tens of thousands wait for their tasks at a time.
struct Launch : LaunchedOp {
  uint64_t stamp = 0;  // T4
  uint64_t connection = 0;
  uint32_t device = 0, stream = 0, task = 0, batch = 0;
  uint32_t thread = 0;
  uint32_t model = kNoId;  // that was loaded or ran
  TextId model_name = 0;   // for whoever knows it to fill in
  TextId kernel = 0, task_type = 0;
  std::unique_ptr<LaunchExtras> extras = {};  // nullptr: none

  LaunchExtras& MakeExtras() {
    if (extras == nullptr) extras = std::make_unique<LaunchExtras>();
    return *extras;
  }
  // nullptr: it is of no collective.
  const CommLaunch* comm() const { return extras != nullptr && extras->comm ? &*extras->comm : nullptr; }
  // nullptr: of that sub task nobody has told.
  const LaunchedOp* OpOf(uint32_t context) const {
    if (extras == nullptr || extras->sub_tasks.empty() || context == kNoId) return this;
    const auto found = extras->sub_tasks.find(context);
    return found == extras->sub_tasks.end() ? nullptr : &found->second;
  }
};

// Joins calls, task tracks and node infos by thread and time, window by window; records of each kind come in
// the order of their stamps, calls in that of their ends. **Thread:** one.
class Launches {
 public:
  // `models` and `captures`: complete. `names_only`: of an operator nothing else is told.
  Launches(CannNames& names, Texts& texts, const ModelCalls& models, const Captures& captures,
           bool names_only = false)
      : names_(names),
        texts_(texts),
        models_(models),
        captures_(captures),
        names_only_(names_only),
        comm_(names, texts) {}

  void Add(const CannApiRecord& call);
  void Add(const CannTaskTrack& track) { tracks_.push_back(track); }
  // The infos of operators with fixed shapes never age, so the vendor's analyser knows the others by their
  // file (msparser/compact_info/node_basic_info_parser.py, get_op_state).
  void Add(const CannNodeInfo& info, bool is_dynamic) {
    if (!names_only_) infos_.push_back({info, is_dynamic});
  }
  void Add(const CannTensorInfo& tensors) {
    if (!names_only_) tensors_.push_back(tensors);
  }
  void Add(const CannNodeAttributes& attributes) {
    if (!names_only_) attributes_.push_back(attributes);
  }
  void Add(const CannCopy& copy);
  void Add(const CannContexts& contexts);
  void Add(const CannCommPart& part) { comm_parts_.push_back(part); }
  void Add(const CannCommOp& op) { comm_ops_.push_back(op); }
  // Where several processes reported: whose threads these are.
  void SetPids(const std::map<uint32_t, int64_t>& pids) { pids_ = pids; }
  int64_t PidOf(uint32_t thread, int64_t otherwise) const {
    const auto found = pids_.find(thread);
    return found == pids_.end() ? otherwise : found->second;
  }
  size_t calls() const { return calls_.size(); }
  // Up to where the window's calls reach: tracks and infos up to here belong to it.
  uint64_t end_stamp() const { return end_stamp_; }

  using Take = std::function<void(Launch&& launch)>;
  // Ends the window: numbers its calls by their begin, hands the launches of the tracks to `take`, and gives
  // the calls out as spans. Tracks whose call may come with the next window wait for it, unless it is the
  // `last` one. `to_wall` turns a stamp into wall ns.
  template <typename ToWall>
  void EndWindow(bool last, int64_t pid, ToWall to_wall, SpanWriter& spans, const Take& take) {
    Join(last, take);
    for (const Call& call : calls_) {
      if (call.told) continue;
      Span& span = spans.Add(SpanKind::kApi);
      span.begin_ns = to_wall(call.begin);
      span.end_ns = to_wall(call.end);
      span.value = call.item;
      span.connection = call.connection;
      span.pid = PidOf(call.thread, pid);
      span.tid = call.thread;
      span.name = CallType(call);
      span.category = Level(call.level);
      span.flow = call.launches ? Flow::kBegins : Flow::kNone;
      if (call.Is(CannLevel::kAcl)) {
        spans.AddArg(Key(mode_key_, "Mode"), ArgType::kText, texts_.Intern(AclApiTag(call.type)));
        spans.AddArg(Key(id_key_, "id"), ArgType::kText, span.name);
      } else {
        spans.AddArg(Key(id_key_, "id"), ArgType::kU64, call.request);
      }
      spans.AddArg(Key(item_key_, "item_id"), ArgType::kText, call.item_text);
    }
    calls_.clear();
    calls_.insert(calls_.end(), waiting_calls_.begin(), waiting_calls_.end());
    waiting_calls_.clear();
    more_ = std::move(waiting_more_);
    waiting_more_.clear();
    end_stamp_ = 0;
  }

  // Of the earliest track that waits for the next window; UINT64_MAX if none does.
  uint64_t waiting_since() const;

  uint64_t foreign() const { return foreign_; }  // records without the magic
  uint64_t unpaired_events() const { return times_.unpaired(); }
  uint64_t tracks_without_call() const { return without_call_; }

 private:
  struct Copy {
    uint64_t left, most;
    uint16_t operation;
  };
  struct SubOp {
    uint64_t op_name = 0;  // hash_dic
    std::vector<uint32_t> contexts = {};
    int32_t info = -1, tensors = -1;  // as a call's
  };
  // What few calls have.
  struct More {
    std::vector<CommPart> parts = {};
    std::shared_ptr<Collective> collective = {};
    std::vector<std::pair<uint64_t, uint64_t>> attributes = {};  // name of an operator, hash_dic
    std::vector<SubOp> sub_ops = {};  // of one that launches several operators as sub tasks of one task
  };
  // 64 bytes: a window has tens of thousands, and they are sorted.
  struct Call {
    uint64_t begin = 0, end = 0, item = 0;
    uint64_t connection = 0;  // its number, from 1
    uint32_t thread = 0, type = 0, request = 0;
    TextId item_text = 0;
    int32_t info = -1;     // index in infos_, -1 = none
    int32_t tensors = -1;  // index in lists_
    int32_t more = -1;     // index in more_
    uint16_t level = 0;
    bool launches = false;  // a task
    bool told = false;      // given out with the window before

    bool Is(CannLevel of) const { return level == static_cast<uint16_t>(of); }
  };
  struct NodeInfo {
    CannNodeInfo record;
    bool is_dynamic;
  };

  void Join(bool last, const Take& take_launch);
  template <typename Record, typename HeadOf, typename TakeRecord>
  void JoinTo(CallIndex& index, std::vector<Record>& records, std::vector<Record>& waiting, bool last,
              HeadOf head_of, TakeRecord take);
  void JoinContexts(bool last);
  void JoinInfos(bool last);
  void JoinTensors(bool last);
  void JoinAttributes(bool last);
  void JoinCollectives(bool last);
  // Calls of the communication library whose own call of the node level has not ended yet.
  void KeepForNext();
  // Index of the innermost call around a record's moment; -1 if there is none.
  static int64_t Around(CallIndex& calls, const CannHead& head) {
    return calls.Around(head.thread, head.stamp);
  }
  // The same, of whatever level.
  int64_t AroundAny(const CannHead& head);
  // By their begin, and indexes those of the node level and of the communication library.
  void NumberCalls();
  More& MoreOf(Call& call);
  // nullptr: it has nothing more.
  const More* FindMore(const Call& call) const {
    return call.more < 0 ? nullptr : &more_[static_cast<size_t>(call.more)];
  }
  // The collective that a call of the node level asks for.
  std::shared_ptr<Collective> CollectiveOf(Call& asked);
  // Of a launch inside of a call of the communication library.
  void MakeComm(const Call& of_library, Call& asked, Launch& launch);
  Launch MakeLaunch(const CannTaskTrack& track, const Call* call);
  // A kernel of a call inside another one of the node level carries out that one's collective.
  struct CommKernel {
    Launch launch;
    uint64_t begin, end;  // of its call
  };
  // false: no such call is in this window.
  bool FindCarriedOut(CommKernel& kernel);
  // A kernel that no call of the node level launched: what was told of it when it was captured, or else what
  // its own name tells.
  void DescribeAlone(Launch& launch);
  // nullptr: no sub tasks of a call are of that operator.
  SubOp* FindSubOp(const Call& call, uint64_t op_name);
  void FindCopy(const CannTaskTrack& track, Launch& launch);
  // 0: nobody told of those of this operator.
  TextId AttributesOf(const Call& call, uint64_t op_name);
  // What the host tells of an operator: those of infos_ and lists_, -1 = none.
  void Describe(int32_t info, int32_t tensors, LaunchedOp& op);
  TextId ItemText(const Call& call);
  TextId Level(uint16_t level) {
    auto& [cached, text] = levels_[level / 500 % levels_.size()];  // the known ones are multiples of 500
    if (text == 0 || cached != level) cached = level, text = texts_.Intern(CannLevelName(level));
    return text;
  }
  bool IsCompute(TextId task_type);
  TextId GeTaskType(uint32_t type) {
    TextId& text = ge_types_[std::min<size_t>(type, ge_types_.size() - 1)];
    if (text == 0) text = texts_.Intern(GeTaskTypeName(type));
    return text;
  }
  void SortCalls();
  TextId Key(TextId& key, std::string_view text) { return key != 0 ? key : key = texts_.Intern(text); }
  TextId CallType(const Call& call) {
    // The known levels are multiples of 500.
    return call_types_[call.level / 500 % call_types_.size()].Get(
        static_cast<uint64_t>(call.level) << 32 | call.type,
        [&](uint64_t) { return names_.Type(call.level, call.type); });
  }

  CannNames& names_;
  Texts& texts_;
  const ModelCalls& models_;
  const Captures& captures_;
  const bool names_only_;
  std::map<uint32_t, int64_t> pids_;
  TextId id_key_ = 0, item_key_ = 0, mode_key_ = 0;
  // A name that was looked up last: it is nearly always asked again.
  struct Memo {
    uint64_t number = 0;
    TextId text = 0;
    template <typename Look>
    TextId Get(uint64_t wanted, Look look) {
      if (text == 0 || wanted != number) number = wanted, text = look(wanted);
      return text;
    }
  };
  Memo kernel_, op_name_, op_type_, task_type_, copy_;
  std::array<Memo, 16> call_types_, items_;  // by level
  // What was looked up last: it is nearly always asked again.
  std::array<std::pair<uint16_t, TextId>, 16> levels_{};
  std::array<TextId, 16> ge_types_{};
  TextId compute_type_ = 0, other_type_ = 0;
  std::vector<Call> calls_;
  CallIndex all_, nodes_,
      libraries_;  // by index in calls_: all, of the node level, of the communication library
  std::vector<CannTaskTrack> tracks_, waiting_tracks_;
  std::vector<CommKernel> waiting_kernels_;  // the call around theirs may come with the next window
  std::vector<NodeInfo> infos_, waiting_infos_;
  std::vector<CannTensorInfo> tensors_, waiting_tensors_;
  std::vector<CannNodeAttributes> attributes_, waiting_attributes_;
  std::vector<CannContexts> contexts_, waiting_contexts_;
  std::map<std::pair<uint64_t, uint32_t>, Copy> copies_;  // by stamp and thread
  uint64_t former_end_stamp_ = 0;
  CommReader comm_;
  std::vector<CannCommPart> comm_parts_, waiting_comm_parts_;
  std::vector<CannCommOp> comm_ops_, waiting_comm_ops_;
  std::vector<Call> waiting_calls_;
  std::deque<More> more_, waiting_more_;  // places stay
  std::vector<TensorList> lists_;
  CallTimes times_;
  uint64_t end_stamp_ = 0, next_connection_ = 1;
  uint64_t foreign_ = 0, without_call_ = 0;
};

}  // namespace profd::format
