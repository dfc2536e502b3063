// Views of the database for people: texts instead of numbers, no joins, units in the names. The vendor's
// tools look at tables only.
#include "client/export/views/db_tables.h"

namespace profd::client {

std::span<const DbView> DbViews() {
  static const DbView kViews[] = {
      {"kernels",
       {"TASK", "COMPUTE_TASK_INFO", "STRING_IDS"},
       R"(SELECT t.deviceId AS device, n.value AS name, o.value AS op_type, s.value AS input_shapes,
       t.startNs AS start_ns, -- wall time since 1970
       (t.endNs - t.startNs) / 1e3 AS duration_us, c.blockNum AS blocks, t.streamId AS stream,
       t.connectionId AS connection -- with api_calls
FROM TASK t JOIN COMPUTE_TASK_INFO c ON c.globalTaskId = t.globalTaskId
LEFT JOIN STRING_IDS n ON n.id = c.name LEFT JOIN STRING_IDS o ON o.id = c.opType
LEFT JOIN STRING_IDS s ON s.id = c.inputShapes)"},
      {"collectives",
       {"COMMUNICATION_OP", "STRING_IDS"},
       R"(SELECT o.deviceId AS device, n.value AS name, y.value AS op_type, g.value AS group_name,
       o.startNs AS start_ns, -- wall time since 1970
       (o.endNs - o.startNs) / 1e3 AS duration_us, o.count AS elements, o.rankSize AS ranks
FROM COMMUNICATION_OP o LEFT JOIN STRING_IDS n ON n.id = o.opName
LEFT JOIN STRING_IDS y ON y.id = o.opType LEFT JOIN STRING_IDS g ON g.id = o.groupName)"},
      {"api_calls",
       {"CANN_API", "STRING_IDS"},
       R"(SELECT a.globalTid >> 32 AS pid, a.globalTid & 4294967295 AS tid, n.value AS name,
       a.startNs AS start_ns, -- wall time since 1970
       (a.endNs - a.startNs) / 1e3 AS duration_us,
       a.connectionId AS connection -- with kernels
FROM CANN_API a LEFT JOIN STRING_IDS n ON n.id = a.name)"},
      {"ranges",
       {"MSTX_EVENTS", "STRING_IDS"},
       R"(SELECT e.globalTid >> 32 AS pid, e.globalTid & 4294967295 AS tid, m.value AS message, d.value AS domain,
       e.startNs AS start_ns, -- wall time since 1970
       (e.endNs - e.startNs) / 1e3 AS duration_us -- 0: a mark
FROM MSTX_EVENTS e LEFT JOIN STRING_IDS m ON m.id = e.message LEFT JOIN STRING_IDS d ON d.id = e.domainId)"},
      {"steps",
       {"STEP_TIME", "STRING_IDS"},
       R"(SELECT s.id AS step, s.globalTid >> 32 AS pid,
       nullif(s.deviceId, -1) AS device, -- whose iteration it is; NULL: a step of the program
       s.startNs AS start_ns, -- wall time since 1970
       (s.endNs - s.startNs) / 1e6 AS duration_ms,
       e.value AS edge -- first, last: the recording began or ended there; else NULL
FROM STEP_TIME s LEFT JOIN STRING_IDS e ON e.id = s.edge AND e.value <> '')"},
      {"hbm_bandwidth",
       {"HBM", "STRING_IDS"},
       R"(SELECT h.deviceId AS device, h.hbmId AS hbm, d.value AS direction,
       h.timestampNs AS time_ns, -- wall time since 1970
       h.bandwidth / 1e9 AS gb_per_s
FROM HBM h LEFT JOIN STRING_IDS d ON d.id = h.type)"},
  };
  return kViews;
}

}  // namespace profd::client
