#include "client/lake/schema.h"

namespace profd::lake {
namespace {

constexpr Column kCommon[] = {
    {"rank", "BIGINT", "number of the rank; NULL where nobody says"},
    {"node", "VARCHAR", "host name of the rank's node"},
    {"instance", "VARCHAR", "hash of the recording's name"},
    {"seq", "BIGINT", "number of the row in this table and recording; (node, instance, seq) names a row"},
    {"device", "BIGINT", "number of the device; NULL where nobody says"},
    {"t", "TIMESTAMP_NS", "begin, UTC"},
};
constexpr Column kSteps[] = {
    {"step", "BIGINT", "number of the step"},
    {"open", "BIGINT", "1: the recording ended in it"},
    {"step_us", "BIGINT", "length, µs"},
    {"compute_us", "BIGINT", "kernels run, µs"},
    {"comm_us", "BIGINT", "collectives run, µs"},
    {"comm_exposed_us", "BIGINT", "collectives run and no kernel does, µs"},
    {"free_us", "BIGINT", "neither runs, µs"},
    {"kernels", "BIGINT", "tasks of the device in it"},
};
constexpr Column kKernels[] = {
    {"step", "BIGINT", "number of the step; NULL outside of steps"},
    {"start_ns", "BIGINT", "from the step's begin, ns; NULL outside of steps"},
    {"dur_ns", "BIGINT", "length, ns"},
    {"stream", "BIGINT", "lane of the device: what is on one happens in order"},
    {"op", "VARCHAR", "name of the kernel or collective"},
    {"type", "VARCHAR", "type of the operator or collective"},
    {"bytes", "BIGINT", "of a collective: what it moves, B; NULL where not known"},
    {"group", "VARCHAR", "of a collective: its group; NULL for a kernel"},
};
constexpr TableSchema kTables[] = {
    {"steps", "one rank, one step", kSteps},
    {"kernels", "one kernel or collective of a device", kKernels},
};

}  // namespace

std::span<const Column> Common() { return kCommon; }
std::span<const TableSchema> Tables() { return kTables; }

std::string TableNames() {
  std::string names;
  for (const TableSchema& table : kTables) names.append(names.empty() ? "" : ", ").append(table.name);
  return names;
}

}  // namespace profd::lake
