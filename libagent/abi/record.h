/* The records in a lane: what one thread of a workload says, 32 bytes at a time.
 *
 * A record is one slot, followed by `more` value slots that carry its key-value payload. Every slot, of
 * either kind, starts with a stamp and a kind, so a reader that joins in the middle recognises the next whole
 * record. Slots of zeros (a hole punched into the mapping) have kind 0 and are invalid. Stamps are ticks of
 * the process's counter (lane.h, LaneClock). Names are references into the region's name table (lane.h,
 * NameEntry); 0 is "no name". Little-endian, C11 and C++20.
 */
#ifndef PROFD_LIBAGENT_ABI_RECORD_H_
#define PROFD_LIBAGENT_ABI_RECORD_H_

#include <assert.h>
#include <stdint.h>

#ifdef __cplusplus
namespace profd::abi {
#endif

enum {
  kRecordBytes = 32,
  kMaxValues = 32,
  kMaxRecordSlots = 1 + kMaxValues,
  kTextBytes = 16,
  kTextGoesOn = 0x80
};

/* What `value`, `category` and `detail` of a record mean by its kind; unlisted words are 0. */
enum RecordKind {
  kMark = 1,       /* value: payload bits, detail: its ValueType; category */
  kRangePush = 2,  /* detail: 0-based depth of the range in this thread and domain; category */
  kRangePop = 3,   /* detail: depth of the range that ends */
  kRangeStart = 4, /* value: id, unique in the process until the range ends; category */
  kRangeEnd = 5,   /* value: id; written by whichever thread ends the range */
  kCounter = 6,    /* value: the sample, detail: its ValueType (kI64 or kF64); category */
  kStepBegin = 7,  /* value: number of the step */
  kStepEnd = 8,    /* value: number of the step */

  /* What the device runtime reports of the process, later than it happened: the stamp says when it was
     reported, the first value slot (kTimes) when it began and ended. */
  kKernel = 0x10, /* value: correlation id, category: device, detail: stream */
  kComm = 0x11,   /* as kKernel */
  kApi = 0x12,    /* value: correlation id, detail: thread */
  kMemory = 0x13, /* as kKernel: copy, set, allocation, release */
  /* Half of a mark or a range on a stream. value: the vendor's id, which of a range is that of its
     kRangeStart; category: device, 0xFFFFFFFF: where the program made it; detail: stream, or thread; name of
     a mark, where it was made; the value `flag`: 1 mark, 2 begin, 4 end of a range. Both times are the same.
   */
  kDeviceMark = 0x14,
  /* What an operator works on, as the module that launches it says at once, in the thread that does. value:
     number of the operator's name (format::CannHash), category: thread, detail: tensors. Values: the module's
     own stamp (kU64), the same in all records of one operator, then the tensors (kBytes). Describes what
     other records count, and counts neither as emitted nor as lost. */
  kTensors = 0x15,
  /* What a module of CANN reports through libprofapi.so, at once and in the thread that does. domain: its
     level, name: its type. Values: kBytes, whose keys are ReportFlag.
     A call or an event: value: thread and request, as they lie there, category and detail: its item; then its
     two times. Else: value: its stamp, category: thread, detail: the length it says; then its data, without
     the zeros at their end. */
  kReport = 0x16,

  kValue = 0x40, /* a ValueSlot, never the first slot of a record */

  /* Written by the agent itself; they count neither as emitted nor as lost. */
  kThread = 0x80, /* value: thread id (innermost pid namespace); who wrote what follows */
  kLost = 0x81    /* stamp: first loss, value: records lost, name+detail unused, last_stamp: last loss */
};

enum ReportFlag {
  kReportedCall = 1, /* which function it came through … */
  kReportedCompact = 2,
  kReportedAdditional = 3,
  kReportClass = 0xF,
  kReportAges = 0x10,   /* the collector may leave it out when there are many */
  kReportedByRaw = 0x20 /* stamped with CLOCK_MONOTONIC_RAW, not with the cycle counter */
};

enum ValueType {
  kNone = 0,
  kU64 = 1,
  kI64 = 2,
  kF64 = 3,
  kText = 4,
  kName = 5,
  kTimes = 6, /* begin and end, CLOCK_REALTIME ns as the device runtime maps its clocks; no key */
  kBytes = 7  /* kTextBytes as somebody else laid them out, in as many slots as it takes; no key */
};

typedef struct Record {
  uint64_t stamp;
  uint8_t kind;
  uint8_t more;    /* value slots that follow, at most kMaxValues */
  uint16_t domain; /* 0 = the default domain */
  uint32_t name;
  uint64_t value;
  union {
    struct {
      uint32_t category; /* 0 = none */
      uint32_t detail;
    };
    uint64_t last_stamp; /* kLost */
  };
} Record;

/* One key and its value. Text longer than one slot goes on in the following slots, which repeat the key. */
typedef struct ValueSlot {
  uint64_t stamp; /* of the record it belongs to */
  uint8_t kind;   /* kValue */
  uint8_t more;   /* value slots after this one */
  uint8_t type;   /* ValueType */
  uint8_t bytes;  /* kText: bytes used of `text`; kTextGoesOn in addition when the text continues in the next
                     slot */
  uint32_t key;   /* name */
  union {
    uint64_t bits; /* kU64, kI64, kF64; kName: a name */
    struct {
      uint64_t begin_ns;
      uint64_t end_ns;
    };                     /* kTimes */
    char text[kTextBytes]; /* kText, not terminated */
  };
} ValueSlot;

static_assert(sizeof(Record) == kRecordBytes, "a record is one slot");
static_assert(sizeof(ValueSlot) == kRecordBytes, "a value is one slot");

#ifdef __cplusplus
} /* namespace profd::abi */
#endif

#endif /* PROFD_LIBAGENT_ABI_RECORD_H_ */
