#include "client/lake/schema.h"

#include "base/join.h"

namespace profd::lake {
namespace {

constexpr Column kCommon[] = {
    {"user", "VARCHAR", "account that made the recording; NULL where nobody says, as in all columns"},
    {"job", "VARCHAR", "label `job` or `job_id` of the recording, or what the vendor's collector calls it"},
    {"attempt", "BIGINT", "label `attempt`: which start of the job"},
    {"rank", "BIGINT", "number of the rank, or label `rank` of the program; NULL where it is no number"},
    {"node", "VARCHAR", "host name of the rank's node"},
    {"instance", "VARCHAR", "hash of the recording's name; of the summary, which start of profd"},
    {"seq", "BIGINT", "number of the row in this table and recording; (node, instance, seq) names a row"},
    {"proc", "VARCHAR", "which process of the node, as the summary knows it"},
    {"device", "BIGINT", "number of the device"},
    {"t", "TIMESTAMP_NS",
     "begin of the step, window or recording, UTC; of a kernel outside of steps its own"},
    {"ver", "BIGINT", "of two rows with one name the higher counts: 0 open, 1 closed"},
};
constexpr Column kSteps[] = {
    {"step", "BIGINT", "number of the step"},
    {"open", "BIGINT", "1: it had not ended: the recording did, or it ran for 10 s (summary)"},
    {"step_us", "BIGINT", "length, µs"},
    {"compute_us", "BIGINT", "kernels run, µs"},
    {"comm_us", "BIGINT", "collectives run, µs"},
    {"comm_exposed_us", "BIGINT", "collectives run and no kernel does, µs"},
    {"comm_wait_us", "BIGINT",
     "collectives wait for other ranks, sum, µs; NULL where no partner is recorded"},
    {"free_us", "BIGINT", "neither runs, µs"},
    {"kernels", "BIGINT", "tasks of the device in it"},
    {"comm_bytes", "BIGINT", "collectives move, B; NULL where the size of one is not known"},
    {"clock_mhz", "DOUBLE", "mean of the AI cores' clock as sampled in it, MHz"},
    {"wait_dp_us", "BIGINT", "of comm_wait_us: data-parallel groups, as the framework names them"},
    {"wait_tp_us", "BIGINT", "the same of tensor-parallel groups"},
    {"wait_pp_us", "BIGINT", "the same of pipelines"},
    {"wait_ep_us", "BIGINT", "the same of expert-parallel groups"},
    {"top1_op", "VARCHAR", "name of the kernels that take most time"},
    {"top1_us", "BIGINT", "and their time, sum, µs"},
    {"top2_op", "VARCHAR", "the second"},
    {"top2_us", "BIGINT", "and its time"},
    {"top3_op", "VARCHAR", "the third"},
    {"top3_us", "BIGINT", "and its time"},
    {"lost", "BIGINT", "records that could not be stored, of times that touch the step"},
    {"clock_err_ns", "BIGINT",
     "how far apart the clocks of two nodes may be, ns; NULL: nothing compares them"},
};
constexpr Column kOps[] = {
    {"window_s", "BIGINT", "length of the window, s"},
    {"op", "VARCHAR", "name of the kernel"},
    {"type", "VARCHAR", "type of the operator"},
    {"unit", "VARCHAR", "AI_CORE, AI_VECTOR_CORE, AI_CPU or COPY; NULL where a kernel says no cores"},
    {"n", "BIGINT", "how many began in the window"},
    {"total_ns", "BIGINT", "their time, sum, ns"},
    {"min_ns", "BIGINT", "the shortest"},
    {"max_ns", "BIGINT", "the longest"},
    {"p50_ns", "BIGINT", "the median"},
    {"p95_ns", "BIGINT", "95th percentile"},
    {"p99_ns", "BIGINT", "99th percentile"},
};
constexpr Column kComm[] = {
    {"window_s", "BIGINT", "length of the window, s"},
    {"group", "VARCHAR", "the group of ranks"},
    {"group_size", "BIGINT", "how many ranks it has, as the framework says"},
    {"op", "VARCHAR", "type of the collective: allReduce"},
    {"size_class", "BIGINT", "moves at least 2^size_class B, and less than twice that; NULL: not known"},
    {"n", "BIGINT", "how many began in the window"},
    {"bytes", "BIGINT", "they move, sum, B"},
    {"total_ns", "BIGINT", "their time, sum, ns"},
    {"wait_ns", "BIGINT", "of that waiting for other ranks, ns; NULL where no partner is recorded"},
    {"p95_ns", "BIGINT", "95th percentile of their time"},
    {"last_arrival", "BIGINT",
     "rank that came last where this one waited longest; NULL where no partner is recorded"},
};
constexpr Column kKernels[] = {
    {"step", "BIGINT", "number of the step; NULL outside of steps"},
    {"n", "BIGINT", "number of the kernel in the step; NULL outside of steps"},
    {"start_ns", "BIGINT", "from t to its begin, ns"},
    {"dur_ns", "BIGINT", "length, ns"},
    {"stream", "BIGINT", "lane of the device: what is on one happens in order"},
    {"op", "VARCHAR", "name of the kernel or collective"},
    {"type", "VARCHAR", "type of the operator or collective"},
    {"wait_ns", "BIGINT", "of a collective: it waits for other ranks, ns; NULL where no partner is recorded"},
    {"bytes", "BIGINT", "of a collective: what it moves, B; NULL where not known"},
    {"group", "VARCHAR", "of a collective: its group; NULL for a kernel"},
};
constexpr Column kInnerOfKernels[] = {
    {"unit", "VARCHAR", "as in ops"},
    {"group_size", "BIGINT", "as in comm"},
    {"last_rank", "BIGINT", "of a collective: the rank that came last"},
};
constexpr Column kCaptures[] = {
    {"capture", "VARCHAR", "the session"},
    {"object", "VARCHAR", "name of the directory or database"},
    {"bytes", "BIGINT", "size of its data, B"},
    {"kinds", "VARCHAR", "what was collected, with a comma between"},
    {"from", "TIMESTAMP_NS", "begin, UTC"},
    {"to", "TIMESTAMP_NS", "end, UTC"},
    {"verdict", "VARCHAR", "whole, degraded (docs/profctl.md) or running"},
    {"lost", "BIGINT", "records that could not be stored"},
    {"labels", "VARCHAR", "labels of the session, JSON"},
};

constexpr Column kLoss[] = {
    {"table", "VARCHAR", "table in which they are missing"},
    {"rows", "BIGINT", "how many"},
    {"from", "TIMESTAMP_NS", "of which time, UTC: begin"},
    {"to", "TIMESTAMP_NS", "and end"},
    {"why", "VARCHAR",
     "overwritten: steps shorter than 16 ms; too many of one user; disk too slow; not written; folder full"},
};

// Windows begin at the same times on all nodes. Percentiles are lengths that there were.
#define PROFD_WINDOWS "make_timestamp_ns((epoch_ns(t) + start_ns) // 300000000000 * 300000000000)"
#define PROFD_WHOSE "\"user\", job, attempt, rank, node, instance"
constexpr char kMadeOps[] =
    "SELECT " PROFD_WHOSE
    ", row_number() OVER (PARTITION BY node, instance ORDER BY rank, device, t, op, type, unit) - 1 AS seq, "
    "proc, "
    "device, t, 1::BIGINT AS ver, 300::BIGINT AS window_s, op, type, unit, n, total_ns, min_ns, max_ns, "
    "p[1] AS p50_ns, p[2] AS p95_ns, p[3] AS p99_ns FROM (SELECT " PROFD_WHOSE
    ", proc, device, " PROFD_WINDOWS
    " AS t, op, type, unit, count(*) AS n, sum(dur_ns)::BIGINT AS total_ns, min(dur_ns) AS min_ns, "
    "max(dur_ns) AS "
    "max_ns, quantile_disc(dur_ns, [0.5, 0.95, 0.99]) AS p FROM of_kernels WHERE \"group\" IS NULL GROUP BY "
    "ALL)";
constexpr char kMadeComm[] =
    "SELECT " PROFD_WHOSE
    ", row_number() OVER (PARTITION BY node, instance ORDER BY rank, device, t, \"group\", op, size_class) - "
    "1 AS "
    "seq, proc, device, t, 1::BIGINT AS ver, 300::BIGINT AS window_s, \"group\", group_size, op, size_class, "
    "n, "
    "bytes, total_ns, wait_ns, p95_ns, last_arrival FROM (SELECT " PROFD_WHOSE
    ", proc, device, " PROFD_WINDOWS
    " AS t, \"group\", max(group_size) AS group_size, type AS op, floor(log2(bytes))::BIGINT AS size_class, "
    "count(*) AS n, sum(bytes)::BIGINT AS bytes, sum(dur_ns)::BIGINT AS total_ns, sum(wait_ns)::BIGINT AS "
    "wait_ns, "
    "quantile_disc(dur_ns, 0.95) AS p95_ns, arg_max(last_rank, wait_ns) AS last_arrival "
    "FROM of_kernels WHERE \"group\" IS NOT NULL GROUP BY ALL)";

constexpr TableSchema kTables[] = {
    {"steps", "one rank, one step", kSteps},
    {"kernels", "one kernel or collective of a device", kKernels, kInnerOfKernels},
    {"ops", "one rank, one window of 5 min, one kernel by name", kOps, {}, kMadeOps},
    {"comm", "one rank, one window of 5 min, one group, type and size of collectives", kComm, {}, kMadeComm},
    {"captures", "one recording: a PROF directory or a database", kCaptures},
    {"loss", "rows of the always-on summary that are missing", kLoss, {}, {}, true},
};

}  // namespace

std::span<const Column> Common() { return kCommon; }
std::span<const TableSchema> Tables() { return kTables; }
std::string TableNames() { return base::Joined(kTables, ", ", &TableSchema::name); }

}  // namespace profd::lake
