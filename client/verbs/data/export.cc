#include "client/verbs/data/export.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/join.h"
#include "client/export/arguments.h"
#include "client/export/exporter.h"
#include "client/export/framework/framework.h"
#include "client/export/framework/input/folder.h"
#include "client/export/per_device.h"
#include "client/export/read/capture.h"
#include "client/show/interrupt.h"
#include "client/show/json.h"
#include "client/verbs/data/cluster.h"
#include "client/verbs/data/parquet.h"
#include "client/verbs/directories.h"
#include "client/verbs/verb.h"
#include "client/verify/repair.h"
#include "client/words/args.h"
#include "client/words/jobs.h"
#include "client/words/text.h"

namespace profd::client {

namespace {

using base::Result;
using base::Status;

struct Job {
  std::string directory;
  ExportOptions options;
  bool is_framework = false;               // a framework's folder, not a PROF directory
  std::vector<ExportFormat> formats = {};  // of that, as they were asked for
  bool repairs = false;
  std::optional<Result<ExportResult>> result;

  framework::FrameworkOptions OfFramework() const {
    return {formats, options.out, options.jobs, options.vendor_compatible, repairs};
  }
};

Result<ExportOptions> Parse(const ExportArguments& arguments) {
  ExportOptions options;
  if (!arguments.format.empty()) {
    PROFD_ASSIGN_OR_RETURN(options.formats, ParseFormats(arguments.format));
  } else if (arguments.per_device) {
    // The vendor's advisor takes tables that say no operator is static for a job of dynamic shapes.
    options.formats = {ExportFormat::kChrome, ExportFormat::kDatabase};
  }
  if (!arguments.from.empty()) {
    PROFD_ASSIGN_OR_RETURN(options.from, ParseTimePoint("--from", arguments.from));
  }
  if (!arguments.to.empty()) {
    PROFD_ASSIGN_OR_RETURN(options.to, ParseTimePoint("--to", arguments.to));
  }
  if (!arguments.devices.empty()) {
    PROFD_ASSIGN_OR_RETURN(const DeviceList devices, ParseDevices(arguments.devices));
    if (!devices.all) options.devices.emplace(devices.devices.begin(), devices.devices.end());
  }
  if (!arguments.kinds.empty()) {
    PROFD_ASSIGN_OR_RETURN(options.kinds, ParseKinds(arguments.kinds));
  }
  options.jobs = OwnJobs();
  if (!arguments.jobs.empty()) {
    PROFD_ASSIGN_OR_RETURN(options.jobs, ParseJobs(arguments.jobs));
  }
  if (!arguments.split.empty()) {
    PROFD_ASSIGN_OR_RETURN(options.split_ns, ParseSplit(arguments.split));
  }
  if (!arguments.model.empty() || !arguments.iteration.empty()) {
    PROFD_ASSIGN_OR_RETURN(options.iteration, ParseIteration(arguments.model, arguments.iteration));
  }
  const char* const of_chrome = options.split_ns > 0 ? "--split" : arguments.gzip ? "--gzip" : nullptr;
  if (of_chrome != nullptr && std::ranges::count(options.formats, ExportFormat::kChrome) == 0) {
    return Status(base::Code::kInvalidArgument,
                  std::string(of_chrome) + ": is for format chrome, which --format does not have");
  }
  if (arguments.per_device && arguments.out.empty()) {
    return Status(base::Code::kInvalidArgument,
                  arguments.layout.empty()
                      ? "--per-device: makes a directory for each device; say where with --out"
                      : "--layout: makes a folder for each rank; say where with --out");
  }
  options.out = arguments.out;
  options.without = arguments.without;
  options.vendor_compatible = arguments.vendor_compatible;
  options.gzip = arguments.gzip;
  options.resume = arguments.resume;
  PROFD_RETURN_IF_ERROR(CheckRange(options));
  return options;
}

// What is all of its own: the formats of these are fixed.
Status CheckLayout(const ExportArguments& arguments) {
  const auto wrong = [](const std::string& text) { return Status(base::Code::kInvalidArgument, text); };
  if (!arguments.layout.empty() && arguments.layout != "framework")
    return wrong("--layout " + arguments.layout + ": expected framework");
  const char* const option = arguments.cluster          ? "--cluster-output"
                             : arguments.layout.empty() ? nullptr
                                                        : "--layout";
  if (option == nullptr) return {};
  if (arguments.cluster && !arguments.layout.empty())
    return wrong("--cluster-output and --layout: choose one, or call export twice");
  if (!arguments.format.empty())
    return wrong(std::string(option) + " has formats of its own: leave --format out");
  return {};
}

// The host is always in.
std::set<int64_t> OnlyDevice(int device) {
  return device < 0 ? std::set<int64_t>() : std::set<int64_t>{device};
}

// A line on the terminal that says how far it is. **Owns:** a thread.
class Bar {
 public:
  Bar(const Progress& progress, uint64_t total_bytes) : progress_(progress), total_bytes_(total_bytes) {
    if (::isatty(STDERR_FILENO) == 1) thread_ = std::thread([this] { Run(); });
  }
  ~Bar() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    if (!thread_.joinable()) return;
    thread_.join();
    std::fputs("\r\033[K", stderr);
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(200), [this] { return over_; })) Show();
  }
  void Show() const {
    const double done = static_cast<double>(progress_.bytes);
    const double seconds = static_cast<double>(base::MonotonicNs() - begin_ns_) / 1e9;
    const double part = total_bytes_ == 0 ? 1 : std::min(1.0, done / static_cast<double>(total_bytes_));
    std::string line =
        std::to_string(static_cast<int>(part * 100)) + " %  " + FormatBytes(done / seconds) + "/s";
    if (part > 0 && part < 1) {
      line += "  " + FormatDuration(static_cast<uint64_t>(seconds * (1 - part) / part * 1e9)) + " left";
    }
    std::fprintf(stderr, "\r\033[K%s", line.c_str());
  }

  const Progress& progress_;
  const uint64_t total_bytes_;
  const uint64_t begin_ns_ = base::MonotonicNs();
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

