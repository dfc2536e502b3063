#include "client/export/framework/framework.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "client/export/framework/communication.h"
#include "client/export/framework/input/calls.h"
#include "client/export/framework/input/cann.h"
#include "client/export/framework/input/folder.h"
#include "client/export/framework/links.h"
#include "client/export/framework/memory_tables.h"
#include "client/export/framework/tables.h"
#include "client/export/framework/trace_view.h"
#include "client/export/framework/tree.h"
#include "client/files/own_folder.h"

namespace profd::client::framework {
namespace {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

constexpr char kTraceView[] = "trace_view.json", kDone[] = "analyse.done";

// Where the results go. **Owns:** descriptors of folders that nobody can exchange meanwhile.
struct Out {
  std::string shown;  // ASCEND_PROFILER_OUTPUT
  UniqueFd root, results;
};
Result<Out> OpenOut(const Folder& folder, const std::string& wanted) {
  Out out;
  if (wanted.empty()) {
    out.root.Reset(::fcntl(folder.dir.get(), F_DUPFD_CLOEXEC, 0));
  } else {
    PROFD_ASSIGN_OR_RETURN(const UniqueFd way, OpenWay(wanted, IfMissing::kMake));
    out.root.Reset(::openat(way.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  const std::string root = wanted.empty() ? folder.path : wanted;
  if (!out.root) return Status::FromErrno("open " + root);
  out.shown = root + "/" + kResults;
  PROFD_ASSIGN_OR_RETURN(out.results,
                         OpenOwnFolder(out.root.get(), kResults, out.shown, FolderOwner::kCallerOrParent));
  return out;
}

// The stamp in "…/msprof_<stamp>.json".
std::string StampIn(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    const size_t at = file.rfind("/msprof_");
    if (at != file.npos && file.ends_with(".json")) return file.substr(at + 8, file.size() - at - 8 - 5);
  }
  return "";
}

// **Thread:** one. One folder.
class Exporter {
 public:
  Exporter(const Folder& folder, const FrameworkOptions& options, Progress& progress, ExportResult& result)
      : folder_(folder), options_(options), progress_(progress), result_(result) {}

  Status Run() {
    PROFD_ASSIGN_OR_RETURN(const Out out, OpenOut(folder_, options_.out));
    PROFD_ASSIGN_OR_RETURN(const CannFiles cann, Cann());
    const Calls calls = ReadCalls(folder_, options_.vendor_compatible, result_.report, progress_);
    const DeviceSide device = ReadTimelines(cann, options_.vendor_compatible, result_.report, progress_);
    PROFD_RETURN_IF_ERROR(Cancelled());
    Tree tree;
    const Links links = Connect(calls, device, options_.vendor_compatible, tree);
    Results results(PathOf(out.results), options_.vendor_compatible);
    const Status status = Write(calls, cann, device, tree, links, results);
    for (const std::string& name : results.made()) result_.files.push_back(out.shown + "/" + name);
    result_.output_bytes += results.bytes();
    if (!status.ok()) return Status(status.code(), Shown(status.message(), out));
    SayWhatIsNotMade(cann);
    return {};
  }

 private:
  Status Cancelled() const {
    return progress_.cancelled ? Status(Code::kCancelled, "export " + folder_.path + ": interrupted")
                               : Status();
  }

  static std::string Shown(std::string text, const Out& out) {
    const std::string path = PathOf(out.results);
    for (size_t at = 0; (at = text.find(path, at)) != text.npos; at += out.shown.size())
      text.replace(at, path.size(), out.shown);
    return text;
  }

  // The PROF directory's own export.
  Result<CannFiles> Cann() {
    if (folder_.prof.empty()) return CannFiles();
    if (folder_.prof_bytes == 0) return FindCannFiles(folder_.prof_dir, folder_.prof, "", result_.report);
    ExportOptions options;
    options.formats = {ExportFormat::kChrome, ExportFormat::kCsv};
    options.jobs = options_.jobs;
    options.vendor_compatible = options_.vendor_compatible;
    if (!options_.out.empty()) options.out = options_.out + "/" + folder_.prof;
    PROFD_ASSIGN_OR_RETURN(const ExportResult exported, Export(folder_.ProfPath(), options, progress_));
    result_.report.Add(exported.report, folder_.prof + "/");
    result_.input_bytes += exported.input_bytes;
    result_.output_bytes += exported.output_bytes;
    result_.left_out += exported.left_out;
    result_.files.insert(result_.files.end(), exported.files.begin(), exported.files.end());
    UniqueFd made;
    if (!options.out.empty()) {
      PROFD_ASSIGN_OR_RETURN(made, OpenWay(options.out, IfMissing::kFail));
    }
    CannFiles files =
        FindCannFiles(made ? made : folder_.prof_dir, folder_.prof, StampIn(exported.files), result_.report);
    if (made)
      files.analyze = FindCannFiles(folder_.prof_dir, folder_.prof, files.stamp, result_.report).analyze;
    return files;
  }

  Status Write(const Calls& calls, const CannFiles& cann, const DeviceSide& device, const Tree& tree,
               const Links& links, Results& results) {
    Report& report = result_.report;
    PROFD_RETURN_IF_ERROR(WriteTrace(calls, cann, device, links, results));
    PROFD_RETURN_IF_ERROR(WriteOperatorDetails(calls, tree, links, results));
    PROFD_RETURN_IF_ERROR(WriteKernelDetails(folder_, cann, links.steps, results, report));
    PROFD_RETURN_IF_ERROR(WriteStepTrace(calls, device.pieces, links.steps, results));
    PROFD_RETURN_IF_ERROR(WriteCommunication(cann, links.steps, results, report));
    PROFD_RETURN_IF_ERROR(WriteOperatorMemory(folder_, calls, tree, cann, results, report));
    PROFD_RETURN_IF_ERROR(WriteMemoryRecord(folder_, calls, cann, results, report));
    PROFD_RETURN_IF_ERROR(PassOn(folder_, cann, results, report));
    PROFD_RETURN_IF_ERROR(Cancelled());
    PROFD_ASSIGN_OR_RETURN(const auto done, results.Open(kDone));
    return results.Finish(*done, kDone);
  }

  Status WriteTrace(const Calls& calls, const CannFiles& cann, const DeviceSide& device, const Links& links,
                    Results& results) {
    Report said;  // ReadTimelines has said it
    PROFD_ASSIGN_OR_RETURN(const auto file, results.Open(kTraceView));
    PROFD_RETURN_IF_ERROR(WriteTraceView(folder_, calls, cann, device, links, options_.vendor_compatible,
                                         *file, said, progress_));
    PROFD_RETURN_IF_ERROR(Cancelled());
    return results.Finish(*file, kTraceView);
  }

  void SayWhatIsNotMade(const CannFiles& cann) {
    Report& report = result_.report;
    const std::string rank = folder_.info.rank < 0 ? "" : "_" + std::to_string(folder_.info.rank);
    report.Note("not made: ascend_pytorch_profiler" + rank + ".db, analysis.db, stacks, memory timelines");
    if (!cann.is_there()) {
      report.Note(
          "not made, as no PROF directory with data or results is in it: kernel_details.csv, "
          "step_trace_time.csv, communication.json, communication_matrix.json");
    } else if (!cann.analyze) {
      report.Note("not made, as " + folder_.prof +
                  "/analyze is not there: communication.json, "
                  "communication_matrix.json");
    }
  }

  const Folder& folder_;
  const FrameworkOptions& options_;
  Progress& progress_;
  ExportResult& result_;
};

}  // namespace

Result<ExportResult> ExportFolder(const std::string& path, const FrameworkOptions& options,
                                  Progress& progress) {
  const uint64_t begin_ns = base::MonotonicNs();
  ExportResult result;
  result.directory = path;
  PROFD_ASSIGN_OR_RETURN(const Folder folder, OpenFolder(path, result.report));
  PROFD_RETURN_IF_ERROR(Exporter(folder, options, progress, result).Run());
  for (const auto& [stream, count] : result.report.streams()) {
    if (stream.starts_with(kRecords)) result.input_bytes += count.bytes;
  }
  result.duration_ns = base::MonotonicNs() - begin_ns;
  return result;
}

std::vector<std::string> PlannedFiles(const std::string& path, const FrameworkOptions& options) {
  const std::string folder = (options.out.empty() ? path : options.out) + "/" + kResults + "/";
  std::vector<std::string> files;
  for (const char* const name :
       {kTraceView, "operator_details.csv", "kernel_details.csv", "step_trace_time.csv", "communication.json",
        "communication_matrix.json", "operator_memory.csv", "memory_record.csv", kDone})
    files.push_back(folder + name);
  return files;
}

}  // namespace profd::client::framework
