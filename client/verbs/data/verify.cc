#include "client/verify/verify.h"

#include <algorithm>

#include "client/export/read/capture.h"
#include "client/show/json.h"
#include "client/verbs/directories.h"
#include "client/verbs/verb.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

using Directories = std::vector<std::string>;

void PrintReport(const Context& context, const VerifyReport& report) {
  for (const Complaint& complaint : report.complaints) {
    std::string line = report.directory + (complaint.file.empty() ? "" : "/" + complaint.file);
    if (complaint.offset) line += ": at " + std::to_string(*complaint.offset);
    context.Print(OneLine(line + ": " + complaint.what) + "\n");
  }
  context.Print(RenderPerturbations(report.perturbations));
  const size_t wrong = report.complaints.size() + report.more_complaints;
  std::string line = report.directory + ": " + std::to_string(report.slices) + " slices, " +
                     FormatBytes(static_cast<double>(report.bytes)) + ", ";
  if (!report.by_profd) line += "not profd's, ";
  if (report.end_reason == "interrupted") line += "interrupted, ";
  if (report.lost_records > 0) line += std::to_string(report.lost_records) + " records recorded as lost, ";
  if (!report.unchecked.empty())
    line += std::to_string(report.unchecked.size()) + (report.unchecked.size() == 1 ? " kind" : " kinds") +
            " of file only by size, ";
  line += wrong == 0 ? "nothing is wrong"
                     : std::to_string(wrong) + (wrong == 1 ? " thing is" : " things are") + " wrong";
  context.Print(OneLine(line) + "\n");
}

ExitCode Run(const Context& context, const Directories& directories) {
  std::vector<VerifyReport> reports;
  auto result = ExitCode::kOk;
  const auto fail = [&](const base::Status& status) {
    const ExitCode why = context.Fail(status);
    if (result == ExitCode::kOk || result == ExitCode::kFailed) result = why;
  };
  for (const std::string& directory : directories) {
    const base::Result<std::vector<std::string>> captures = FindDirectories(context, directory);
    if (!captures.ok()) {
      fail(captures.status());
      continue;
    }
    for (const std::string& capture : *captures) {
      const base::Result<VerifyReport> report = Verify(capture);
      if (!report.ok()) {
        fail(report.status());
        continue;
      }
      if (!report->complaints.empty() && result == ExitCode::kOk) result = ExitCode::kFailed;
      if (!context.json) PrintReport(context, *report);
      reports.push_back(*report);
    }
  }
  if (context.json) context.Print(VerifyJson(reports, result == ExitCode::kOk));
  return result;
}

Action Define(cli::Arguments arguments) {
  const auto directories = std::make_shared<Directories>();
  arguments.List("DIR", directories.get(), "PROF directories, folders that hold some, or sessions")
      .Required();
  return {.run = [directories](const Context& context) { return Run(context, *directories); }};
}

}  // namespace

namespace verbs {
Verb Verify() {
  return {"verify", "check PROF directories: is everything there and whole?", Reach::kHere, Define};
}
}  // namespace verbs

}  // namespace profd::client
