/* profd in a workload: name things, mark moments, bracket ranges, count, step.
 *
 * Everything here may be called from any thread at any time: before a profd is there, after it has gone, in a
 * forked child, in a signal handler, while the process exits. Nothing here blocks on profd, allocates on the
 * recording path, changes errno, or fails in a way a caller has to handle. When nobody records, a call costs
 * a load and a branch (the PROFD_… macros inline these two); when somebody does, it costs little more than
 * reading the cycle counter. A record that finds no room is dropped and counted, never waited for.
 *
 * The first call of any function starts one thread that looks for profd at $PROFD_ADDRESS (a socket path,
 * default /run/profd/profd.sock) and sleeps until profd says something. Names, domains and categories may be
 * made at any time and keep their meaning for the life of the process and of its forked children.
 *
 * Text is UTF-8, borrowed for the call only, NULL means "none", and is cut after 1024 bytes. Times are not
 * passed: every record is stamped on the spot. C11 or C++; link with -lprofd_agent.
 */
#ifndef PROFD_AGENT_H_
#define PROFD_AGENT_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PROFD_API __attribute__((visibility("default")))

/* A text known to the process; 0 = none, or no room for more names (some 100 000 short ones). */
typedef uint32_t profd_name;
/* Records of one origin, e.g. a library; 0 = the default domain. Up to 255 more per process. */
typedef uint32_t profd_domain;

/* Non-zero while records are wanted, or before the first call. Not for use outside of the macros. */
PROFD_API extern uint32_t profd_agent_active; /* NOLINT(bugprone-dynamic-static-initializers) */
#define PROFD_ON() __builtin_expect(__atomic_load_n(&profd_agent_active, __ATOMIC_RELAXED) != 0, 0)

/* -- Names. Locks briefly when the text is new; some 30 ns when it is known. Intern once, record often. */
PROFD_API profd_name profd_intern(const char* text);
/* The domain of that name; the same name gives the same domain. 0 when there is no room for one more. */
PROFD_API profd_domain profd_domain_create(const char* name);
/* Says what category `category` of the domain is called. */
PROFD_API void profd_name_category(profd_domain domain, uint32_t category, const char* text);
/* Says what the calling thread is called. */
PROFD_API void profd_name_thread(const char* text);

/* -- Moments. */
PROFD_API void profd_mark(profd_name name);

/* -- Ranges that nest within a thread. Return the 0-based depth of the range; -1: pop without push; -2: not
 * tracked, because nobody records or the thread uses more than 8 domains. Ranges open when recording begins
 * are not seen. */
PROFD_API int profd_range_push(profd_name name);
PROFD_API int profd_range_pop(void);

/* -- Ranges that may overlap and end on another thread. The id is unique in the process, 0 when it is
 * not recorded; ending 0 does nothing, an id that was never given out is recorded as it is. */
PROFD_API uint64_t profd_range_start(profd_name name);
PROFD_API void profd_range_end(uint64_t id);

/* -- Counters: a value that holds from now on, in the unit that the name says. */
PROFD_API void profd_counter(profd_name name, int64_t value);
PROFD_API void profd_counter_f64(profd_name name, double value);

/* -- Steps of a training or serving loop. They drive step windows (`profctl start --steps`), so call them
 * even when nobody records. One loop per process is meant; `step` is the caller's own count. */
PROFD_API void profd_step_begin(uint64_t step);
PROFD_API void profd_step_end(uint64_t step);

/* -- The long form: domain, category and up to 32 slots of key-value payload (a text takes one per 16 bytes;
 * what does not fit is left out). */
enum profd_type {
  PROFD_U64 = 1,
  PROFD_I64 = 2,
  PROFD_F64 = 3,
  PROFD_TEXT = 4,
  PROFD_NAME = 5 /* an interned text */
};

typedef struct profd_value {
  profd_name key;
  uint32_t type; /* enum profd_type */
  union {
    uint64_t u64;
    int64_t i64;
    double f64;
    const char* text;
    profd_name name;
  } as;
} profd_value;

typedef struct profd_event {
  uint32_t size; /* sizeof(profd_event) of the caller */
  profd_domain domain;
  profd_name name;
  uint32_t category; /* 0 = none */
  const profd_value* values;
  size_t value_count;
} profd_event;

PROFD_API void profd_mark_event(const profd_event* event);
PROFD_API int profd_range_push_event(const profd_event* event);
PROFD_API int profd_range_pop_in(profd_domain domain);
PROFD_API uint64_t profd_range_start_event(const profd_event* event);

/* The agent's version, e.g. "0.1.0". */
PROFD_API const char* profd_agent_version(void);

/* -- The macro form: the name is a string literal, interned when first recorded. */
#define PROFD_NAME_ONCE_(text)                                                 \
  __extension__({                                                              \
    static profd_name profd_once_;                                             \
    profd_name profd_known_ = __atomic_load_n(&profd_once_, __ATOMIC_RELAXED); \
    if (__builtin_expect(profd_known_ == 0, 0)) {                              \
      profd_known_ = profd_intern(text);                                       \
      __atomic_store_n(&profd_once_, profd_known_, __ATOMIC_RELAXED);          \
    }                                                                          \
    profd_known_;                                                              \
  })
#define PROFD_MARK(text) (PROFD_ON() ? profd_mark(PROFD_NAME_ONCE_(text)) : (void)0)
#define PROFD_RANGE_PUSH(text) (PROFD_ON() ? (void)profd_range_push(PROFD_NAME_ONCE_(text)) : (void)0)
#define PROFD_RANGE_POP() (PROFD_ON() ? (void)profd_range_pop() : (void)0)
#define PROFD_COUNTER(text, value) (PROFD_ON() ? profd_counter(PROFD_NAME_ONCE_(text), (value)) : (void)0)

#ifdef __cplusplus
}
#endif

#endif /* PROFD_AGENT_H_ */
