#include "client/export/framework/database/database.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "client/export/db/sqlite_engine.h"
#include "client/export/framework/analyzer/collective_parts.h"
#include "client/export/framework/database/analysis.h"
#include "client/export/framework/database/call_tables.h"
#include "client/export/framework/database/launches.h"
#include "client/export/framework/database/memory_rows.h"
#include "client/export/framework/database/step_times.h"
#include "client/export/read/metadata.h"
#include "client/export/write/json_text.h"
#include "client/files/prof_files.h"

namespace profd::client::framework {
namespace {

using base::Status;
using base::UniqueFd;

// A database in the making: <name>.part, removed if it never becomes whole.
class Part {
 public:
  explicit Part(std::string path) : path_(std::move(path)) { ::unlink(path_.c_str()); }
  ~Part() {
    if (!is_kept_) ::unlink(path_.c_str());
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  Status Fill(const CannDatabase& cann) const {
    const int dir = AT_FDCWD;
    if (cann.is_moved && ::renameat(cann.folder, cann.name.c_str(), dir, path_.c_str()) == 0) return {};
    const UniqueFd to(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640));
    if (!to) return Status::FromErrno("create " + path_);
    if (cann.folder < 0) return {};
    uint64_t bytes = 0;
    std::string why;
    const UniqueFd from = OpenFile(cann.folder, cann.name, &bytes, &why);
    if (!from) return {base::Code::kFailedPrecondition, cann.name + ": " + why};
    std::vector<std::byte> buffer(1u << 20);
    for (;;) {
      const ssize_t got = ReadSome(from.get(), buffer.data(), buffer.size());
      if (got < 0) return Status::FromErrno("read " + cann.name);
      if (got == 0) return {};
      for (ssize_t done = 0; done < got;) {
        const ssize_t wrote = ::write(to.get(), buffer.data() + done, static_cast<size_t>(got - done));
        if (wrote < 0 && errno != EINTR) return Status::FromErrno("write " + path_);
        done += std::max<ssize_t>(wrote, 0);
      }
    }
  }
  void Keep() { is_kept_ = true; }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  bool is_kept_ = false;
};

// The vendor's has the environment of who exports beside that of the job.
std::string OwnEnvironment() {
  std::string json;
  for (const char* const name :
       {"ASCEND_GLOBAL_LOG_LEVEL", "HCCL_RDMA_TC", "HCCL_RDMA_SL", "ACLNN_CACHE_LIMIT", "HOST_CACHE_CAPACITY",
        "ASCEND_ENHANCE_ENABLE", "PYTORCH_NPU_ALLOC_CONF", "ASCEND_LAUNCH_BLOCKING", "HCCL_ALGO"}) {
    const char* const value = std::getenv(name);
    json += json.empty() ? "{" : ", ";
    AppendJsonString(json, name);
    json += ": ";
    AppendJsonString(json, value == nullptr ? "" : value);
  }
  return json + "}";
}

void WriteFacts(const Folder& folder, bool as_vendor, SqliteEngine& engine, Report& report) {
  engine.Run("CREATE TABLE IF NOT EXISTS RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER)");
  engine.Run("DELETE FROM RANK_DEVICE_MAP");
  SqliteEngine::Insert ranks = engine.Into("RANK_DEVICE_MAP (rankId, deviceId)", 2);
  for (const int device : folder.devices) ranks.Append({folder.info.rank, device});
  if (folder.devices.empty()) ranks.Append({folder.info.rank, -1});

  engine.Run("CREATE TABLE IF NOT EXISTS META_DATA (name TEXT, value TEXT)");
  SqliteEngine::Insert facts = engine.Into("META_DATA (name, value)", 2);
  const Metadata metadata = ReadMetadata(folder.dir.get(), report);
  if (as_vendor) facts.Append({std::string_view(kEnvironment), std::string_view(OwnEnvironment())});
  // The PROF directory's export has read it, too; and the job knows better than what was told to profd.
  if (!as_vendor && !metadata.empty()) {
    const bool has_groups = std::ranges::count(metadata, kParallelGroups, &Metadata::value_type::first) > 0;
    engine.Run(std::string("DELETE FROM META_DATA WHERE name NOT LIKE 'SCHEMA%'") +
               (has_groups ? "" : std::string(" AND name <> '") + kParallelGroups + "'"));
  }
  for (const auto& [name, value] : metadata) facts.Append({std::string_view(name), std::string_view(value)});
}

void WriteSteps(const std::vector<Step>& steps, SqliteEngine& engine) {
  if (steps.empty()) return;
  engine.Run("CREATE TABLE IF NOT EXISTS STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER)");
  engine.Run("DELETE FROM STEP_TIME");  // what agents said of the same steps
  SqliteEngine::Insert rows = engine.Into("STEP_TIME (id, startNs, endNs)", 3);
  for (const Step& step : steps) rows.Append({step.number, step.begin, step.end});
}

void WriteGc(const Calls& calls, SqliteEngine& engine) {
  if (calls.gc.empty()) return;
  engine.Run("DROP TABLE IF EXISTS GC_RECORD");
  engine.Run("CREATE TABLE GC_RECORD (startNs INTEGER, endNs INTEGER, globalTid INTEGER)");
  SqliteEngine::Insert rows = engine.Into("GC_RECORD", 3);
  for (const GcSpan& run : calls.gc) rows.Append({run.begin, run.end, GlobalTid(run.pid, run.pid)});
}

// Without a device there is nothing to analyse.
Status WriteAnalysis(const Calls& calls, const Linked& linked, const UniqueFd& analyze, SqliteEngine& engine,
                     Results& results, Report& report, Progress& progress) {
  const bool as_vendor = results.as_vendor();
  const std::vector<Step> steps = DeviceSteps(calls, linked, as_vendor, engine);
  const std::vector<StepTime> times = StepTimes(calls, steps, as_vendor, engine);
  PROFD_RETURN_IF_ERROR(engine.status());
  Part part(results.PathTo(kAnalysis) + ".part");
  PROFD_RETURN_IF_ERROR(part.Fill({}));
  SqliteEngine analysis(part.path());
  analysis.EndWhen(progress.cancelled);
  analysis.Run("BEGIN");
  uint64_t bytes = 0;
  std::string why;
  const bool has_analyzer = analyze && Names(analyze.get()).contains(kAnalyzerDatabase);
  const UniqueFd file = has_analyzer ? OpenFile(analyze.get(), kAnalyzerDatabase, &bytes, &why) : UniqueFd();
  if (file) {
    SqliteEngine analyzer("/proc/self/fd/" + std::to_string(file.get()), SqliteEngine::For::kReading);
    analyzer.EndWhen(progress.cancelled);
    report.Note(kAnalysis, WriteCommunicationTables(analyzer, steps, as_vendor, analysis),
                "operation lies in no step", "operations lie in no step");
    if (!analyzer.status().ok())
      report.Skip({std::string("analyze/") + kAnalyzerDatabase, 0, 0, 0, analyzer.status().message()});
  } else if (has_analyzer) {
    report.Skip({std::string("analyze/") + kAnalyzerDatabase, 0, 0, 0, why});
  }
  WriteStepTimes(times, analysis);
  analysis.Run("COMMIT");
  PROFD_RETURN_IF_ERROR(analysis.status());
  part.Keep();
  return results.Take(kAnalysis);
}

}  // namespace

std::string DatabaseName(const Folder& folder) {
  return (folder.is_mindspore ? "ascend_mindspore_profiler" : std::string("ascend_pytorch_profiler")) +
         (folder.info.rank < 0 ? "" : "_" + std::to_string(folder.info.rank)) + ".db";
}

CannDatabase FindCannDatabase(const Folder& folder, const UniqueFd& tables) {
  const auto is_one = [](const std::string& name) {
    constexpr std::string_view kStem = "msprof_", kEnding = ".db";
    if (!name.starts_with(kStem) || !name.ends_with(kEnding) || name.size() <= kStem.size() + kEnding.size())
      return false;
    const std::string_view stamp =
        std::string_view(name).substr(kStem.size(), name.size() - kStem.size() - kEnding.size());
    return stamp.find_first_not_of("0123456789") == stamp.npos;
  };
  CannDatabase newest;
  for (const UniqueFd* const dir : {&folder.prof_dir, &tables}) {
    if (!*dir || newest.folder >= 0) continue;
    for (const std::string& name : Names(dir->get())) {
      if (is_one(name)) newest = {dir->get(), name, false};
    }
  }
  return newest;
}

Status WriteDatabases(const Folder& folder, const Calls& calls, const CannDatabase& cann,
                      const UniqueFd& analyze, Results& results, Report& report, Progress& progress) {
  const std::string name = DatabaseName(folder);
  const bool as_vendor = results.as_vendor();
  Part part(results.PathTo(name) + ".part");
  PROFD_RETURN_IF_ERROR(part.Fill(cann));
  {
    SqliteEngine engine(part.path());
    engine.EndWhen(progress.cancelled);
    engine.Run("BEGIN");
    WriteFacts(folder, as_vendor, engine, report);
    const std::vector<CannCall> launches = LaunchesIn(engine, folder.is_own), marks = MarksIn(engine);
    const Linked linked =
        as_vendor ? LinkCallsAsVendor(calls, launches, marks, progress) : LinkCalls(calls, launches, marks);
    WriteCallTables(calls, linked, !launches.empty(), as_vendor, engine);
    WriteMemoryRows(folder, calls, linked.tree, engine);
    WriteGc(calls, engine);
    WriteSteps(HostSteps(calls, linked.tree, as_vendor), engine);
    engine.Run("COMMIT");
    PROFD_RETURN_IF_ERROR(engine.status());
    const bool has_device = cann.folder >= 0 && folder.info.level != "Level_none";
    if (has_device)
      PROFD_RETURN_IF_ERROR(WriteAnalysis(calls, linked, analyze, engine, results, report, progress));
  }
  part.Keep();
  PROFD_RETURN_IF_ERROR(results.Take(name));
  if (!folder.is_mindspore || !analyze || !Names(analyze.get()).contains(kAnalyzerDatabase)) return {};
  Part analyzer(results.PathTo(kAnalyzerDatabase) + ".part");  // as MindSpore passes it on
  PROFD_RETURN_IF_ERROR(analyzer.Fill({analyze.get(), kAnalyzerDatabase, false}));
  analyzer.Keep();
  return results.Take(kAnalyzerDatabase);
}

}  // namespace profd::client::framework
