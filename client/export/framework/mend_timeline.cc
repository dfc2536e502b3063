#include "client/export/framework/mend_timeline.h"

#include <memory>

#include "client/export/framework/input/trace_file.h"
#include "client/files/prof_files.h"

namespace profd::client::framework {

base::Status MendTimeline(const base::UniqueFd& results_folder, const std::string& name, Results& results,
                          Report& report, Progress& progress) {
  if (!Names(results_folder.get()).contains(name)) return {};
  uint64_t bytes = 0;
  std::string why;
  base::UniqueFd file = OpenFile(results_folder.get(), name, &bytes, &why);
  if (!file) {
    report.Skip({name, 0, 0, 0, why});
    return {};
  }
  PROFD_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> mended, results.Open(name));
  TraceFile timeline(std::move(file), name, report, progress);
  TraceEvent event;
  mended->Append("[");
  for (bool is_first = true; timeline.Next(event); is_first = false) {
    if (!is_first) mended->Append(", ");
    mended->Append(event.text);
  }
  mended->Append("]");
  return results.Finish(*mended, name);
}

}  // namespace profd::client::framework