Result<ExportResult> RunJob(const Job& job, Progress& progress) {
  if (job.is_framework) return framework::ExportFolder(job.directory, job.OfFramework(), progress);
  Result<ExportResult> result = Export(job.directory, job.options, progress);
  if (result.ok() && framework::IsIn(job.directory)) {
    result->report.Note(
        "FRAMEWORK beside it: calls of the framework, which an export of the folder above reads, too");
  }
  return result;
}

// Some directories at a time; what is left of the threads goes to the outputs of each.
void RunJobs(std::vector<Job>& jobs, Progress& progress) {
  const size_t at_once = std::clamp<size_t>(jobs.front().options.jobs, 1, jobs.size());
  for (Job& job : jobs)
    job.options.jobs = std::max<unsigned>(1, job.options.jobs / static_cast<unsigned>(at_once));
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < jobs.size() && !progress.cancelled; i = next++) {
      jobs[i].result.emplace(RunJob(jobs[i], progress));
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < at_once; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
}

void PrintResult(const Context& context, const ExportResult& result) {
  const std::string& directory = result.directory;
  for (const Skipped& skipped : result.report.skipped()) {
    std::string line = directory + (skipped.stream.empty() ? "" : "/" + skipped.stream) + ": ";
    if (skipped.bytes > 0) {
      line +=
          "at " + std::to_string(skipped.offset) + ": " + std::to_string(skipped.bytes) + " bytes left out: ";
    } else if (skipped.records > 0) {
      line +=
          std::to_string(skipped.records) + (skipped.records == 1 ? " record" : " records") + " left out: ";
    }
    context.Print(OneLine(line + skipped.why) + "\n");
  }
  if (const uint64_t more = result.report.more_skipped(); more > 0) {
    context.Print(OneLine(directory + ": and " + std::to_string(more) + " more places") + "\n");
  }
  if (result.left_out > 0) {
    context.Print(OneLine(directory + ": outputs had no place for " + std::to_string(result.left_out) +
                          (result.left_out == 1 ? " value" : " values")) +
                  "\n");
  }
  for (const std::string& note : result.report.NotesInShort()) context.Print(OneLine("note: " + note) + "\n");
  for (const std::string& file : result.files) context.Print(OneLine(file) + "\n");
  if (!result.nothing.empty()) {
    return context.Print(OneLine(directory + ": nothing exported: " + result.nothing) + "\n");
  }
  const bool whole = result.report.complete() && result.left_out == 0;
  const uint64_t unread = result.report.unread();
  const std::string but = unread == 0 ? ""
                                      : " but for " + std::to_string(unread) +
                                            (unread == 1 ? " file that is" : " files that are") + " not read";
  const std::string end = result.is_unsealed ? ", all of a recording that is not sealed" : ", complete";
  context.Print(OneLine(directory + ": " + std::to_string(result.report.records()) + " records, " +
                        FormatBytes(static_cast<double>(result.input_bytes)) + " in, " +
                        FormatBytes(static_cast<double>(result.output_bytes)) + " out, " +
                        FormatDuration(result.duration_ns) +
                        (whole                ? end + but
                         : result.is_repaired ? ", repaired"
                                              : ", NOT complete")) +
                "\n");
}

