// Memory of devices as tables: OP_MEMORY and MEMORY_RECORD.
#pragma once

#include "client/export/db/sqlite_engine.h"
#include "client/export/framework/input/calls.h"
#include "client/export/framework/input/folder.h"
#include "client/export/framework/join/tree.h"

namespace profd::client::framework {

// The framework's and what msprof's NPU_OP_MEM says of CANN's.
void WriteMemoryRows(const Folder& folder, const Calls& calls, const Tree& tree, SqliteEngine& engine);

}  // namespace profd::client::framework
