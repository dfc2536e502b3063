// Record layouts of the task-scheduler channels (task logs, counters per task, kernels, instruction flow):
// little-endian, packed. Source of every fact: the public analyser's data_struct_size_constant.py and its
// beans.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/records/device.h"

namespace profd::format {

#pragma pack(push, 1)

// Of a stream's number in a record, up to the 950; the bits above say how stream and task are put together.
inline constexpr uint32_t kStreamBits = 0x7FF;
// Where CANN's runtime says that the devices have more streams (expand_stream_spec).
inline constexpr uint32_t kWideStreamBits = 0x7FFF;

// STARS task log (channel 50, stars_soc.data): one record at the start and one at the end of every task.
enum class StarsLogType : uint16_t { kStart = 0b000000, kEnd = 0b000001 };
struct StarsTaskRecord {
  uint16_t header;  // bits 0–5 StarsLogType, 6–9 running count, 10–15 kind of task
  uint16_t magic;   // kStarsMagic
  uint16_t stream;
  uint16_t task;
  uint64_t ticks;  // T3
  uint16_t reserved0;
  uint16_t unit;  // bits 0–5 accelerator, 6–12 queue
  uint32_t reserved1[11];
};
static_assert(sizeof(StarsTaskRecord) == 64);
struct StarsTaskRecord950 {
  uint16_t header;
  uint16_t magic;
  uint16_t stream;
  uint16_t task;
  uint64_t ticks;
  uint16_t reserved0;
  uint16_t unit;
  uint32_t reserved1[3];
};
static_assert(sizeof(StarsTaskRecord950) == 32);

// Counters of one task on a STARS chip (channel 53, ffts_profile.data).
inline constexpr uint16_t kFftsTaskType = 0b101000;
inline constexpr uint16_t kFftsOverflow = 0x400;  // in `sub_type`: the cycles ran over 32 bits
struct FftsTaskRecord {
  uint16_t header;  // bits 0–5 kFftsTaskType, 6–9 running count
  uint16_t magic;
  uint16_t stream;
  uint16_t task;
  uint64_t reserved0;
  uint16_t sub_type;  // bits 0–7, of FFTS+: 0 AI core, 1 vector core, 6 and 7 both, 6 mainly AI cores
  uint16_t sub_task;
  uint16_t kind;  // bits 13–15: 0 AI cores, 1 vector cores, 4 FFTS+, 5 both, mainly AI cores
  uint16_t reserved2;
  uint64_t reserved3;
  uint64_t cycles;
  uint64_t reserved1;
  uint64_t event[8];
  uint64_t start_ticks;  // T3
  uint64_t end_ticks;
};
static_assert(sizeof(FftsTaskRecord) == 128);

// The same of a 950, a record for each type of core.
inline constexpr uint16_t kCoreTaskType950 = 0b101010;
inline constexpr uint8_t kCoreMain950 = 1 << 0;  // in `flags`: of the type of core that the task was given to
inline constexpr uint8_t kCoreOverflow950 = 1 << 2;  // in `flags`: the cycles cannot be trusted
struct CoreTaskRecord950 {
  uint16_t header;
  uint16_t magic;
  uint16_t stream, task;
  uint64_t cycles;
  uint8_t context_type, flags;
  uint16_t reserved0;
  uint8_t core_type, core;  // bit 0: a vector core
  uint16_t reserved1, sub_block, block;
  uint32_t reserved2;
  uint64_t event[10];
  uint64_t start_ticks, end_ticks;
};
static_assert(sizeof(CoreTaskRecord950) == 128);

// Counters of one task before STARS (channels 43 and 85 in task mode, aicore.data), but on a 310.
struct AicoreTaskRecord {
  uint8_t mode;  // bits 4–7 running count
  uint8_t kind;
  uint16_t reserved0[2];
  uint16_t task;
  uint32_t reserved1[2];
  uint64_t cycles;
  uint64_t reserved2;
  uint64_t event[8];
  uint32_t stream;
  uint32_t reserved3[7];
};
static_assert(sizeof(AicoreTaskRecord) == 128);

// Hardware task log before STARS (channel 45, hwts.data).
struct HwtsRecord {
  uint8_t type_count;  // bits 0–2: 0 start, 1 end; bits 4–7 running count
  uint8_t task_type;
  uint16_t reserved0[2];
  uint16_t task;
  uint64_t ticks;  // T3
  uint32_t stream;
  uint32_t reserved1[11];
};
static_assert(sizeof(HwtsRecord) == 64);

// Scheduler firmware track (channels 44 and 46, ts_track.data; of a 310 also channel 43 in task mode,
// aicore.data): records of several kinds and sizes. Those of a 310 are in common_func/create_runtime_db.py.
enum class TsTrackKind : uint8_t {
  kTimeLine = 3,    // 310
  kEventCount = 4,  // 310
  kScheduler = 6,
  kSchedulerUse = 7,
  kAiCoreStatus = 8,
  kVectorCoreStatus = 9,
  kStepTrace = 10,
  kMemcpy = 11,
  kTaskType = 12,
  kFlip = 14,
  kBlockCount = 15
};
struct TsTrackHead {
  uint8_t mode;
  uint8_t kind;   // TsTrackKind
  uint16_t size;  // of the whole record
  uint32_t reserved;
  uint64_t ticks;  // T3
};
static_assert(sizeof(TsTrackHead) == 16);
// TsTimeLineRecord::state. Source: viewer/calculate_rts_data.py (CalculateRtsDataConst).
enum class TsTaskState : uint16_t {
  kWaiting = 1,
  kRunning = 2,
  kComplete = 3,
  kPending = 4,
  kAiCoreStart = 7,
  kAiCoreDone = 8,
  kAiCpuSecondPhase = 9,
};
// A task has reached another state. Source: StructFmt.TIME_LINE_FMT,
// profiling_bean/struct_info/ts_time_line.py.
struct TsTimeLineRecord {
  uint8_t mode;
  uint8_t kind;
  uint16_t size;
  uint32_t reserved;
  uint16_t type;   // LoggedTaskTypeName()
  uint16_t state;  // TsTaskState
  uint16_t stream;
  uint16_t task;
  uint64_t ticks;  // T3
  uint32_t thread;
  uint32_t device;
};
static_assert(sizeof(TsTimeLineRecord) == 32);
// Counters of one task. Source: StructFmt.EVENT_COUNT_FMT, profiling_bean/struct_info/event_counter.py.
struct TsEventCountRecord {
  uint8_t mode;
  uint8_t kind;
  uint16_t size;
  uint32_t reserved0;
  uint16_t type;  // of the task
  uint16_t stream;
  uint16_t task;
  uint16_t overflow;  // 0: `overflow_cycles` says nothing
  uint64_t overflow_cycles;
  uint64_t event[8];
  uint64_t cycles;
  uint64_t ticks;  // T3
  uint16_t blocks;
  uint16_t reserved1[3];
};
static_assert(sizeof(TsEventCountRecord) == 112);
struct TsStepTraceRecord {
  TsTrackHead head;
  uint64_t index;
  uint64_t model;
  uint16_t stream;
  uint16_t task;
  uint16_t tag;
  uint16_t reserved;
};
static_assert(sizeof(TsStepTraceRecord) == 40);
struct TsStepTraceRecord950 {
  TsTrackHead head;
  uint64_t index;
  uint64_t model;
  uint16_t tag;
  uint16_t stream;
  uint32_t task;
};
static_assert(sizeof(TsStepTraceRecord950) == 40);
// TsStepTraceRecord::tag. Those of collectives and data fetches: even begins, odd ends.
enum class TsStepTag : uint16_t {
  kModelStart = 0,
  kModelEnd = 1,
  kForwardStart = 2,
  kBackwardEnd = 3,
  kIterationEnd = 4,
  kFirstReduce = 10000,
  kFirstGetNext = 20000,
  kStepStart = 60000,
  kStepEnd = 60001,
};
struct TsTaskTypeRecord {
  TsTrackHead head;
  uint16_t stream;
  uint16_t task;
  uint16_t type;
  uint8_t state;
  uint8_t reserved0;
  uint64_t reserved1[2];
};
static_assert(sizeof(TsTaskTypeRecord) == 40);

// L2 cache counters of one task (channel 47, l2_cache.data).
struct L2CacheRecord {
  uint16_t type;
  uint16_t stream;
  uint16_t task;
  uint16_t reserved;
  uint64_t event[8];
};
static_assert(sizeof(L2CacheRecord) == 72);

// SoC counters of one task (channel 134, socpmu.data), a record per unit; the 950 has a wider task field.
enum class SocPmuType : uint16_t { kHa = 1, kSmmu = 2, kNoc = 3, kPageFaults = 4 };
struct SocPmuRecord {
  uint8_t head[8];
  uint16_t task_type;
  uint16_t stream;
  uint16_t task;
  uint16_t data_type;
  uint64_t event[8];
};
static_assert(sizeof(SocPmuRecord) == 80);
struct SocPmuRecord950 {
  uint8_t head[6];
  uint16_t data_type;
  uint16_t task_type;
  uint16_t stream;
  uint32_t task;
  uint64_t event[8];
};
static_assert(sizeof(SocPmuRecord950) == 80);

// Instruction profiling (BIU channels, instr.*): what a core's unit counted. Counters of busy clocks have 12
// bits and go round; two of them lie in three bytes, the first in the lower bits.
struct InstrCycles {
  uint8_t busy[30];   // vector, scalar, cube, mte1, mte2, mte3; 7, 8, 14, 15: 12 bits of the stamp each,
                      // lowest first
  uint16_t stamp_48;  // its highest bits
};
static_assert(sizeof(InstrCycles) == 32);
struct InstrFlow {
  uint16_t read_commands, write_commands;
  uint8_t read_latency[3], write_latency[3];
  uint8_t read_bytes[3], write_bytes[3], read_l2[3], write_l2[3];
  uint64_t stamp;
  uint16_t l2_hits;
};
static_assert(sizeof(InstrFlow) == 32);
struct InstrCubeRecord {  // of an AI core: both, 8 bytes of each in turn
  uint8_t reserved[32];
  struct {
    uint64_t flow, cycles;
  } turn[4];
};
static_assert(sizeof(InstrCubeRecord) == 96);
struct InstrVectorRecord {
  uint8_t reserved[32];
  InstrCycles cycles;
};
static_assert(sizeof(InstrVectorRecord) == 64);

// The same of a 950: events of a core. `control` bits 12–15 say what: 14 one of four records that make a
// stamp, with 16 bits in `data`, lowest first; 15 that bits 0–6 say which pipes are busy from now on; else a
// pipe's check point. `data` of these: core clocks since the record before.
struct BiuRecord {
  uint16_t data;
  uint16_t control;
};
static_assert(sizeof(BiuRecord) == 4);
inline constexpr uint16_t kBiuStamp = 14, kBiuState = 15;

// Collective units (CCU): an instruction, and the notifications that another one waited for meanwhile
// (channels 147 and 149); bandwidth of their channels (148 and 151).
struct CcuMissionRecord {
  uint16_t notify_ended[16];  // since `notify_ticks`, in kCcuTicksOfNotify; 0: was not waited for
  uint64_t notify_ticks;      // T3; 0: nothing was waited for
  uint16_t notify_instruction;
  uint64_t end_ticks, start_ticks;
  uint16_t instruction;
  uint16_t stream, task;  // the task's id is task << 16 | stream
};
static_assert(sizeof(CcuMissionRecord) == 64);
inline constexpr uint64_t kCcuTicksOfNotify = 4;
// Of each channel five words, at CcuWordsOf(): ticks (T3), low and high; average, least and most ticks that a
// packet of 4 KiB took.
struct CcuChannelRecord {
  uint32_t value[704];
};
inline constexpr size_t kCcuChannels = 128;
constexpr size_t CcuWordsOf(size_t channel) {
  constexpr size_t kWords = 5, kOfTwelve = 12 * kWords + 4;  // every twelfth is followed by four of others
  if (channel < 120) return channel / 12 * kOfTwelve + channel % 12 * kWords;
  // The last eight are two groups of four, the first of each behind six words of others.
  const size_t group = 10 * kOfTwelve + (channel - 120) / 4 * 32;
  const size_t place = channel % 4;
  return group + (place == 0 ? 6 : 6 + place * kWords);
}
static_assert(sizeof(CcuChannelRecord) == 2816);

// Frequency, temperature and power of a die of the 950 inside channel 52. The halves of each pair are
// exchanged: value n lies at info[n ^ 1].
struct StarsLowPowerRecord {
  StarsHeader head;
  uint64_t reserved;
  uint16_t info[20];
};
inline constexpr size_t kLowPowerAicMhz = 10;  // the value's number; of dies 0 and 1 only
static_assert(sizeof(StarsLowPowerRecord) == 64);
struct StarsSioRecord950 {  // the die lies in bits 2–7 of the second header byte
  StarsHeader head;
  uint64_t reserved0;
  uint32_t value[10];  // [1]–[4] received req rsp snp dat, [6]–[9] sent
};
static_assert(sizeof(StarsSioRecord950) == 64);
struct StarsChipTransRecord950 {
  StarsHeader head;
  uint64_t write;
  uint64_t read;
  uint32_t reserved[8];
};
static_assert(sizeof(StarsChipTransRecord950) == 64);

// Packet of the device-side process (channel 145): a file's chunk on its way to the host.
inline constexpr uint32_t kAdprofMagic = 0x5A5A5A5A, kAdprofVersion = 0x100;
struct AdprofPacket {
  uint32_t magic;
  uint32_t version;  // 0x100
  uint32_t type;     // 1
  uint32_t length;   // of what follows
  uint8_t is_last;
  uint8_t reserved[3];
  int32_t module;
  uint64_t chunk_size;
  int64_t offset;  // -1 appends
  char chunk[1032];
  char file_name[64];
  char extra_info[64];
  char id[16];
};
static_assert(sizeof(AdprofPacket) == 1216);

#pragma pack(pop)

}  // namespace profd::format
