// A table of SQL's engine becomes a file that somebody named.
#pragma once

#include <string>

#include "base/status.h"
#include "client/files/temporary_folder.h"
#include "client/lake/engine.h"

namespace profd::client {

// What is in `made`. Only a whole file gets its name, and no link of somebody else's is followed to it.
base::Status CopyToNamed(const std::string& made, const std::string& path);
// The engine writes into `scratch`, where nobody else can; CopyToNamed() does the rest. `rows`: a table, or
// "(SELECT …)".
base::Status WriteTable(lake::Engine& engine, const std::string& rows, const TemporaryFolder& scratch,
                        const std::string& path);

}  // namespace profd::client
