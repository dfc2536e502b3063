// Record layouts of the device channels, as the driver delivers them and as they lie in the slices:
// little-endian, packed. Source of every fact: the public analyser's data_struct_size_constant.py and the
// parser of the kind, as restated in docs/formats.md. Clock domains: T1 = µs since the channel's start, T2 =
// device monotonic raw ns, T3 = device counter ticks, T4 = host counter (or host raw ns).
#pragma once

#include <cstdint>

namespace profd::format {

#pragma pack(push, 1)

// HBM (channel 1, hbm.data). Ids 0..3, read and write, one common stamp per period.
struct HbmRecord {
  uint64_t time_us;  // T1
  uint64_t count;    // of this period, unit 32 bytes
  uint32_t event;    // 0 read, else write
  uint32_t hbm_id;
};
static_assert(sizeof(HbmRecord) == 24);
struct HbmRecordV2 {  // info.json "version": "2.0"
  uint32_t reserved[2];
  uint32_t event;
  uint32_t hbm_id;
  uint64_t count;
  uint64_t wall_ns;
};
static_assert(sizeof(HbmRecordV2) == 32);

// DDR (channel 7, ddr.data). 32-bit stamps wrap after 71.6 minutes.
struct DdrRecord {
  uint32_t time_us;  // T1
  uint32_t count;    // of this period, unit 32 bytes on chips 1–4, 16 bytes else
  uint32_t event;    // 0 read, else write
  uint32_t controller;
  uint32_t master;  // 0xFFFFFFFF = all
};
static_assert(sizeof(DdrRecord) == 20);

// LLC (channel 8, llc.data). One record per event slot 0..7, cache id and period.
struct LlcRecord {
  uint64_t time_us;  // T1
  uint64_t count;    // of this period
  uint32_t event;    // the slot's event number, see LlcReadEvents
  uint32_t llc_id;
};
static_assert(sizeof(LlcRecord) == 24);
struct LlcRecordV2 {
  uint32_t reserved;
  uint32_t count;
  uint32_t event;
  uint32_t llc_id;
  uint64_t wall_ns;
};
static_assert(sizeof(LlcRecordV2) == 24);

// PCIe (channel 3, pcie.data). Bandwidth in bytes/µs, latency in ns; min 0xFFFFF means "no value".
struct PcieTriple {
  uint32_t min, max, avg;
};
struct PcieRecord {
  uint64_t time_ns;  // T2
  uint32_t device;
  PcieTriple tx_posted, tx_nonposted, tx_completion, tx_nonposted_latency;
  PcieTriple rx_posted, rx_nonposted, rx_completion;
};
static_assert(sizeof(PcieRecord) == 96);

// NPU memory (channels 130 npu_mem.app, 131 npu_mem.data), record version 1.
struct NpuMemRecord {
  uint32_t time_us;  // T1, wraps after 71.6 minutes
  uint32_t event;    // 0 app, 1 device
  uint64_t reserved;
  uint64_t ddr_bytes;
  uint64_t hbm_bytes;
};
static_assert(sizeof(NpuMemRecord) == 32);
struct NpuMemRecordV2 {
  uint32_t reserved;
  uint32_t event;
  uint64_t time_us;  // T1
  uint64_t ddr_bytes;
  uint64_t hbm_bytes;
};
static_assert(sizeof(NpuMemRecordV2) == 32);

// Module memory (channel 142, npu_module_mem.data).
struct NpuModuleMemRecord {
  uint32_t module;
  uint32_t memory_type;
  uint64_t time;  // T4: host counter, or host raw ns when the start payload asked for that
  uint64_t bytes;
};
static_assert(sizeof(NpuModuleMemRecord) == 24);

// QoS (channel 133, qos.data).
struct QosRecord {
  uint32_t reserved[2];
  uint64_t reserved_time;
  uint64_t ticks;  // T3
  uint32_t bandwidth_mb_s[10];
};
static_assert(sizeof(QosRecord) == 64);

// UB port (channel 146, ub.data).
struct UbRecord {
  uint16_t magic;  // what it is nobody says
  uint16_t reserved0;
  uint16_t port;
  uint16_t reserved1;
  uint64_t time_us;  // T1
  uint64_t rx_mb_s;
  uint64_t tx_mb_s;
  uint64_t other[12];
};
static_assert(sizeof(UbRecord) == 128);

// Frequency and voltage changes (channel 132; lpmFreqConv.data, on 910B lpmInfoConv.data).
struct LowPowerSample {
  uint64_t ticks;  // T3
  uint32_t value;  // MHz or mV
  uint32_t reserved;
};
struct LowPowerRecord {
  uint32_t count;  // valid entries, ≤ 55
  uint32_t type;   // lpmInfoConv: 0 AI core MHz, 1 core voltage, 2 bus voltage
  LowPowerSample sample[55];
};
static_assert(sizeof(LowPowerRecord) == 888);

// On-chip sampling (channel 52, stars_soc_profile.data): 64 bytes, typed by the low 6 bits of `header`.
inline constexpr uint16_t kStarsMagic = 0x6BD3;
enum class StarsType : uint16_t {
  kQos = 0b011000,
  kSio = 0b011001,
  kAccPmu = 0b011010,
  kChipTrans = 0b011011,
  kSocInfo = 0b011100,
  kLowPower = 0b011101,
};
struct StarsHeader {
  uint16_t header;  // bits 0–5 type, 6–9 count, 10–15 kind or die
  uint16_t magic;
  uint32_t reserved;
  uint64_t ticks;  // T3
};
static_assert(sizeof(StarsHeader) == 16);
struct StarsSioRecord {  // kSio, all chips but 950
  StarsHeader head;
  uint16_t reserved0;
  uint16_t die;
  uint32_t reserved1[3];
  uint32_t rx_req, rx_rsp, rx_snp, rx_dat;  // bytes of the period
  uint32_t tx_req, tx_rsp, tx_snp, tx_dat;
};
static_assert(sizeof(StarsSioRecord) == 64);
struct StarsAccPmuRecord {
  StarsHeader head;
  uint16_t reserved0;
  uint16_t unit;
  uint32_t reserved1[3];
  uint64_t write_bandwidth, read_bandwidth, write_outstanding, read_outstanding;
};
static_assert(sizeof(StarsAccPmuRecord) == 64);
struct StarsChipTransRecord {  // header bits 10–15: 0b111111 inter-chip link, 0b100010 PCIe
  StarsHeader head;
  uint16_t reserved0;
  uint16_t link;
  uint32_t reserved1[3];
  uint64_t rx_or_write;
  uint64_t tx_or_read;
  uint64_t reserved2[2];
};
static_assert(sizeof(StarsChipTransRecord) == 64);
struct StarsQosRecord {  // 950: die id in header bits 10–15
  StarsHeader head;
  uint64_t reserved0;
  uint32_t reserved1[2];  // where QosRecord has two streams more
  uint32_t bandwidth_mb_s[8];
};
static_assert(sizeof(StarsQosRecord) == 64);
struct StarsSocInfoRecord {
  StarsHeader head;
  uint32_t reserved0[4];
  uint16_t levels;  // bits 0–2 L2 buffer, 3–10 MATA
  uint16_t reserved1;
  uint32_t reserved2[7];
};
static_assert(sizeof(StarsSocInfoRecord) == 64);

// TS CPU sample (channel 10, tscpu.data).
inline constexpr uint32_t kTsCpuMagic = 0xABABABAB;
struct TsCpuCounter {
  uint64_t event;
  uint64_t count;
};
struct TsCpuRecord {
  uint32_t magic;
  uint32_t reserved0;
  uint64_t back_trace[20];  // (frame, link register) pairs, 0 ends
  uint32_t reserved1[2];
  uint64_t pc;
  uint64_t ticks;  // T3
  TsCpuCounter counter[7];
};
static_assert(sizeof(TsCpuRecord) == 304);

// Core counters, sample based: aicore.data and aiVectorCore.data on chips 0–4, ffts_profile.data on the
// others.
struct CoreSampleRecord {
  uint8_t mode;  // never 0: a 0 ends the file for the vendor's reader
  uint8_t reserved0;
  uint16_t reserved1[3];
  uint64_t event[8];
  uint64_t cycles;
  uint64_t time_ns;  // T2
  uint8_t counters;
  uint8_t core;  // which of them are vector cores: format/decode/device/cores.cc
  uint8_t reserved2[6];
};
static_assert(sizeof(CoreSampleRecord) == 96);
struct CoreSampleRecord950 {
  uint8_t mode;
  uint8_t reserved0;
  uint16_t reserved1[3];
  uint64_t event[10];
  uint64_t cycles;
  uint64_t ticks;  // T3
  uint8_t counters;
  uint8_t core;
  uint8_t reserved2[6];
};
static_assert(sizeof(CoreSampleRecord950) == 112);

// What AI CPUs report (channels 143/144, aicpu.data). Source: MsprofAdditionalInfo of hicann/runtime,
// pkg_inc/profiling/aprof_pub.h.
inline constexpr uint16_t kReportMagic = 0x5A5A;
inline constexpr uint16_t kAiCpuLevel = 6000;
enum class AiCpuReport : uint32_t {
  kKernel = 0,
  kQueue = 1,       // something was taken out of a queue of data
  kWait = 3,        // MindSpore waited for its next data
  kCommOp = 10,     // a collective
  kCommEdge = 12,   // its first or last task
  kCommParts = 13,  // what its tasks are
};
constexpr bool IsOfCollective(AiCpuReport type) {
  return type == AiCpuReport::kCommOp || type == AiCpuReport::kCommEdge || type == AiCpuReport::kCommParts;
}
struct AiCpuRecord {
  uint16_t magic;
  uint16_t level;
  uint32_t type;
  uint32_t thread;
  uint32_t data_len;
  uint64_t ticks;  // T3
  uint8_t data[232];
};
static_assert(sizeof(AiCpuRecord) == 256);

// The data of one, of a kernel that has run. Ticks are T3, the times its CPU's own clock. Source:
// MsprofAicpuNodeAdditionalData of hicann/runtime, pkg_inc/profiling/prof_common.h; who fills it in:
// src/aicpu_sched/aicpu_prof/profiling_adp.cc.
struct AiCpuKernel {
  uint16_t stream, task;
  uint32_t reserved1;
  uint64_t begin_us, begin_ticks;
  uint64_t compute_us, copy_us, copied_us;  // when it began to compute, to copy, and had copied
  uint64_t end_us, end_ticks;
  uint32_t thread, device;
  uint64_t submit_ticks, schedule_ticks, before_ticks, after_ticks;  // handed to its CPU; around the run
  uint32_t kernel_type, dispatch_us, total_us;                       // since it was handed to its CPU
  uint16_t sub_thread;
  uint8_t version;
  uint8_t reserved2[9];
};
static_assert(sizeof(AiCpuKernel) == 128 && sizeof(AiCpuKernel) <= sizeof(AiCpuRecord::data));

// The data of one of a queue. Source: MsprofAicpuDpAdditionalData and MsprofAicpuMiAdditionalData of the same
// header; who fills them in: BuildProfDpAdditionalData, BuildProfMiAdditionalData of profiling_adp.cc.
struct AiCpuQueue {
  char action[16], source[64];
  uint64_t index;
  uint64_t size;
};
static_assert(sizeof(AiCpuQueue) == 96);
struct AiCpuWait {
  static constexpr uint32_t kGetNext = 1;
  uint32_t node;
  uint32_t reserved;
  uint64_t queue_size;
  uint64_t begin_us, end_us;  // of the framework's own clock
};
static_assert(sizeof(AiCpuWait) == 32);

// What older drivers bring instead, in files of their own (DATA_PREPROCESS.AICPU, DATA_PREPROCESS.DP).
// Source: MsprofAicpuProfData, MsprofDpProfData of the same header.
struct AiCpuKernelMessage {
  static constexpr uint16_t kTag = 60;
  uint16_t magic, tag;
  uint16_t stream, task;
  uint8_t rest[120];  // as behind the ids of AiCpuKernel
};
static_assert(sizeof(AiCpuKernelMessage) == sizeof(AiCpuKernel));
struct AiCpuQueueMessage {
  static constexpr uint16_t kTag = 100;
  uint16_t magic, tag;
  uint32_t reserved1;
  uint64_t ns;  // T2
  AiCpuQueue queue;
  uint64_t reserved2[2];
};
static_assert(sizeof(AiCpuQueueMessage) == 128);

// The data of one of a collective that the kernel carries out; stream and task are the kernel's. Source:
// MsprofAicpuHCCLOPInfo, MsprofAicpuHcclMainStreamTask and MsprofAicpuHcclTaskInfo of the same header.
struct AiCpuCommOp {
  uint8_t flags;  // 1: relay, 2: retry
  uint8_t data_type;
  uint64_t algorithm;  // hash_dic
  uint64_t count;
  uint64_t group;  // hash_dic
  uint32_t rank_size;
  uint16_t stream;
  uint32_t task;
};
static_assert(sizeof(AiCpuCommOp) == 36);

// One of its tasks on its main stream.
struct AiCpuCommEdge {
  uint16_t kernel_stream, kernel_task;
  uint16_t stream, task;
  uint16_t is_last;  // 0: the first one
};
static_assert(sizeof(AiCpuCommEdge) == 10);

struct AiCpuCommPart {
  uint64_t name;  // hash_dic
  uint64_t tag;
  uint64_t group;  // hash_dic; 0: the record has one part only
  uint32_t local_rank, remote_rank, rank_size;
  uint32_t stage;
  uint64_t notify;
  uint64_t ticks;  // T3
  double estimated_us;
  uint64_t source, destination;
  uint64_t bytes;
  uint32_t task;
  uint32_t reserved1;
  uint16_t stream;
  uint16_t plane;
  uint8_t reduces, data_type, link, transport, rdma;  // comm_words.h
  uint8_t role, work_flow;
  uint8_t reserved2[9];
};
static_assert(sizeof(AiCpuCommPart) * 2 == sizeof(AiCpuRecord::data));

#pragma pack(pop)

// Event numbers of the eight LLC slots, in slot order. Hit rate = (e2+e3+e5+e7)/(e4+e6); throughput counts
// e0+e1.
inline constexpr uint32_t kLlcReadEvents[8] = {0x00, 0x01, 0x02, 0x13, 0x20, 0x22, 0x34, 0x36};
inline constexpr uint32_t kLlcWriteEvents[8] = {0x00, 0x01, 0x03, 0x14, 0x21, 0x23, 0x35, 0x37};

// Text kinds: header lines (time is "<seconds>:<nanoseconds, 9 digits>", T2) and the tokens that mark them.
inline constexpr char kHccsHeader[] = "time_stamp(s):time_stamp(ns) send_amount receive_amount\n";
inline constexpr char kNetHeader[] =
    "time_stamp(s):time_stamp(ns) bandwidth(Mb/s) rxPacket/s rxByte/s rxPackets rxBytes rxErrors rxDropped "
    "txPacket/s txByte/s txPackets txBytes txErrors txDropped funcId\n";
inline constexpr char kDvppHeader[] =
    "time_stamp(s):time_stamp(ns) dvpp_id engine_type engine_id all_time all_frame all_utilization proc_time "
    "proc_frame proc_utilization last_time last_frame\n";
// 310P and the first chips without a dvpp_id column (prof-format: chips 1, 5, 7, 8, 11, 15, 16 have it).
inline constexpr char kDvppHeaderNoId[] =
    "time_stamp(s):time_stamp(ns) engine_type engine_id all_time all_frame all_utilization proc_time "
    "proc_frame "
    "proc_utilization last_time last_frame\n";

// Engine numbers of the DVPP text records, and of channels 135…141 in channel order.
enum class DvppEngine : int { kVdec = 0, kJpegd = 1, kPngd = 2, kJpege = 3, kVpc = 4, kVenc = 5, kScd = 6 };

}  // namespace profd::format
