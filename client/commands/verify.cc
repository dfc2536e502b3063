#include "client/verify.h"

#include <algorithm>

#include "client/commands/commands.h"
#include "client/export/capture.h"
#include "client/json.h"
#include "client/text.h"

namespace profd::client {

namespace {

void PrintReport(const VerifyReport& report) {
  for (const Complaint& complaint : report.complaints) {
    std::string line = report.directory + (complaint.file.empty() ? "" : "/" + complaint.file);
    if (complaint.offset) line += ": at " + std::to_string(*complaint.offset);
    Print(OneLine(line + ": " + complaint.what) + "\n");
  }
  Print(RenderPerturbations(report.perturbations));
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
  Print(OneLine(line) + "\n");
}

}  // namespace

ExitCode RunVerify(const Common& common, const VerifyOptions& options) {
  std::vector<VerifyReport> reports;
  auto result = ExitCode::kOk;
  const auto fail = [&result](const base::Status& status) {
    const ExitCode why = Fail(status);
    if (result == ExitCode::kOk || result == ExitCode::kFailed) result = why;
  };
  for (const std::string& directory : options.directories) {
    const base::Result<std::vector<std::string>> captures = FindDirectories(common, directory);
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
      if (!common.json) PrintReport(*report);
      reports.push_back(*report);
    }
  }
  if (common.json) Print(VerifyJson(reports, result == ExitCode::kOk));
  return result;
}

}  // namespace profd::client
