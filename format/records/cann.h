// Records of what a process's CANN layers report (host/data, *.api_event.data, *.compact.*, *.additional.*):
// little-endian, packed. Source: the public profiling header (aprof_pub.h) and the public analyser's
// data_struct_size_constant.py and csrc/infrastructure/utils/prof_common.h; the golden directory holds the
// first three kinds.
#pragma once

#include <cstdint>

namespace profd::format {

inline constexpr uint16_t kCannMagic = 0x5A5A;

// Which layer a record is of.
enum class CannLevel : uint16_t {
  kRuntime = 5000,
  kCommunication = 5500,
  kNode = 10000,
  kModel = 15000,
  kAcl = 20000
};

#pragma pack(push, 1)

inline constexpr uint64_t kCannEvent = UINT64_MAX;
struct CannApiRecord {
  uint16_t magic;
  uint16_t level;
  uint32_t type;  // type_info_dic
  uint32_t thread;
  uint32_t request;
  uint64_t begin;  // T4; of an event: when it was
  uint64_t end;    // kCannEvent: an event, the begin or the end of something
  uint64_t item;   // hash_dic, or a number
};
static_assert(sizeof(CannApiRecord) == 40);

struct CannHead {
  uint16_t magic;
  uint16_t level;
  uint32_t type;
  uint32_t thread;
  uint32_t bytes;  // of what follows
  uint64_t stamp;  // T4
};
static_assert(sizeof(CannHead) == 24);

// A task that was given to a device.
struct CannTaskTrack {
  CannHead head;
  uint16_t device;
  uint16_t stream;
  uint16_t task;
  uint16_t batch;
  uint64_t task_type;  // type_info_dic, level 5000
  uint64_t kernel;     // hash_dic
  // Of a kernel, since a later CANN: 0 if nobody told. Of one of threads (KERNEL_SIMT) something else is
  // here.
  uint16_t blocks;
  uint16_t argument_bytes;
  uint8_t mix;  // low 3 bits: factor of the mixed blocks
  uint8_t reserved[11];
};
static_assert(sizeof(CannTaskTrack) == 64);

// What a call of the runtime copies, as one task or several: their tracks have its thread and stamp
// (memcpy_info).
struct CannCopy {
  CannHead head;
  uint64_t bytes;
  uint64_t most_bytes;  // of one task
  uint16_t operation;   // comm_words.h
  uint8_t reserved[22];
};
static_assert(sizeof(CannCopy) == 64);

// What operator a call of the node level launched.
struct CannNodeInfo {
  CannHead head;
  uint64_t op_name;    // hash_dic
  uint32_t task_type;  // GeTaskTypeName()
  uint64_t op_type;    // hash_dic
  uint32_t blocks;     // low 16 bits: block number, high: factor of the mixed blocks
  uint32_t flags;      // 1: HF32
  uint8_t reserved[12];
};
static_assert(sizeof(CannNodeInfo) == 64);

// Tensors of an operator; five a record, more come in another one.
struct CannTensor {
  uint32_t is_output;
  uint32_t format;
  uint32_t data_type;
  uint32_t shape[8];  // 0 ends
};
struct CannTensorInfo {
  CannHead head;
  uint64_t op_name;
  uint32_t count;
  CannTensor tensor[5];
};
static_assert(sizeof(CannTensorInfo) == 256);

// The operator of a task that was captured into a graph (capture_op_info). Its tensors follow: in the file
// `additional` there is room for three in 256 bytes, in the file `variable` for as many as it has.
// Source: the analyser's RUNTIME_OP_INFO_FMT and runtime_op_info_parser.py.
struct CannCapturedOp {
  static constexpr uint32_t kBytes = 64;  // head.bytes without the tensors
  CannHead head;
  uint32_t model;
  uint32_t device;
  uint32_t stream;
  uint32_t task;
  uint32_t task_type;   // GeTaskTypeName()
  uint32_t blocks;      // as CannNodeInfo's
  uint64_t op_name;     // hash_dic
  uint64_t op_type;     // hash_dic
  uint64_t attributes;  // hash_dic; 0: none
  uint64_t reserved;
  uint32_t flags;  // 1: HF32
  uint32_t count;
};
static_assert(sizeof(CannCapturedOp) == 88);
struct CannCapturedOpOf3 {
  CannCapturedOp op;
  CannTensor tensor[3];
  uint8_t reserved[36];
};
static_assert(sizeof(CannCapturedOpOf3) == 256);

// A stream of a graph: what is given to it from now on is captured, or the graph is no more
// (capture_stream_info).
struct CannCapture {
  CannHead head;
  uint16_t ended;
  uint16_t stream;  // the graph's; of an end 65535
  uint16_t original_stream;
  uint16_t model;  // the runtime's number of the graph
  uint16_t device;
  uint8_t reserved[30];
};
static_assert(sizeof(CannCapture) == 64);

// A part of a collective: what the communication library gave to a stream (hccl_info).
struct CannCommPart {
  CannHead head;
  uint64_t name;  // hash_dic
  uint64_t tag;
  uint64_t group;  // hash_dic
  uint32_t local_rank, remote_rank, rank_size;
  uint32_t work_flow;
  uint32_t plane;
  uint32_t context;  // sub task, or UINT32_MAX
  uint64_t notify;
  uint32_t stage, role;
  double estimated_us;
  uint64_t source, destination;
  uint64_t bytes;
  uint32_t reduces, data_type, link, transport, rdma;  // comm_words.h
  uint8_t reserved[116];
};
static_assert(sizeof(CannCommPart) == 256);

// What a call of the node level asked the communication library for (hccl_op_info).
struct CannCommOp {
  CannHead head;
  uint8_t flags;  // 1: relay, 2: retry
  uint8_t data_type;
  uint64_t algorithm;  // hash_dic
  uint64_t count;
  uint64_t group;  // hash_dic
  uint8_t reserved[14];
};
static_assert(sizeof(CannCommOp) == 64);

// The streams of a group whose collectives AI CPUs carry out (mc2_comm_info). Source:
// ProfilingDeviceCommResInfo of hicann/runtime, pkg_inc/profiling/prof_common.h.
struct CannCommStreams {
  static constexpr uint32_t kMost = 8;
  CannHead head;
  uint64_t group;  // hash_dic
  uint32_t rank_size, rank, job_rank;
  uint32_t kernels;  // where the kernels are launched
  uint32_t count;
  uint32_t streams[kMost];  // what the kernels work with
  uint8_t reserved[172];
};
static_assert(sizeof(CannCommStreams) == 256);

// A range or a mark of the program (msproftx). Source of the fields: MSPROFTX_FMT, msproftx_decoder.py.
struct CannMarker {
  enum Source : uint16_t { kAcl, kMstx };
  enum Event : uint32_t { kMark, kPushPop, kStartEnd, kMarkOnStream };
  CannHead head;
  uint16_t source;
  uint16_t piece;  // of a text that several records have, from 0
  uint32_t unused[2];
  uint32_t process, thread;
  uint32_t category;
  uint32_t event;
  uint32_t payload_type;
  uint64_t payload;
  uint64_t begin, end;  // T4
  uint64_t number;      // of one of mstx
  uint64_t domain;      // hash_dic
  uint32_t text_type;
  char text[156];
};
static_assert(sizeof(CannMarker) == 256);

// What a framework calls an operator's attributes (node_attr_info).
struct CannNodeAttributes {
  CannHead head;
  uint64_t op_name;  // hash_dic
  uint32_t unused;
  uint64_t attributes;  // hash_dic
  uint32_t reserved[5];
};
static_assert(sizeof(CannNodeAttributes) == 64);

// What an operator took of a device's memory, or gave back (task_memory_info).
struct CannMemory {
  CannHead head;
  uint64_t address;
  int64_t size;        // negative: given back
  uint64_t op_name;    // hash_dic
  uint64_t allocated;  // in all, after it
  uint64_t reserved;
  uint32_t device;
  uint32_t device_type;
  uint8_t unused[184];
};
static_assert(sizeof(CannMemory) == 256);

// An operator that was made of several of a model's (fusion_op_info).
struct CannFusedOp {
  static constexpr uint32_t kMostParts = 8;
  CannHead head;
  uint64_t op_name;  // hash_dic
  uint32_t count;
  uint64_t input_bytes, output_bytes, weight_bytes, workspace_bytes, total_bytes;
  uint64_t parts[kMostParts];  // hash_dic
  uint8_t reserved[116];
};
static_assert(sizeof(CannFusedOp) == 256);

// Whether devices have more streams than 2048 (expand_stream_spec); the runtime says it once in each
// collection. Source: MsprofStreamExpandSpecInfo of aprof_pub.h.
struct CannStreamSpec {
  CannHead head;
  uint8_t expanded;
  uint8_t reserved[39];
};
static_assert(sizeof(CannStreamSpec) == 64);

// What an operator of a graph needs of a device's memory (static_op_mem). Source: MsprofStaticOpMem of
// hicann/runtime, pkg_inc/profiling/prof_common.h.
struct CannStaticMemory {
  static constexpr uint64_t kToTheEnd = 0xFFFFFFFE;
  CannHead head;
  int64_t size;
  uint64_t op_name;      // hash_dic; 0: of the whole graph
  uint64_t first, last;  // operators by their numbers; kToTheEnd: to the end
  uint64_t total;
  uint64_t model;  // hash_dic; 0: none
  uint32_t graph;
  uint8_t reserved[180];
};
static_assert(sizeof(CannStaticMemory) == 256);

// Streams that are one to the framework (logic_stream_info). Source: MsprofLogicStreamInfo of the same
// header.
struct CannLogicStream {
  static constexpr uint32_t kMost = 56;
  CannHead head;
  uint32_t logic;
  uint32_t count;
  uint32_t streams[kMost];
};
static_assert(sizeof(CannLogicStream) == 256);

// What a model is called (graph_id_map).
struct CannModel {
  CannHead head;
  uint64_t name;  // hash_dic; 0: none
  uint32_t graph;
  uint32_t model;
  uint8_t reserved[216];
};
static_assert(sizeof(CannModel) == 256);

// Which sub tasks of a launch are an operator's (context_id_info); of a part of a collective the first and
// the last one.
struct CannContexts {
  static constexpr uint32_t kMost = 55;
  CannHead head;
  uint64_t op_name;  // hash_dic
  uint32_t count;
  uint32_t contexts[kMost];
};
static_assert(sizeof(CannContexts) == 256);

#pragma pack(pop)

}  // namespace profd::format
