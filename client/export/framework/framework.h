// profctl export X_ascend_pt: what Ascend's PyTorch Profiler left, into the files that its analyse() makes of
// it.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/export/exporter.h"

namespace profd::client::framework {

struct FrameworkOptions {
  // kChrome: trace_view.json; kCsv: tables and communication*.json; kDatabase: databases. None: what the job
  // asked its profiler for, text if it did not say.
  std::vector<ExportFormat> formats;
  std::string out;  // "": into the folder itself
  unsigned jobs = 1;
  bool vendor_compatible = false;
  // Of a killed job: what its control files do not say is guessed, and said; a timeline without anything that
  // it could be made of anew is closed.
  bool repairs = false;
};

// kInvalidArgument: not all of these can be made of a folder.
base::Status CheckFormats(const std::string& folder, const std::vector<ExportFormat>& formats);

// The PROF directory in it is exported first, into mindstudio_profiler_output; where its data are gone, what
// an earlier export left there is read. Files are whole or not there; analyse.done is the last one.
base::Result<ExportResult> ExportFolder(const std::string& path, const FrameworkOptions& options,
                                        Progress& progress);

// What that would write; files of which the data are missing are left out then.
std::vector<std::string> PlannedFiles(const std::string& path, const FrameworkOptions& options);

}  // namespace profd::client::framework
