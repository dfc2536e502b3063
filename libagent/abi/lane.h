/* The region: one process's lanes, in a memfd that profd makes and the door hands to the agent.
 *
 *   RegionHeader   4 KiB
 *   Lane           256 bytes × lane_count, rounded up to 64 KiB with the header
 *   rings          lane_slots × 32 bytes × lane_count
 *   name table     names_bytes
 *
 * profd writes `magic` … `names_bytes`, seals the file (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) and keeps
 * its own copy of the geometry; everything else in the file is the process's word and untrusted. The agent
 * checks the geometry against the size of the file before it maps it. There are no offsets in the file: they
 * follow from the geometry.
 *
 * Memory order. A lane has one producer at a time. Slots are written with relaxed 8-byte stores and published
 * by ONE release store to `head`; the reader loads `head` with acquire and sees whole records only. drop
 * newest:      the producer never passes tail + lane_slots; a record that doesn't fit is counted in `lost`.
 * The reader hands slots back with a release store to `tail`. Before it arms a process in this mode the
 *                     reader sets tail = head where it doesn't want what is left.
 *   overwrite oldest: the producer ignores `tail`. It issues a release fence between publishing `head` and
 * the next slot, so a reader that copies slots, issues an acquire fence and loads `head` again knows: slots
 *                     below head + kMaxRecordSlots - lane_slots may be torn, all others are whole.
 * A lane changes hands when its thread ends. Within the ring a kThread record says who wrote what follows; it
 * is written when a thread takes a lane, when it is armed, and in overwrite mode once per half ring. In drop
 * mode the producer adds 1 to the wake eventfd when a ring passes half full and when it becomes full.
 */
#ifndef PROFD_LIBAGENT_ABI_LANE_H_
#define PROFD_LIBAGENT_ABI_LANE_H_

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libagent/abi/record.h"

