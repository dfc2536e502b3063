// ascend_pytorch_profiler[_<rank>].db and analysis.db: all of a folder for those who ask in SQL.
#pragma once

#include <string>

#include "base/status.h"
#include "base/unique_fd.h"
#include "client/export/framework/input/calls.h"
#include "client/export/framework/input/folder.h"
#include "client/export/framework/output/results.h"

namespace profd::client::framework {

// msprof's database: what CANN recorded.
struct CannDatabase {
  int folder = -1;        // -1: there is none
  std::string name;       // in it
  bool is_moved = false;  // it was made for this; else it stays and is copied
};
// The newest that an earlier export of the PROF directory has left.
CannDatabase FindCannDatabase(const Folder& folder, const base::UniqueFd& tables);

std::string DatabaseName(const Folder& folder);
inline constexpr char kAnalysis[] = "analysis.db";

// `analyze`: where `msprof --analyze` put its database; none: nobody made it. Each file is whole or not
// there.
base::Status WriteDatabases(const Folder& folder, const Calls& calls, const CannDatabase& cann,
                            const base::UniqueFd& analyze, Results& results, Report& report,
                            Progress& progress);

}  // namespace profd::client::framework