Status CheckFramework(const ExportArguments& arguments, const std::string& folder) {
  const char* const option = OptionOfOneDirectory(arguments, true);
  if (option == nullptr) return {};
  return {base::Code::kInvalidArgument,
          folder + " is a folder of Ascend's PyTorch Profiler, which is exported without " + option +
              "; name the PROF directory in it to export that alone"};
}

// The framework's folders that were given, or with --recursive are right in it.
Result<std::vector<Found>> FindFramework(const ExportArguments& arguments, const std::string& directory) {
  std::vector<Found> found;
  if (arguments.is_vendors) return found;
  if (framework::IsFolder(directory)) {
    const size_t end = directory.find_last_not_of('/');
    found.push_back({directory.substr(0, end == directory.npos ? 1 : end + 1), std::nullopt, false, true});
  } else {
    for (std::string& folder : framework::FoldersIn(directory))
      found.push_back({std::move(folder), std::nullopt, false, true});
  }
  if (found.empty()) return found;
  PROFD_RETURN_IF_ERROR(CheckFramework(arguments, found.front().directory));
  if (!arguments.format.empty()) {
    PROFD_ASSIGN_OR_RETURN(const std::vector<ExportFormat> formats, ParseFormats(arguments.format));
    PROFD_RETURN_IF_ERROR(framework::CheckFormats(found.front().directory, formats));
  }
  return found;
}

// "1 PROF directory", "2 PROF directories"; "" = none.
std::string Counted(size_t count, const char* one, const char* many) {
  return count == 0 ? "" : std::to_string(count) + " " + (count == 1 ? one : many);
}

// Why a folder that is neither is not exported just like that.
Status NotOne(const std::string& directory, const std::vector<Found>& found) {
  const auto folders = static_cast<size_t>(std::ranges::count_if(found, &Found::is_framework));
  std::string text =
      Counted(folders, "folder of Ascend's PyTorch Profiler", "folders of Ascend's PyTorch Profiler");
  if (found.size() > folders)
    base::AddTo(text, Counted(found.size() - folders, "PROF directory", "PROF directories"), " and ");
  const bool is_one = found.size() == 1;
  return {base::Code::kInvalidArgument,
          directory + " is not a PROF directory; below it " + (is_one ? "is " : "are ") + text +
              (is_one ? ": " + found.front().directory : "") + "; --recursive exports " +
              (is_one ? "it" : "all of them") + ", --dry-run lists what that would write"};
}

// A folder of PROF directories is no accident only when somebody says so: an export writes into each of them.
Result<std::vector<Found>> Find(const Context& context, const ExportArguments& arguments,
                                const std::string& directory) {
  PROFD_ASSIGN_OR_RETURN(std::vector<Found> of_framework, FindFramework(arguments, directory));
  if (!of_framework.empty()) {
    const auto others = FindSides(context, directory);  // beside them
    for (const Found& other : others.ok() ? *others : std::vector<Found>()) {
      const auto holds = [&other](const Found& folder) {
        return other.directory.starts_with(folder.directory + "/");
      };
      if (std::ranges::none_of(of_framework, holds)) of_framework.push_back(other);
    }
    const bool is_itself = framework::IsFolder(directory);
    if (is_itself || arguments.recursive || arguments.dry_run) return of_framework;
    return NotOne(directory, of_framework);
  }
  PROFD_ASSIGN_OR_RETURN(std::vector<Found> found, FindSides(context, directory, arguments.is_vendors));
  const bool is_itself = found.front().of_session ||
                         (found.size() == 1 && (found.front().side || found.front().directory == directory));
  if (is_itself || arguments.is_vendors || arguments.recursive || arguments.dry_run) return found;
  return NotOne(directory, found);
}

// A job for each device of each.
std::vector<Job> SplitByDevice(const Context& context, const std::vector<Job>& jobs, ExitCode* worst) {
  std::vector<Job> parts;
  for (const Job& job : jobs) {
    Result<std::vector<ExportOptions>> devices = ByDevice(job.directory, job.options);
    if (!devices.ok()) {
      *worst = context.Fail(devices.status());
      continue;
    }
    for (ExportOptions& options : *devices)
      parts.push_back({job.directory, std::move(options), false, {}, false, std::nullopt});
  }
  return parts;
}

