// LTTng's own form of an event: what the agent's counter record is, a name and a value.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER profd_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/bench/lttng_events.h"

#if !defined(PROFD_BENCH_LTTNG_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define PROFD_BENCH_LTTNG_EVENTS_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(profd_bench, event, LTTNG_UST_TP_ARGS(uint32_t, name, double, value),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, name, name)
                                                   lttng_ust_field_float(double, value, value)))

#endif

#include <lttng/tracepoint-event.h>
