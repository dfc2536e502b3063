#include "client/export/framework/framework.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/clock.h"
#include "client/export/framework/analyzer/collective_parts.h"
#include "client/export/framework/communication.h"
#include "client/export/framework/database/database.h"
#include "client/export/framework/input/calls.h"
#include "client/export/framework/input/cann.h"
#include "client/export/framework/input/folder.h"
#include "client/export/framework/input/own_calls.h"
#include "client/export/framework/join/links.h"
#include "client/export/framework/join/tree.h"
#include "client/export/framework/memory_tables.h"
#include "client/export/framework/mend_timeline.h"
#include "client/export/framework/perfetto_view.h"
#include "client/export/framework/tables.h"
#include "client/export/framework/trace_view.h"
#include "client/files/own_folder.h"
#include "client/files/prof_files.h"

namespace profd::client::framework {
namespace {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

constexpr char kTraceView[] = "trace_view.json", kDone[] = "analyse.done",
               kPerfettoEnding[] = ".perfetto-trace", kPerfettoView[] = "trace_view.perfetto-trace";

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

std::vector<ExportFormat> FormatsOf(const Folder& folder, const FrameworkOptions& options) {
  if (!options.formats.empty()) return options.formats;
  std::vector<ExportFormat> formats;
  if (folder.info.wants_text) formats = {ExportFormat::kChrome, ExportFormat::kCsv};
  if (folder.info.wants_database) formats.push_back(ExportFormat::kDatabase);
  return formats;
}

// **Thread:** one. One folder.
class Exporter {
 public:
  Exporter(const Folder& folder, const FrameworkOptions& options, Progress& progress, ExportResult& result)
      : folder_(folder), options_(options), progress_(progress), result_(result) {}

  Status Run() {
    PROFD_ASSIGN_OR_RETURN(const Out out, OpenOut(folder_, options_.out));
    Calls calls = folder_.is_own ? ReadOwnCalls(folder_, result_.report, progress_)
                                 : ReadCalls(folder_, options_.vendor_compatible, result_.report, progress_);
    PROFD_RETURN_IF_ERROR(Cancelled());
    PROFD_ASSIGN_OR_RETURN(const CannFiles cann, Cann(calls));
    Results results(PathOf(out.results), options_.vendor_compatible);
    const Status status = Write(calls, cann, out.results, results);
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

  bool Wants(ExportFormat format) const { return std::ranges::count(formats_, format) > 0; }
  bool WantsText() const { return Wants(ExportFormat::kChrome) || Wants(ExportFormat::kCsv); }

  // The PROF directory's own export.
  Result<CannFiles> Cann(Calls& calls) {
    if (folder_.prof.empty()) return CannFiles();
    if (folder_.prof_bytes == 0) {
      CannFiles files = FindCannFiles(folder_.prof_dir, folder_.prof, "", result_.report);
      database_ = FindCannDatabase(folder_, files.tables);
      return files;
    }
    ExportOptions options;
    options.formats.clear();
    // Of the timeline the tables are made, too.
    if (WantsText()) options.formats = {ExportFormat::kChrome, ExportFormat::kCsv};
    for (const ExportFormat format : {ExportFormat::kDatabase, ExportFormat::kPerfetto}) {
      if (Wants(format)) options.formats.push_back(format);
    }
    PerfettoView view(calls);
    CollectiveParts parts(folder_.is_own ? Told::kAsWholes : Told::kInParts);
    const bool is_analyzed = static_cast<bool>(OpenDir(folder_.prof_dir.get(), kAnalyzeFolder));
    if (Wants(ExportFormat::kPerfetto)) options.companions.push_back(&view);
    if (!is_analyzed) options.companions.push_back(&parts);
    options.jobs = options_.jobs;
    options.vendor_compatible = options_.vendor_compatible;
    if (!options_.out.empty()) options.out = options_.out + "/" + folder_.prof;
    PROFD_ASSIGN_OR_RETURN(const ExportResult exported, Export(folder_.ProfPath(), options, progress_));
    result_.report.Add(exported.report, folder_.prof + "/");
    result_.input_bytes += exported.input_bytes;
    result_.output_bytes += exported.output_bytes;
    result_.left_out += exported.left_out;
    for (const std::string& file : exported.files) {
      if (file.ends_with(".db")) {
        database_.name = file.substr(file.rfind('/') + 1);  // it becomes the folder's
      } else if (file.ends_with(kPerfettoEnding)) {
        timeline_ = file.substr(file.rfind('/') + 1);
      } else {
        result_.files.push_back(file);
      }
    }
    if (!options.out.empty()) {
      PROFD_ASSIGN_OR_RETURN(made_, OpenWay(options.out, IfMissing::kFail));
    }
    const UniqueFd& root = made_ ? made_ : folder_.prof_dir;
    if (!database_.name.empty()) database_ = {root.get(), database_.name, true};
    if (!parts.empty()) PROFD_RETURN_IF_ERROR(Analyze(parts, root));
    CannFiles files = FindCannFiles(root, folder_.prof, StampIn(exported.files), result_.report);
    if (made_ && is_analyzed)
      files.analyze = FindCannFiles(folder_.prof_dir, folder_.prof, files.stamp, result_.report).analyze;
    return files;
  }

  // What `msprof --analyze` makes, as nobody called it.
  Status Analyze(const CollectiveParts& parts, const UniqueFd& root) {
    const std::string shown =
        (options_.out.empty() ? folder_.ProfPath() : options_.out + "/" + folder_.prof) + "/" +
        kAnalyzeFolder;
    PROFD_ASSIGN_OR_RETURN(const UniqueFd folder,
                           OpenOwnFolder(root.get(), kAnalyzeFolder, shown, FolderOwner::kCallerOrParent));
    PROFD_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                           WriteAnalysis(parts, folder, shown, result_.report));
    result_.files.insert(result_.files.end(), files.begin(), files.end());
    return {};
  }