ExitCode PrintOutputs(const Context& context, const std::vector<Job>& jobs) {
  auto worst = ExitCode::kOk;
  std::vector<std::pair<std::string, std::vector<std::string>>> planned;
  for (const Job& job : jobs) {
    Result<std::vector<std::string>> outputs = job.is_framework
                                                   ? framework::PlannedFiles(job.directory, job.OfFramework())
                                                   : Outputs(job.directory, job.options);
    if (!outputs.ok()) {
      worst = context.Fail(outputs.status());
      continue;
    }
    for (const std::string& output : *outputs) {
      if (!context.json) context.Print(OneLine(output) + "\n");
    }
    planned.emplace_back(job.directory, std::move(outputs).value());
  }
  if (context.json) context.Print(PlannedJson(planned, worst == ExitCode::kOk));
  return worst;
}

Action Define(cli::Arguments arguments) {
  const auto wanted = std::make_shared<ExportArguments>();
  arguments
      .List("DIR", &wanted->directories,
            "PROF directories, *_ascend_pt and *_ascend_ms folders or sessions; with --recursive folders of "
            "such")
      .Required();
  arguments
      .Text("--format,--type", &wanted->format,
            "some of chrome,perfetto,csv,json,db,collapsed,pprof, or text (chrome,csv), or parquet; default "
            "chrome,csv,db, "
            "with --per-device chrome,db, of *_ascend_pt what the job asked for")
      .Joined();
  arguments.Text("--out", &wanted->out, "where the outputs go; default: into each DIR");
  arguments.Text("--from", &wanted->from,
                 "leave out what lies before: +1.5s, \"2026-11-22 05:10:20\", @SECONDS");
  arguments.Text("--to", &wanted->to, "leave out what lies after");
  arguments.Text("--devices", &wanted->devices, "all, or numbers: 0,1; the host is always included").Joined();
  arguments.Text("--kinds", &wanted->kinds, "only these kinds: hbm,pcie,…").Joined();
  arguments.Text("--iteration", &wanted->iteration,
                 "only what lies within this iteration; 1 if only --model is given");
  arguments.Text("--model", &wanted->model, "iterations of this model; default: the smallest number");
  arguments.Text("--jobs", &wanted->jobs, "number of threads, 1 to 64; default one per core");
  arguments.Flag("--vendor-compatible", &wanted->vendor_compatible,
                 "with the vendor's known faults, value for value (docs/export.md)");
  arguments.Text("--split", &wanted->split, "split the timeline into files of this length, e.g. 60s");
  arguments.Flag("--gzip", &wanted->gzip, "compress the timeline");
  arguments.Flag("--resume", &wanted->resume, "leave finished outputs of an earlier export alone");
  arguments.Flag(
      "--repair", &wanted->repair,
      "of *_ascend_pt and *_ascend_ms of jobs that were killed: all that can be saved counts as whole");
  arguments.Flag("--recursive", &wanted->recursive, "a DIR may be a folder: all PROF directories below it");
  arguments.Flag("--per-device", &wanted->per_device,
                 "a PROF directory for each device, below --out: for analysers of many ranks");
  arguments.Text(
      "--layout", &wanted->layout,
      "framework: a folder for each rank below --out, as a framework's profiler leaves it: databases, "
      "timeline, text (docs/export.md)");
  arguments.Flag("--cluster-output", &wanted->cluster,
                 "of a job of many ranks: what msprof-analyze reads and makes, below --out (docs/export.md)");
  arguments.Flag("--dry-run", &wanted->dry_run, "only list what would be written");
  return {.run = [wanted](const Context& context) { return RunExport(context, *wanted); }};
}

}  // namespace

