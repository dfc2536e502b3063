// Calls of CANN in msprof's database, and the operators that made them.
#pragma once

#include <cstdint>
#include <vector>

#include "client/export/db/sqlite_engine.h"
#include "client/export/framework/input/calls.h"
#include "client/export/framework/join/tree.h"

namespace profd::client::framework {

// Tables of it hold threads as one number.
constexpr int64_t GlobalTid(uint64_t pid, uint64_t tid) { return static_cast<int64_t>(pid << 32 | tid); }
// The framework's own marks are operators with a name like that.
inline constexpr std::string_view kMarkPrefix = "mstx_";

struct CannCall {
  int64_t begin = 0, end = 0;
  int64_t thread = 0;  // GlobalTid
  int64_t connection = 0;
};
// By their begins; nothing where the tables are not there. `is_own`: of a recording of profd's, in which
// every call that started something counts.
std::vector<CannCall> LaunchesIn(SqliteEngine& engine, bool is_own);
std::vector<CannCall> MarksIn(SqliteEngine& engine);

// An operator made a call of CANN.
struct OpConnection {
  Ref op = 0;
  int64_t connection = 0;
};
struct Linked {
  Tree tree;
  std::vector<OpConnection> connections;
  // When the operators made them: what went through the queue, when it was put there.
  std::vector<std::pair<int64_t, int64_t>> moments;  // ns, connection
};
// By the queue, on its thread; calls beside the queue by their own thread.
Linked LinkCalls(const Calls& calls, const std::vector<CannCall>& launches,
                 const std::vector<CannCall>& marks);
// As the vendor's: what was put into the queue and what came out are matched by their places in the lists. No
// moments. `progress`: it may take long.
Linked LinkCallsAsVendor(const Calls& calls, const std::vector<CannCall>& launches,
                         const std::vector<CannCall>& marks, const Progress& progress);

}  // namespace profd::client::framework
