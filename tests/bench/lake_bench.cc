// What tables of a job of many ranks cost, beside the reading of it that `profctl analyze` does, too: CPU
// time and peak memory of filling and asking, of the export to Parquet and of asking that; bytes per row of
// its files.
//
//   lake_bench [--gate] [--ranks N] [--kernels N] [--collectives N] [--steps N] [--jobs N] [--dir FOLDER]
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "client/analyze/analysis.h"
#include "client/lake/engine.h"
#include "client/lake/files.h"
#include "client/lake/questions.h"
#include "client/lake/rows.h"
#include "client/lake/schema.h"
#include "tests/bench/made_job.h"

namespace profd {
namespace {

namespace fs = std::filesystem;
using bench::InChild;
using bench::Shape;
using bench::Used;

// Goals of the fleet's tables: bytes of a row, and what tables may take beside the reading of a job. The
// engine has 512 MB (client/lake/engine.cc), of 10 million kernels in a file all that a question needs.
constexpr double kGoalKernelBytes = 6, kGoalStepBytes = 110, kGoalOpBytes = 50, kGoalMib = 512;
constexpr double kGoalAskS = 1, kGoalAskRows = 10e6;
constexpr char kAsked[] =
    "SELECT rank, op, quantile_cont(dur_ns, 0.95) AS p95 FROM kernels GROUP BY ALL ORDER BY p95 DESC LIMIT "
    "10";

bool Says(const base::Status& status) {
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok();
}

// The job, read; nullptr: it cannot be.
std::unique_ptr<analyze::Analysis> Read(const fs::path& folder, unsigned jobs) {
  analyze::Request request;
  request.paths = {folder.string()};
  request.jobs = jobs;
  request.judges = false;
  auto found = analyze::Analysis::Run(std::move(request));
  return Says(found.status()) ? std::move(found).value() : nullptr;
}

bool IsAnswered(lake::Engine& engine, const Shape& shape) {
  const auto count = engine.Ask("SELECT count(*) FROM kernels WHERE \"group\" IS NULL");
  if (!Says(count.status()) || count->rows[0][0] != std::to_string(shape.ranks * shape.kernels)) return false;
  for (const lake::Question& question : lake::Questions()) {
    if (!Says(engine.Ask(std::string(question.sql)).status())) return false;
  }
  const auto slow = engine.Ask(std::string(lake::FindQuestion("slow-ranks")->sql));
  return Says(slow.status()) && slow->rows[0][0] == std::to_string(shape.SlowRank());
}

int Main(int argc, char** argv) {
  const bench::Asked asked = bench::Read(argc, argv, "lake_bench");
  const Shape& shape = asked.shape;
  const unsigned jobs = asked.jobs;
  const fs::path& folder = asked.folder;
  const fs::path job = folder / "job", tables = folder / "tables";
  fs::create_directories(job);
  fs::create_directories(tables);
  bench::MakeJob(shape, job);
  const Used reading = InChild([&] { return Read(job, jobs) != nullptr; });
  const Used filling = InChild([&] {
    const auto analysis = Read(job, jobs);
    auto engine = lake::Engine::Open();
    return analysis != nullptr && Says(engine.status()) && Says(lake::FillFrom(**engine, *analysis)) &&
           IsAnswered(**engine, shape);
  });
  const Used writing = InChild([&] {
    const auto analysis = Read(job, jobs);
    auto engine = lake::Engine::Open();
    if (analysis == nullptr || !Says(engine.status()) || !Says(lake::FillFrom(**engine, *analysis)))
      return false;
    for (const lake::TableSchema& table : lake::Tables()) {
      const std::string name(table.name);
      if (!Says((*engine)->Write(name, (tables / (name + ".parquet")).string()))) return false;
    }
    return true;
  });
  const auto of_files = [&](const auto& body) {
    return InChild([&] {
      auto engine = lake::Engine::Open();
      return Says(engine.status()) && Says(lake::ViewsOf(**engine, {tables.string()}, kAsked)) &&
             body(**engine);
    });
  };
  const Used answering = of_files([&](lake::Engine& engine) { return IsAnswered(engine, shape); });
  const Used asking = of_files([&](lake::Engine& engine) { return Says(engine.Ask(kAsked).status()); });

  const double rows = static_cast<double>(shape.ranks * shape.kernels);
  std::printf("%.0f kernels of %lld ranks\n%-28s %8s %8s %10s\n", rows, static_cast<long long>(shape.ranks),
              "", "CPU s", "MiB", "answer");
  const auto print = [](const char* what, const Used& used) {
    std::printf("%-28s %8.2f %8.0f %10s\n", what, used.cpu_s, used.mib, used.is_right ? "right" : "WRONG");
    return used.is_right;
  };
  bool is_good = print("reading alone", reading);
  is_good &= print("with filling, all questions", filling);
  is_good &= print("with filling, Parquet", writing);
  is_good &= print("all questions of Parquet", answering);
  is_good &= print("p95 by rank and op of it", asking);
  is_good &= filling.mib <= reading.mib + kGoalMib && writing.mib <= reading.mib + kGoalMib &&
             asking.mib <= kGoalMib;
  is_good &= asking.cpu_s <= kGoalAskS * std::max(rows / kGoalAskRows, 1.0);
  for (const auto& [table, goal] :
       {std::pair{"kernels", kGoalKernelBytes}, {"steps", kGoalStepBytes}, {"ops", kGoalOpBytes}}) {
    const fs::path file = tables / (std::string(table) + ".parquet");
    double count = 0;
    auto engine = lake::Engine::Open();
    if (engine.ok() && lake::ViewsOf(**engine, {tables.string()}, kAsked).ok()) {
      if (const auto answer = (*engine)->Ask("SELECT count(*) FROM " + std::string(table)); answer.ok())
        count = std::stod(*answer->rows[0][0]);
    }
    std::error_code error;
    const double each = static_cast<double>(fs::file_size(file, error)) / std::max(count, 1.0);
    std::printf("%-28s %8.0f rows %6.2f B/row (goal %.0f)\n", table, count, each, goal);
    // A file of few rows is mostly its own description.
    if (count > 10'000) is_good &= each <= goal;
  }
  fs::remove_all(folder);
  return asked.gate && !is_good ? 1 : 0;
}

}  // namespace
}  // namespace profd

int main(int argc, char** argv) { return profd::Main(argc, argv); }
