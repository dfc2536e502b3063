// What an analysis costs: CPU time and peak memory of a job of many ranks, made here with one slow rank, and
// ratios to the goals and to the vendor's analyser (its ten recipes that finish on a job of that size, which
// it needs to say less).
//
//   analyze_bench [--gate] [--ranks N] [--kernels N] [--collectives N] [--steps N] [--jobs N] [--dir FOLDER]

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "client/analyze/analysis.h"
#include "client/analyze/compare/compare.h"
#include "client/analyze/report/comparison.h"
#include "client/analyze/report/json.h"
#include "client/analyze/tables/tables.h"
#include "tests/bench/made_job.h"

namespace profd {
namespace {

namespace fs = std::filesystem;
using bench::InChild;
using bench::Shape;
using bench::Used;

// CPU seconds of the vendor's analyser on 16 ranks with 200 000 kernels each (two cores at 2.6 GHz): its ten
// recipes that finish.
constexpr double kVendorCpuS = 268;
constexpr double kGoalCpuS = 5, kGoalMib = 400;
constexpr int64_t kUsualRows = 16 * 200'000;

// One rank against another: of the vendor's, stopped before its end.
constexpr double kGoalCompareS = 0.5, kVendorCompareS = 112, kUsualKernels = 200'000;

int Main(int argc, char** argv) {
  const bench::Asked asked = bench::Read(argc, argv, "analyze_bench");
  const Shape& shape = asked.shape;
  const unsigned jobs = asked.jobs;
  const fs::path& folder = asked.folder;
  fs::create_directories(folder);
  bench::MakeJob(shape, folder);
  uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    bytes += entry.is_regular_file() ? entry.file_size() : 0;
  const Used analysis = InChild([&] {
    analyze::Request request;
    request.paths = {folder.string()};
    request.jobs = jobs;
    const auto found = analyze::Analysis::Run(std::move(request));
    if (!found.ok()) std::fprintf(stderr, "%s\n", found.status().message().c_str());
    return found.ok() && !(*found)->verdict().findings.empty() &&
           (*found)->verdict().findings.front().key ==
               "rank.late/" + std::to_string(shape.SlowRank()) + "/compute" &&
           !analyze::FindingsJson(**found).empty();
  });
  // Every plain table, whatever it needs.
  const Used reports = InChild([&] {
    analyze::Request request;
    request.paths = {folder.string()};
    request.jobs = jobs;
    request.judges = false;
    request.keeps_all = true;
    const auto found = analyze::Analysis::Run(std::move(request));
    if (!found.ok()) return false;
    size_t bytes = 0;
    for (const analyze::Report& report : analyze::Reports()) bytes += TableCsv(report.make(**found)).size();
    return bytes > 0;
  });
  const Used comparison = InChild([&] {
    std::array<analyze::Runs, 2> sides;
    for (const int64_t rank : {int64_t{0}, shape.SlowRank()}) {
      auto run = analyze::Run::Read({bench::RankFolder(folder, rank).string()}, analyze::Settings(), jobs);
      if (!run.ok()) return false;
      sides[rank == 0 ? 0 : 1].push_back(std::move(run).value());
    }
    const analyze::Comparison found = analyze::Compare(sides[0], sides[1], {.jobs = jobs});
    return found.kernels.front().difference.judgement == analyze::Judgement::kSlower &&
           !analyze::ComparisonJson(found, sides[0], sides[1]).empty();
  });
  fs::remove_all(folder);
  const auto rows = static_cast<double>(shape.ranks * shape.kernels);
  const double share =
      rows / static_cast<double>(kUsualRows);  // goals and the vendor's figures are of the usual size
  const double compare_share = static_cast<double>(shape.kernels) / kUsualKernels;
  std::printf("%-9s %10s %9s %8s %8s %10s %10s %10s %10s\n", "", "kernels", "MB", "CPU s", "MiB", "CPU/goal",
              "MiB/goal", "to vendor", "answer");
  const auto print = [](const char* what, double kernels, double megabytes, const Used& used, double goal_s,
                        double goal_mib, double vendor_s) {
    std::printf("%-9s %10.0f %9.0f %8.2f %8.0f %10.2f %10.2f %9.0fx %10s\n", what, kernels, megabytes,
                used.cpu_s, used.mib, used.cpu_s / goal_s, used.mib / goal_mib, vendor_s / used.cpu_s,
                used.is_right ? "right" : "WRONG");
    return used.is_right && used.cpu_s <= goal_s && used.mib <= goal_mib;
  };
  const auto megabytes = static_cast<double>(bytes) / 1e6;
  const bool is_good = print("analyze", rows, megabytes, analysis, kGoalCpuS * share,
                             kGoalMib * std::max(1.0, share), kVendorCpuS * share);
  const bool reports_well = print("reports", rows, megabytes, reports, kGoalCpuS * share,
                                  kGoalMib * std::max(1.0, share), kVendorCpuS * share);
  // The goal is of rules and reports together.
  const bool both_well = analysis.cpu_s + reports.cpu_s <= kGoalCpuS * share;
  const bool compares_well =
      print("compare", 2 * static_cast<double>(shape.kernels),
            2 * megabytes / static_cast<double>(shape.ranks), comparison, kGoalCompareS * compare_share,
            kGoalMib * std::max(1.0, compare_share), kVendorCompareS * compare_share);
  return asked.gate && !(is_good && reports_well && both_well && compares_well) ? 1 : 0;
}

}  // namespace
}  // namespace profd

int main(int argc, char** argv) { return profd::Main(argc, argv); }
