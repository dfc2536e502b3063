#include "tests/bench/made_job.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "client/export/db/sqlite_file.h"

namespace profd::bench {
namespace {

namespace fs = std::filesystem;
using client::DbValue;
using client::SqliteFile;

constexpr int64_t kBeginNs = 1'760'000'000'000'000'000;

// One rank's database. Collectives follow every so many kernels, and end together: rank 5 is 15 % slower.
class RankFile {
 public:
  RankFile(const Shape& shape, const fs::path& folder) : shape_(shape), folder_(folder) {}

  // `arrivals`: of every collective, when the last rank comes; made by the first pass over all ranks.
  int64_t Walk(int64_t rank, std::vector<int64_t>& arrivals, SqliteFile* file) {
    SqliteFile::Table *task = nullptr, *info = nullptr, *comm = nullptr, *call = nullptr, *step = nullptr,
                      *torch = nullptr;
    if (file != nullptr) {
      task = file->Add("TASK",
                       "CREATE TABLE TASK(startNs INTEGER,endNs INTEGER,deviceId INTEGER,connectionId "
                       "INTEGER,globalTaskId INTEGER,"
                       "globalPid INTEGER,taskType INTEGER,contextId INTEGER,streamId INTEGER,taskId "
                       "INTEGER,modelId INTEGER)",
                       -1);
      info = file->Add(
          "COMPUTE_TASK_INFO",
          "CREATE TABLE COMPUTE_TASK_INFO(name INTEGER,globalTaskId INTEGER PRIMARY KEY,blockDim INTEGER,"
          "mixBlockDim INTEGER,taskType INTEGER,opType INTEGER,inputFormats INTEGER,inputDataTypes "
          "INTEGER,inputShapes INTEGER)",
          1);
      comm = file->Add(
          "COMMUNICATION_OP",
          "CREATE TABLE COMMUNICATION_OP(opName INTEGER,startNs INTEGER,endNs INTEGER,connectionId INTEGER,"
          "groupName INTEGER,opId INTEGER PRIMARY KEY,dataType INTEGER,count NUMERIC,deviceId INTEGER)",
          5);
      call = file->Add("CANN_API",
                       "CREATE TABLE CANN_API(startNs INTEGER,endNs INTEGER,type INTEGER,globalTid INTEGER,"
                       "connectionId INTEGER PRIMARY KEY,name INTEGER)",
                       4);
      step = file->Add("STEP_TIME", "CREATE TABLE STEP_TIME(id INTEGER,startNs INTEGER,endNs INTEGER)", -1);
      torch = file->Add("PYTORCH_API",
                        "CREATE TABLE PYTORCH_API(startNs INTEGER,endNs INTEGER,globalTid "
                        "INTEGER,connectionId INTEGER,name INTEGER)",
                        -1);
    }
    std::minstd_rand random(static_cast<uint32_t>(rank + 1));
    const int64_t every = std::max<int64_t>(1, shape_.kernels / shape_.collectives),
                  thread = (1000 + rank) << 32 | 1;
    int64_t host = kBeginNs, device = kBeginNs, number = 0, collective = 0, step_begin = kBeginNs;
    const double slow = rank == shape_.SlowRank() ? 1.15 : 1;
    const auto append = [](SqliteFile* to, SqliteFile::Table* table, int64_t key,
                           std::initializer_list<DbValue> values) {
      if (to != nullptr) to->Append(*table, key, std::span(values.begin(), values.size()));
    };
    for (int64_t i = 0; i < shape_.kernels; ++i) {
      host += 3000;
      ++number;
      append(file, call, number, {host, host + 2000, 10000, thread, number, 1});
      append(file, torch, number, {host - 500, host + 2500, thread, number, 2});
      host += 2000;
      const int64_t kind = i % 20;
      const auto length = static_cast<int64_t>(static_cast<double>(4000 + 1500 * kind) * slow *
                                               (0.98 + 0.04 * static_cast<double>(random() % 1000) / 1000));
      device = std::max(device + 900, host + 4000);
      append(file, task, number,
             {device, device + length, rank % 8, number, number, 1000 + rank, 3, 4294967295, 2, i % 65536,
              4294967295});
      append(file, info, number, {10 + kind, number, 24, 0, 3, 40 + kind % 8, 4, 4, 60 + kind});
      device += length;
      if ((i + 1) % every == 0) {
        ++number;
        host += 5000;
        append(file, call, number, {host - 2000, host, 10000, thread, number, 1});
        const int64_t begin = std::max(device + 1500, host + 4000);
        const auto at = static_cast<size_t>(collective++);
        if (at >= arrivals.size()) arrivals.resize(at + 1);
        if (file == nullptr) arrivals[at] = std::max(arrivals[at], begin);
        device = std::max(begin, arrivals[at]) + 300'000;
        append(file, comm, number, {5, begin, device, number, 6, number, 3, 4'194'304, rank % 8});
      }
      if ((i + 1) % (shape_.kernels / shape_.steps) == 0) {
        ++number;
        append(file, call, number, {host, device + 12'000, 20000, thread, number, 7});
        host = std::max(host, device + 12'000);
        append(file, step, i + 1, {(i + 1) / (shape_.kernels / shape_.steps), step_begin, host});
        step_begin = host;
      }
    }
    return number;
  }

  void Write(int64_t rank, std::vector<int64_t>& arrivals) {
    const fs::path folder = RankFolder(folder_, rank) / "ASCEND_PROFILER_OUTPUT";
    fs::create_directories(folder);
    const fs::path path = folder / ("ascend_pytorch_profiler_" + std::to_string(rank) + ".db");
    std::ofstream(path).flush();
    SqliteFile file(path);
    SqliteFile::Table* texts =
        file.Add("STRING_IDS", "CREATE TABLE STRING_IDS(id INTEGER PRIMARY KEY,value TEXT)", 0);
    std::map<int64_t, std::string> names = {{1, "launch"},
                                            {2, "aten::mm"},
                                            {3, "AI_CORE"},
                                            {4, "N/A"},
                                            {5, "hcom_allReduce__749_0_1"},
                                            {6, "10.0.0.1%eth0_60000_0_tp"},
                                            {7, "aclrtSynchronizeStream"}};
    for (int64_t i = 0; i < 20; ++i) {
      names[10 + i] = "aclnnOp" + std::to_string(i);
      names[40 + i] = "Type" + std::to_string(i);
      names[60 + i] = "4096," + std::to_string(1024 + i);
    }
    for (const auto& [id, name] : names) {
      const DbValue row[] = {id, std::string_view(name)};
      file.Append(*texts, id, row);
    }
    SqliteFile::Table* map =
        file.Add("RANK_DEVICE_MAP", "CREATE TABLE RANK_DEVICE_MAP(rankId INTEGER,deviceId INTEGER)", -1);
    const DbValue row[] = {rank, rank % 8};
    file.Append(*map, 1, row);
    SqliteFile::Table* host = file.Add("HOST_INFO", "CREATE TABLE HOST_INFO(hostUid TEXT,hostName TEXT)", -1);
    const std::string name = "host" + std::to_string(rank / 8);
    const DbValue node[] = {std::string_view(name), std::string_view(name)};
    file.Append(*host, 1, node);
    Walk(rank, arrivals, &file);
    if (const base::Status status = file.Finish(); !status.ok())
      std::fprintf(stderr, "%s\n", status.message().c_str());
  }

 private:
  const Shape shape_;
  const fs::path folder_;
};

}  // namespace

Asked Read(int argc, char** argv, std::string_view bench) {
  Asked asked;
  asked.folder = fs::temp_directory_path();
  Shape& shape = asked.shape;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--gate") asked.gate = true;
    if (i + 1 >= argc) continue;
    int64_t* const to = option == "--ranks"         ? &shape.ranks
                        : option == "--kernels"     ? &shape.kernels
                        : option == "--collectives" ? &shape.collectives
                        : option == "--steps"       ? &shape.steps
                                                    : nullptr;
    if (to != nullptr) *to = std::strtoll(argv[++i], nullptr, 10);
    if (option == "--jobs") asked.jobs = static_cast<unsigned>(std::strtoul(argv[++i], nullptr, 10));
    if (option == "--dir") asked.folder = argv[++i];
  }
  asked.folder /= std::string(bench) + "." + std::to_string(getpid());
  return asked;
}

fs::path RankFolder(const fs::path& root, int64_t rank) {
  return root / ("host" + std::to_string(rank / 8) + "_" + std::to_string(1000 + rank) +
                 "_20260101000000_ascend_pt");
}

// When all come at once the next segment begins for all at once: a second look at a rank needs what the
// others did.
void MakeJob(const Shape& shape, const fs::path& folder) {
  RankFile files(shape, folder);
  std::vector<int64_t> arrivals;
  // Rank 5 is the last everywhere, or nearly so: its arrivals, and those of one other, are those of all.
  for (const int64_t rank : {int64_t{0}, shape.SlowRank()}) files.Walk(rank, arrivals, nullptr);
  for (int64_t rank = 0; rank < shape.ranks; ++rank) files.Write(rank, arrivals);
}

}  // namespace profd::bench