#ifdef __cplusplus
namespace profd::abi {
#endif

static const uint64_t kRegionMagic = 0x53454e414c444650u; /* "PFDLANES" */

enum {
  kRegionVersion = 1,
  kRegionHeaderBytes = 4096,
  kRegionAlignment = 65536, /* the largest page size */
  kMaxLanes = 1024,
  kMinLaneSlots = 256,
  kMaxLaneSlots = 1 << 22,
  kMinNamesBytes = 1 << 16,
  kMaxNamesBytes = 1 << 24
};

/* Where stamps come from. */
enum CounterKind {
  kCounterNone = 0,
  kCounterTsc = 1,     /* x86-64 invariant time stamp counter */
  kCounterCntvct = 2,  /* aarch64 cntvct_el0 */
  kCounterRawClock = 3 /* clock_gettime(CLOCK_MONOTONIC_RAW), ns */
};

typedef struct ClockPair {
  uint64_t ticks;
  uint64_t raw_ns;   /* CLOCK_MONOTONIC_RAW as the process sees it (time namespaces) */
  uint64_t error_ns; /* the two were read within ± this */
} ClockPair;

/* The counter's line through two pairs: when the region was attached and the latest (arm, stop). Read while
 * `sequence` is even and unchanged. */
typedef struct LaneClock {
  uint32_t sequence;
  uint32_t counter;    /* CounterKind */
  uint64_t nominal_hz; /* what the hardware says; 0 = it doesn't */
  ClockPair first;
  ClockPair latest;
} LaneClock;

/* What the training loop has done since the process began, recorded or not. Read while `sequence` is
 * even and unchanged. All zero: no step yet, or an agent that is older than this. */
typedef struct StepTotals {
  uint32_t sequence;
  uint32_t reserved_0;
  uint64_t begun, ended; /* steps */
  uint64_t step;         /* the program's own number of the one that began last */
  uint64_t ended_ns;     /* how long the steps that ended took, together */
  uint64_t last_ns;      /* how long the last one took */
  uint8_t reserved_1[16];
} StepTotals;

/* A step that ended. */
typedef struct LoggedStep {
  uint64_t ended;    /* how many had ended then, this one counted; 0: nothing is logged here */
  uint64_t step;     /* the program's own number */
  uint64_t begin_ns; /* CLOCK_MONOTONIC_RAW as the process sees it */
  uint64_t took_ns;
} LoggedStep;

enum { kLoggedSteps = 64 };

/* The last steps one by one, recorded or not. Read while `sequence` is even and unchanged. The n-th step that
 * ended since the process began stands at (n - 1) % kLoggedSteps; where another number stands there it was
 * not logged, or is overwritten. All zero: no step yet, or an agent that is older than this. */
typedef struct StepLog {
  uint32_t sequence;
  uint32_t reserved_0;
  uint64_t ended_before; /* steps that had ended when the region was attached */
  uint64_t begin_ns;     /* of the step that runs; 0: none does */
  uint64_t step;         /* and its number */
  uint8_t reserved_1[32];
  LoggedStep ended[kLoggedSteps];
} StepLog;

typedef struct RegionHeader {
  uint64_t magic;
  uint16_t version;
  uint16_t record_bytes;
  uint32_t lane_count;  /* 1 … kMaxLanes */
  uint32_t lane_slots;  /* power of two, kMinLaneSlots … kMaxLaneSlots */
  uint32_t names_bytes; /* multiple of kRegionAlignment, kMinNamesBytes … kMaxNamesBytes */
  uint8_t reserved_0[40];
  /* From here on the process writes. */
  uint32_t pid; /* in its own pid namespace */
  uint32_t parent_pid;
  uint64_t lost_without_lane; /* records of threads that found no free lane */
  uint32_t names_used;        /* bytes, released after the entry is whole */
  uint32_t names_lost;        /* names that found no room */
  uint32_t exit_mark;         /* 1 + its exit status, once the process of a flight recorder calls exit() */
  uint8_t reserved_1[36];
  LaneClock clock;
  StepTotals steps;
  StepLog step_log;
  uint8_t reserved_2[kRegionHeaderBytes - 128 - sizeof(LaneClock) - sizeof(StepTotals) - sizeof(StepLog)];
} RegionHeader;

/* Each 64 bytes has one writer. */
typedef struct Lane {
  uint64_t head;        /* slots ever written */
  uint64_t owner_since; /* slot of the owner's first record */
  uint32_t owner_tid;   /* 0 = free */
  uint32_t owners;      /* threads that ever held it */
  uint8_t reserved_0[40];
  uint64_t lost; /* records ever dropped */
  uint8_t reserved_1[56];
  uint64_t tail; /* slots ever handed back; the only word that profd writes */
  uint8_t reserved_2[120];
} Lane;

/* One entry of the name table, followed by `bytes` of UTF-8 (not checked), a zero and padding to 8. Its
 * reference is its offset / 8. Offset 0 holds no entry. Entries are never changed or removed. */
typedef struct NameEntry {
  uint32_t bytes;
  uint8_t type; /* NameType */
  uint8_t cut;  /* the text was longer */
  uint16_t domain;
  uint32_t number;
  uint32_t hash; /* the agent's own */
} NameEntry;

enum NameType {
  kNameText = 1,     /* a name that records refer to */
  kNameDomain = 2,   /* `domain` is called this */
  kNameCategory = 3, /* category `number` of `domain` is called this */
  kNameOfThread = 4, /* thread `number` is called this */
  /* Of records kReport: */
  kNameReported = 5,    /* a text that they refer to by its number (format::CannHash) */
  kNameOfReportType = 6 /* type `number` of the level `domain` is called this */
};

enum { kNameUnit = 8, kMaxNameBytes = 1024, kFirstNameOffset = 16 };

static_assert(sizeof(RegionHeader) == kRegionHeaderBytes, "the header is a page");
static_assert(offsetof(RegionHeader, pid) == 64, "the two sides don't share a cache line");
static_assert(offsetof(RegionHeader, exit_mark) == 88, "layout");
static_assert(offsetof(RegionHeader, clock) == 128, "layout");
static_assert(sizeof(LaneClock) == 64, "layout");
static_assert(offsetof(RegionHeader, steps) == 192 && sizeof(StepTotals) == 64, "layout");
static_assert(offsetof(RegionHeader, step_log) == 256 && sizeof(StepLog) == 64 + kLoggedSteps * 32, "layout");
static_assert(sizeof(Lane) == 256, "layout");
static_assert(offsetof(Lane, lost) == 64 && offsetof(Lane, tail) == 128, "layout");
static_assert(sizeof(NameEntry) == 16 && kFirstNameOffset % kNameUnit == 0, "layout");

static inline bool GeometryIsValid(uint32_t lane_count, uint32_t lane_slots, uint32_t names_bytes) {
  return lane_count >= 1 && lane_count <= kMaxLanes && lane_slots >= kMinLaneSlots &&
         lane_slots <= kMaxLaneSlots && (lane_slots & (lane_slots - 1)) == 0 &&
         names_bytes >= kMinNamesBytes && names_bytes <= kMaxNamesBytes &&
         names_bytes % kRegionAlignment == 0;
}
static inline uint64_t LaneOffset(uint32_t lane) {
  return kRegionHeaderBytes + (uint64_t)lane * sizeof(Lane);
}
static inline uint64_t RingsOffset(uint32_t lane_count) {
  return (LaneOffset(lane_count) + kRegionAlignment - 1) / kRegionAlignment * kRegionAlignment;
}
static inline uint64_t RingOffset(uint32_t lane_count, uint32_t lane_slots, uint32_t lane) {
  return RingsOffset(lane_count) + (uint64_t)lane * lane_slots * kRecordBytes;
}
static inline uint64_t NamesOffset(uint32_t lane_count, uint32_t lane_slots) {
  const uint64_t end = RingOffset(lane_count, lane_slots, lane_count);
  return (end + kRegionAlignment - 1) / kRegionAlignment * kRegionAlignment;
}
static inline uint64_t RegionBytes(uint32_t lane_count, uint32_t lane_slots, uint32_t names_bytes) {
  return NamesOffset(lane_count, lane_slots) + names_bytes;
}

#ifdef __cplusplus
} /* namespace profd::abi */
#endif

#endif /* PROFD_LIBAGENT_ABI_LANE_H_ */
