#include "client/repair.h"

#include "client/commands/commands.h"
#include "client/json.h"
#include "client/text.h"

namespace profd::client {

ExitCode RunRepair(const Common& common, const RepairOptions& options) {
  auto worst = ExitCode::kOk;
  std::vector<mend::Mended> all;
  for (const std::string& directory : options.directories) {
    const base::Result<mend::Mended> mended = Repair(directory);
    if (!mended.ok()) {
      worst = Fail(mended.status());
      continue;
    }
    all.push_back(*mended);
    if (!mended->remarks.empty() && worst == ExitCode::kOk) worst = ExitCode::kPartialLoss;
    if (common.json) continue;
    for (const std::string& remark : mended->remarks)
      Print(OneLine(mended->directory + ": " + remark) + "\n");
    Print(OneLine(mended->directory + (mended->sealed
                                           ? ": sealed as interrupted, " + std::to_string(mended->cut_bytes) +
                                                 " bytes cut that were no whole record"
                                           : ": nothing to repair, it is sealed")) +
          "\n");
  }
  if (common.json) Print(RepairJson(all, worst == ExitCode::kOk));
  return worst;
}

}  // namespace profd::client