const char* OptionOfOneDirectory(const ExportArguments& arguments, bool is_framework) {
  struct Option {
    const char* name;
    bool is_given, of_framework = false;
  };
  const Option options[] = {{"--from", !arguments.from.empty()},
                            {"--to", !arguments.to.empty()},
                            {"--devices", !arguments.devices.empty()},
                            {"--kinds", !arguments.kinds.empty()},
                            {"--iteration", !arguments.iteration.empty()},
                            {"--model", !arguments.model.empty()},
                            {"--split", !arguments.split.empty()},
                            {"--gzip", arguments.gzip},
                            {"--resume", arguments.resume},
                            {"--per-device", arguments.per_device && arguments.layout.empty()},
                            {"--layout", !arguments.layout.empty()},
                            {"--repair", arguments.repair, true},
                            {"--dry-run", arguments.dry_run, true},
                            {"--vendor-compatible", arguments.vendor_compatible, true}};
  for (const Option& option : options) {
    if (option.is_given && !(is_framework && option.of_framework)) return option.name;
  }
  return nullptr;
}

ExitCode RunExport(const Context& context, const ExportArguments& given) {
  ExportArguments arguments = given;
  const bool of_framework = !arguments.layout.empty();
  if (const Status status = CheckLayout(arguments); !status.ok()) return context.Fail(status);
  if (of_framework) arguments.per_device = true;
  if (arguments.format == "parquet") {
    const Result<unsigned> threads =
        arguments.jobs.empty() ? Result<unsigned>(OwnJobs()) : ParseJobs(arguments.jobs);
    return threads.ok() ? ExportParquet(context, arguments, *threads) : context.Fail(threads.status());
  }
  const Result<ExportOptions> options = Parse(arguments);
  if (!options.ok()) return context.Fail(options.status());
  if (arguments.cluster) return ExportCluster(context, arguments.directories, arguments.out, options->jobs);
  auto worst = ExitCode::kOk;
  std::vector<Job> jobs;
  for (const std::string& directory : arguments.directories) {
    const auto found = Find(context, arguments, directory);
    if (!found.ok()) {
      worst = context.Fail(found.status());
      continue;
    }
    for (const Found& part : *found) {
      if (arguments.repair && !part.is_framework) {
        worst = context.Fail(Status(base::Code::kInvalidArgument,
                                    part.directory + ": --repair is for folders of frameworks; of a PROF "
                                                     "directory: profctl repair DIR, then export it"));
        continue;
      }
      jobs.push_back({part.directory, *options, part.is_framework, {}, arguments.repair, std::nullopt});
      if (part.is_framework && !arguments.format.empty()) jobs.back().formats = options->formats;
      if (part.side) jobs.back().options.devices = OnlyDevice(*part.side);
    }
  }
  if (arguments.per_device) jobs = SplitByDevice(context, jobs, &worst);
  if (jobs.empty()) return worst;
  if (jobs.size() > 1 && !arguments.out.empty() && !arguments.per_device) {
    for (Job& job : jobs) job.options.out += "/" + CaptureName(job.directory);
  }

  if (arguments.dry_run) return std::max(worst, PrintOutputs(context, jobs));

  Progress progress;
  uint64_t total_bytes = 0;
  for (const Job& job : jobs) total_bytes += InputBytes(job.directory) * Passes(job.options);
  {
    const InterruptWatch interrupts([&progress](int) { progress.cancelled = true; });
    const Bar bar(progress, total_bytes);
    RunJobs(jobs, progress);
  }
  std::vector<ExportResult> results;
  for (Job& job : jobs) {
    if (!job.result) continue;  // interrupted before its turn
    if (!job.result->ok()) {
      worst = context.Fail(job.result->status());
      continue;
    }
    results.push_back(std::move(*job.result).value());
    if (results.back().is_unsealed) results.back().report.Note(WhyUnsealed(results.back().directory));
  }
  if (arguments.per_device && !progress.cancelled) {
    const ExitCode analyzed =
        AnalyzeRanks(context, options->jobs, of_framework ? arguments.out : "", results);
    worst = std::max(worst, analyzed);
  }
  for (const ExportResult& result : results) {
    const bool whole = result.report.complete() && result.left_out == 0;
    if (!whole && !result.is_repaired && worst == ExitCode::kOk) worst = ExitCode::kPartialLoss;
    if (!context.json) PrintResult(context, result);
  }
  const auto empty = [](const ExportResult& result) { return !result.nothing.empty(); };
  if (!results.empty() && std::ranges::all_of(results, empty) && worst == ExitCode::kOk)
    worst = ExitCode::kNotFound;
  if (context.json) context.Print(ExportJson(results, worst == ExitCode::kOk));
  return worst;
}

namespace verbs {
Verb Export() {
  return {"export", "turn PROF directories, profd's or the vendor's, into timelines, tables and a database",
          Reach::kHere, Define};
}
}  // namespace verbs

}  // namespace profd::client