  Status Write(Calls& calls, const CannFiles& cann, const UniqueFd& results_folder, Results& results) {
    const bool has_none = calls.ops.empty() && calls.enqueues.empty() && calls.gc.empty() && !cann.is_there();
    if (options_.repairs && has_none) {
      result_.report.Note("there is nothing that results could be made of; those that are there are mended");
      return MendTimeline(results_folder, kTraceView, results, result_.report, progress_);
    }
    if (WantsText()) PROFD_RETURN_IF_ERROR(WriteTexts(calls, cann, results));
    if (Wants(ExportFormat::kPerfetto)) PROFD_RETURN_IF_ERROR(WritePerfetto(calls, cann, results));
    if (Wants(ExportFormat::kDatabase)) {
      PROFD_RETURN_IF_ERROR(
          WriteDatabases(folder_, calls, database_, cann.analyze, results, result_.report, progress_));
    }
    PROFD_RETURN_IF_ERROR(Cancelled());
    PROFD_ASSIGN_OR_RETURN(const auto done, results.Open(kDone));
    return results.Finish(*done, kDone);
  }

  Status WriteTexts(const Calls& calls, const CannFiles& cann, Results& results) {
    Report& report = result_.report;
    const DeviceSide device = ReadTimelines(cann, options_.vendor_compatible, report, progress_);
    PROFD_RETURN_IF_ERROR(Cancelled());
    Tree tree;
    const Links links = Connect(calls, device, options_.vendor_compatible, tree);
    if (Wants(ExportFormat::kChrome)) PROFD_RETURN_IF_ERROR(WriteTrace(calls, cann, device, links, results));
    if (!Wants(ExportFormat::kCsv)) return {};
    PROFD_RETURN_IF_ERROR(WriteOperatorDetails(folder_, calls, tree, links, results));
    PROFD_RETURN_IF_ERROR(WriteKernelDetails(folder_, cann, calls, device, links, results, report));
    PROFD_RETURN_IF_ERROR(WriteStepTrace(folder_, calls, device.pieces, links.steps, results));
    PROFD_RETURN_IF_ERROR(WriteCommunication(cann, links.steps, results, report));
    PROFD_RETURN_IF_ERROR(WriteOperatorMemory(folder_, calls, tree, cann, results, report));
    PROFD_RETURN_IF_ERROR(WriteMemoryRecord(folder_, calls, cann, results, report));
    return PassOn(folder_, cann, results, report);
  }

