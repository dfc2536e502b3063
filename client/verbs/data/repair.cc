#include "client/verify/repair.h"

#include "client/show/json.h"
#include "client/verbs/directories.h"
#include "client/verbs/verb.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

using Directories = std::vector<std::string>;

ExitCode Run(const Context& context, const Directories& directories) {
  auto worst = ExitCode::kOk;
  std::vector<mend::Mended> all;
  const base::Result<Directories> found = WithSessions(context, directories);
  if (!found.ok()) return context.Fail(found.status());
  for (const std::string& directory : *found) {
    const base::Result<mend::Mended> mended = Repair(directory);
    if (!mended.ok()) {
      worst = context.Fail(mended.status());
      continue;
    }
    all.push_back(*mended);
    if (!mended->remarks.empty() && worst == ExitCode::kOk) worst = ExitCode::kPartialLoss;
    if (context.json) continue;
    for (const std::string& remark : mended->remarks)
      context.Print(OneLine(mended->directory + ": " + remark) + "\n");
    context.Print(OneLine(mended->directory +
                          (mended->sealed ? ": sealed as interrupted, " + std::to_string(mended->cut_bytes) +
                                                " bytes cut that were no whole record"
                                          : ": nothing to repair, it is sealed")) +
                  "\n");
  }
  if (context.json) context.Print(RepairJson(all, worst == ExitCode::kOk));
  return worst;
}

Action Define(cli::Arguments arguments) {
  const auto directories = std::make_shared<Directories>();
  arguments.List("DIR", directories.get(), "PROF directories of one's own, or sessions").Required();
  return {.run = [directories](const Context& context) { return Run(context, *directories); }};
}

}  // namespace

namespace verbs {
Verb Repair() {
  return {"repair", "seal PROF directories of --output that a crash left open, as profd does in its spool",
          Reach::kHere, Define};
}
}  // namespace verbs

}  // namespace profd::client
