// The interface of libmspti.so and libprofapi.so as far as it is simulated: codes, kinds and packed records.
#pragma once

#include <cstddef>
#include <cstdint>

namespace profd::sim::mspti {

enum Result : int {
  kSuccess = 0,
  kInvalid = 1,
  kMultipleSubscribers = 2,
  kMaxLimit = 3,  // the end of a buffer
  kQueueEmpty = 5,
  kWithoutPreload = 6,
  kInner = 999
};

enum Kind : uint32_t {
  kMarker = 1,
  kKernel = 2,
  kApi = 3,
  kHccl = 4,
  kMemory = 5,
  kMemset = 6,
  kMemcpy = 7,
  kExternalCorrelation = 8,
  kCommunication = 9,
  kAclApi = 10,
  kNodeApi = 11,
  kRuntimeApi = 12,
  kKinds = 13,
  kUnknownKind = 13  // of a library younger than its readers
};
inline constexpr uint32_t kOldKinds = 10;

inline constexpr uint32_t kNoStream = 0xFFFFFFFF;

// Packed, then rounded up to 8 bytes: times lie at odd multiples of 4. The rest at the end is never written.
#pragma pack(push, 4)
struct MarkerRecord {
  uint32_t kind, flag, source_kind;
  uint64_t timestamp, id;
  uint32_t first_id, second_id;  // host: process, thread; device: device, stream
  const char *name, *domain;
  uint32_t padding;
};
struct ApiRecord {
  uint32_t kind;
  uint64_t start, end;
  uint32_t process, thread;
  uint64_t correlation;
  const char* name;
  uint32_t padding;
};
struct KernelRecord {
  uint32_t kind;
  uint64_t start, end;
  uint32_t device, stream;
  uint64_t correlation;
  const char *type, *name;
  uint32_t padding;
};
struct HcclRecord {
  uint32_t kind;
  uint64_t start, end;
  uint32_t device, stream;
  double bandwidth;
  const char *name, *comm;
  uint32_t padding;
};
struct MemoryRecord {
  uint32_t kind, op, memory_kind;
  uint64_t correlation, start, end, address, bytes;
  uint32_t process, device, stream;
};
struct MemsetRecord {
  uint32_t kind, value;
  uint64_t bytes, start, end;
  uint32_t device, stream;
  uint64_t correlation;
  uint8_t is_async, padding[7];
};
struct MemcpyRecord {
  uint32_t kind, copy_kind;
  uint64_t bytes, start, end;
  uint32_t device, stream;
  uint64_t correlation;
  uint8_t is_async, padding[7];
};
struct ExternalCorrelationRecord {
  uint32_t kind, external_kind;
  uint64_t external_id, correlation;
};
struct CommunicationRecord {
  uint32_t kind, data_type;
  uint64_t count;
  uint32_t device, stream;
  uint64_t start, end;
  const char *alg, *name, *comm;
  uint64_t correlation;
};
#pragma pack(pop)
static_assert(sizeof(MarkerRecord) == 56 && offsetof(MarkerRecord, timestamp) == 12);
static_assert(sizeof(ApiRecord) == 48 && offsetof(ApiRecord, name) == 36);
static_assert(sizeof(KernelRecord) == 56 && offsetof(KernelRecord, correlation) == 28);
static_assert(sizeof(HcclRecord) == 56 && offsetof(HcclRecord, name) == 36);
static_assert(sizeof(MemoryRecord) == 64 && offsetof(MemoryRecord, correlation) == 12);
static_assert(sizeof(MemsetRecord) == 56 && offsetof(MemsetRecord, correlation) == 40);
static_assert(sizeof(MemcpyRecord) == 56 && offsetof(MemcpyRecord, is_async) == 48);
static_assert(sizeof(ExternalCorrelationRecord) == 24);
static_assert(sizeof(CommunicationRecord) == 72 && offsetof(CommunicationRecord, correlation) == 64);

enum MarkerFlag : uint32_t { kInstant = 1, kStart = 2, kEnd = 4, kDeviceShift = 3 };  // device flags: << 3

using Subscriber = void*;
using RequestFn = void (*)(uint8_t** buffer, size_t* size, size_t* max_records);
using CompleteFn = void (*)(uint8_t* buffer, size_t size, size_t valid);

enum Domain : uint32_t { kRuntimeDomain = 1, kHcclDomain = 2 };
inline constexpr uint32_t kCallbacks = 64;
inline constexpr uint32_t kLaunchKernel = 10, kAllReduce = 1;
struct CallbackData {
  int32_t site;  // 0 enter, 1 exit
  const char* function;
  const void* params;
  const void* return_value;
  const char* symbol;
  uint64_t correlation, reserved[2];
  uint64_t* correlation_data;
};
static_assert(sizeof(CallbackData) == 72);
using CallbackFn = void (*)(void* user, uint32_t domain, uint32_t callback, const CallbackData* data);

// libprofapi.so
enum ProfileCallback : int {
  kCompact = 4,
  kAdditional = 5,
  kApiReport = 9,
  kEventReport = 10,
  kTypeName = 11,
  kHashId = 12,
  kHostFrequency = 13,
  kDeviceState = 16,
  kProfileCallbacks = 17
};
struct DeviceState {
  uint32_t chip, device;
  uint32_t open;
};
static_assert(sizeof(DeviceState) == 12);
using DeviceStateFn = int (*)(const DeviceState* state, uint32_t bytes);

// A module's report of the tensors of an operator that it launches.
struct TensorReport {
  uint16_t magic, level;
  uint32_t type, thread, bytes;
  uint64_t stamp;  // when the launch began
#pragma pack(push, 4)
  uint64_t op_name;
  uint32_t count;
  struct {
    uint32_t is_output, format, data_type, shape[8];
  } tensor[5];
#pragma pack(pop)
};
static_assert(sizeof(TensorReport) == 256 && offsetof(TensorReport, tensor) == 36);
inline constexpr uint64_t kTaskTimeL1 = 0x2;  // a switch: operators with what they work on

inline constexpr uint32_t kCommandBytes = 5424;
struct Command {
  uint64_t switches, switches_high;
  uint32_t device_count, devices[64];
  uint32_t model, type, cache;
  char params[kCommandBytes - 288];
};
static_assert(sizeof(Command) == kCommandBytes && offsetof(Command, params) == 288);

// mstx
using Function = void (*)();
using GetMstxTable = int (*)(int module, Function*** table, unsigned* size);
using InitMstxFn = int (*)(GetMstxTable get_table);
enum MstxModule : int { kCore = 1, kCoreDomain = 2 };
enum MstxOwner : int { kMsprofOwner = 1, kMsptiOwner = 2 };

}  // namespace profd::sim::mspti
