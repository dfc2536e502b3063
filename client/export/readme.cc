#include "client/export/readme.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include "client/export/views/views.h"
#include "client/export/write/output_file.h"

namespace profd::client {

using base::Status;

namespace {

constexpr char kName[] = "/README.txt";
constexpr char kHead[] =
    "What the files beside this one are. The number at the end of their names is when the collection began.\n"
    "Open msprof_*.json in MindStudio Insight or ui.perfetto.dev, tables in any spreadsheet. Times are on "
    "the\n"
    "wall clock, in us where a column does not say otherwise; N/A stands where nothing was recorded.\n\n";

// Of what is made of spans; what is made of samples says it itself (views/).
constexpr About kAbout[] = {
    {"agent_counter", "values that programs reported by name"},
    {"agent_memory", "allocations and copies of device memory that programs made"},
    {"agent_step", "steps that programs reported"},
    {"aicpu_mi", "waits of MindSpore's programs for the next data: on a device's AI CPUs"},
    {"api_statistic", "calls of the CANN layers: how often and how long, by name"},
    {"communication_statistic", "collectives: how often and how long, by type"},
    {"cpu_profile", "call chains of the process, for flame graphs"},
    {"dp", "queues of data on a device: what was taken out of them, and how much is left"},
    {"fusion_op", "operators that were made of several of a model's, and the memory that they need"},
    {"memory_record", "memory of devices that CANN held, at every change"},
    {"msprof", "the timeline: host, devices, tasks and counters, one above the other"},
    {"msprof_slice", "a part of the timeline, by time"},
    {"msprof_tx", "ranges and marks that programs set"},
    {"off_cpu", "call chains in which threads waited, for flame graphs"},
    {"op_statistic", "operators: how often and how long, by type"},
    {"op_summary", "every operator that ran on a device, with its counters"},
    {"operator_memory", "memory of devices that operators held: how much, from when, how long"},
    {"os_runtime_statistic", "system calls and pthread calls: how often and how long, by name"},
    {"static_op_mem", "memory that the operators of a graph need, and from which operator to which"},
    {"step_trace", "iterations of models: forward, backward, refresh"},
    {"task_time", "every task that ran on a device"},
};

std::string_view AboutOf(std::string_view kind) {
  constexpr std::string_view kSlice = "msprof_slice";
  if (kind.starts_with(kSlice)) kind = kSlice;
  const auto found_in = [kind](std::span<const About> files) {
    const auto found = std::ranges::find(files, kind, &About::kind);
    return found == files.end() ? std::string_view() : found->text;
  };
  std::string_view text = found_in(kAbout);
  for (const Views& views : AllViews()) text = text.empty() ? found_in(views.about) : text;
  return text.empty() ? "see docs/export.md" : text;
}

}  // namespace

Status WriteReadme(const std::string& folder, const std::string& stamp) {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (name.find("_" + stamp + ".") != name.npos && !name.ends_with(".part")) names.insert(name);
  }
  if (names.empty()) return {};
  PROFD_ASSIGN_OR_RETURN(const auto file, OutputFile::Create(folder + kName));
  file->Append(kHead);
  for (const std::string& name : names) {
    file->Append(name + ": ");
    file->Append(AboutOf(std::string_view(name).substr(0, name.find("_" + stamp))));
    file->Append("\n");
  }
  return file->Finish();
}

}  // namespace profd::client