  // The PROF directory's export has made it of both; it becomes the folder's.
  Status WritePerfetto(Calls& calls, const CannFiles& cann, Results& results) {
    const std::string name = kPerfettoView, part = results.PathTo(name) + ".part";
    if (timeline_.empty()) {
      PROFD_RETURN_IF_ERROR(WritePerfettoAlone(calls, part));
    } else if (::renameat(cann.tables.get(), timeline_.c_str(), AT_FDCWD, part.c_str()) != 0) {
      return Status::FromErrno("rename " + timeline_);
    }
    return results.Take(name);
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
    report.Note(folder_.is_mindspore ? "not made: dataset.csv, minddata_*, memory of mindspore.memory_usage, "
                                       "functions of mindspore.py_stack"
                                     : "not made: stacks, memory timelines");
    if (Wants(ExportFormat::kDatabase) && database_.folder < 0)
      report.Note("no database of a PROF directory is in it: " + DatabaseName(folder_) +
                  " has the framework's own tables alone, and there is no " + kAnalysis);
    if (Wants(ExportFormat::kPerfetto) && timeline_.empty())
      report.Note(std::string(kPerfettoView) +
                  ": has the framework's calls alone, as no PROF directory with data is in it");
    if (!Wants(ExportFormat::kCsv)) return;
    if (!cann.is_there()) {
      report.Note(
          "not made, as no PROF directory with data or results is in it: kernel_details.csv, "
          "step_trace_time.csv, communication.json, communication_matrix.json");
    } else if (!cann.analyze) {
      report.Note(
          "not made, as nothing is known of collectives: communication.json, communication_matrix.json");
    }
  }

  const Folder& folder_;
  const FrameworkOptions& options_;
  Progress& progress_;
  ExportResult& result_;
  const std::vector<ExportFormat> formats_ = FormatsOf(folder_, options_);
  UniqueFd made_;  // where the PROF directory's export is; none: in it
  CannDatabase database_;
  std::string timeline_;  // Perfetto's, of the PROF directory; "": there is none
};

}  // namespace

Result<ExportResult> ExportFolder(const std::string& path, const FrameworkOptions& options,
                                  Progress& progress) {
  const uint64_t begin_ns = base::MonotonicNs();
  ExportResult result;
  result.directory = path;
  PROFD_ASSIGN_OR_RETURN(const Folder folder, OpenFolder(path, options.repairs, result.report));
  result.is_repaired = options.repairs;
  PROFD_RETURN_IF_ERROR(Exporter(folder, options, progress, result).Run());
  for (const auto& [stream, count] : result.report.streams()) {
    if (stream.starts_with(kRecords)) result.input_bytes += count.bytes;
  }
  result.duration_ns = base::MonotonicNs() - begin_ns;
  return result;
}

Status CheckFormats(const std::string& folder, const std::vector<ExportFormat>& formats) {
  for (const ExportFormat format : formats) {
    if (format == ExportFormat::kChrome || format == ExportFormat::kCsv ||
        format == ExportFormat::kDatabase || format == ExportFormat::kPerfetto)
      continue;
    return {Code::kInvalidArgument,
            "--format " + std::string(FormatName(format)) + ": of " + folder +
                ", a folder of Ascend's PyTorch Profiler, expected some of text (chrome "
                "and csv), perfetto, db"};
  }
  return {};
}

std::vector<std::string> PlannedFiles(const std::string& path, const FrameworkOptions& options) {
  std::vector<std::string> files;
  Report unused;
  const auto folder = OpenFolder(path, options.repairs, unused);
  if (!folder.ok()) return files;
  const std::string results = (options.out.empty() ? path : options.out) + "/" + kResults + "/";
  const auto plan = [&](std::initializer_list<std::string> names) {
    for (const std::string& name : names) files.push_back(results + name);
  };
  for (const ExportFormat format : FormatsOf(*folder, options)) {
    if (format == ExportFormat::kChrome) plan({kTraceView});
    if (format == ExportFormat::kPerfetto) plan({kPerfettoView});
    if (format == ExportFormat::kDatabase) plan({DatabaseName(*folder), kAnalysis});
    if (format == ExportFormat::kCsv) {
      plan({"operator_details.csv", "kernel_details.csv", "step_trace_time.csv", "communication.json",
            "communication_matrix.json", "operator_memory.csv", "memory_record.csv"});
    }
  }
  plan({kDone});
  return files;
}

}  // namespace profd::client::framework
