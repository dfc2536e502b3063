// What a process recorded itself (format/events/agent_blocks.h): ranges, marks, counters, steps, and what its
// device runtime told it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/flat_map.h"
#include "format/clock_map.h"
#include "format/decode/agents/device_marks.h"
#include "format/decode/agents/operator_tensors.h"
#include "format/decode/span_writer.h"
#include "format/directory/manifest.h"
#include "format/events/agent_blocks.h"
#include "libagent/abi/record.h"

namespace profd::format {

struct AgentCounts {
  uint64_t records = 0, lost = 0;  // lost: as the lanes themselves say
  uint64_t damaged_slots = 0;      // that hold no record
  uint64_t missing_blocks = 0;     // numbers that no block has …
  uint64_t blocks_before = 0;      // … in front of the first block of a lane: removed, if anything was
  uint64_t ends_alone = 0;         // ends of ranges and steps that began before the recording
  uint64_t unfinished = 0;         // ranges and steps without an end; they end with the recording
  uint64_t halves_cut = 0;         // the same two, where records in front of or behind them are not there
  uint64_t no_room = 0;            // open at once, beyond what there is room for
  uint64_t damaged_names = 0;
};

// One process. First its blocks of names, then those of its lanes; any bytes in. **Thread:** one.
// **Owns:** what is open.
class AgentLanes {
 public:
  // `process`: a number of its own in the capture. `host` turns CLOCK_MONOTONIC_RAW into wall time.
  AgentLanes(const ManifestAgent& agent, uint32_t process, const ClockMap& host, Texts& texts,
             SpanSink& sink);

  // The directory goes on with what another one begins: its first step is none of the recording's edges.
  void Continues() { continues_ = true; }
  void Names(const Block& block);
  void Lane(const Block& block);
  // Ends what is open still. `gap`: blocks are missing behind the last one.
  void Finish(bool gap = false);
  const AgentCounts& counts() const { return counts_; }
  // Of its counter: what lies on it can be dated.
  bool has_clock() const { return ns_per_tick_ > 0; }
  // Of a reference in a record; 0: it has none.
  TextId Name(uint32_t reference) const;

 private:
  struct Open {
    uint64_t begin_ns = 0;
    int64_t tid = 0;
    TextId name = 0, domain = 0, category = 0;
    uint32_t arg_set = 0;  // key in args_, 0 = none
    bool used = false, on_stream = false;
  };
  // A step that has ended; whether another one comes tells whether it is the last.
  struct EndedStep {
    Open open;
    uint64_t end_ns = 0, number = 0;
  };
  struct LaneState {
    uint64_t next_seq = 0, last_ns = 0;
    bool gap = false;  // records of it are not there
    int64_t tid = 0;
    std::map<uint16_t, std::vector<Open>> stacks;  // of push and pop: domain → by depth
  };
  struct Values {
    std::vector<SpanArg> args;
    std::vector<std::byte> bytes;
    uint64_t begin_ns = 0, end_ns = 0;
    bool has_times = false, damaged = false;
  };

  static uint64_t CategoryKey(uint32_t domain, uint32_t number) {
    return static_cast<uint64_t>(domain) << 32 | number;
  }
  uint64_t Wall(uint64_t ticks) const;
  TextId DomainName(uint16_t domain);
  size_t Record(LaneState& lane, std::span<const std::byte> slots);
  void ReadValues(std::span<const std::byte> slots);
  void Push(LaneState& lane, const abi::Record& record, uint64_t wall_ns);
  void Pop(LaneState& lane, const abi::Record& record, uint64_t wall_ns);
  void Begin(base::FlatMap<Open>& open, uint64_t key, LaneState& lane, const abi::Record& record,
             uint64_t wall_ns);
  void End(base::FlatMap<Open>& open, SpanKind kind, uint64_t key, const abi::Record& record,
           uint64_t wall_ns);
  void Instant(SpanKind kind, LaneState& lane, const abi::Record& record, uint64_t wall_ns);
  void Device(SpanKind kind, LaneState& lane, const abi::Record& record);
  void DeviceMark(const abi::Record& record);
  void GiveDeviceMarks();
  void Tensors(const abi::Record& record, uint64_t wall_ns);
  uint64_t SaidAt(uint64_t stamp, uint64_t recorded_ns) const;
  uint64_t HashOf(TextId name);
  void Describe(const Span& span);
  TextId NumberedName(const Span& span);
  void CloseStacks(LaneState& lane);
  Open OpenOf(const LaneState& lane, const abi::Record& record, uint64_t wall_ns);
  void EndStep(const Open& open, uint64_t number, uint64_t end_ns);
  void GiveEndedStep(bool is_last);
  // How a span ends: with its record; without one; without one because records are not there.
  enum class Ending : uint8_t { kThere, kNever, kGap };
  static Ending WithoutEnd(bool gap) { return gap ? Ending::kGap : Ending::kNever; }
  void Give(SpanKind kind, const Open& open, uint64_t end_ns, uint64_t value, Ending end = Ending::kThere);
  void EndAlone(bool gap) { ++(gap ? counts_.halves_cut : counts_.ends_alone); }

  const ManifestAgent& agent_;
  const uint32_t process_;
  const ClockMap& host_;
  SpanWriter spans_;
  SpanSink& sink_;
  double ns_per_tick_ = 0;
  base::FlatMap<TextId> names_;
  std::array<TextId, 256> domains_{};
  base::FlatMap<TextId> categories_;
  std::map<uint32_t, LaneState> lanes_;
  base::FlatMap<Open> ranges_, steps_;
  EndedStep ended_step_;
  bool continues_ = false, gave_step_ = false;
  DeviceMarks device_marks_;
  OperatorTensors tensors_;
  // Of the span that is given: of a step; of what is on a stream.
  TextId edge_ = 0;
  uint64_t connection_ = 0;
  std::map<uint32_t, std::vector<SpanArg>> args_;  // of what is open and has some
  uint32_t next_args_ = 1;
  size_t open_count_ = 0;
  bool gap_ = false;  // in any lane
  uint64_t last_ns_ = 0;
  Values values_;
  TextId value_key_, category_key_, unfinished_key_, edge_key_, level_key_, type_key_, group_key_, name_key_,
      stream_key_, flag_key_, node_level_;
  // By text: what it says of an operator; kNoId: nobody has looked yet.
  std::vector<TextId> op_types_, task_types_;
  std::vector<uint64_t> hashes_;  // by text; 0: nobody has asked yet
  std::map<std::tuple<int32_t, TextId, TextId>, uint32_t>
      collectives_;  // by device, group and name: how many
  AgentCounts counts_;
};

}  // namespace profd::format
