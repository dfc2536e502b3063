#include "client/export/readme.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

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

struct About {
  std::string_view kind;  // what their names begin with
  std::string_view text;
};
constexpr About kAbout[] = {
    {"ai_core_utilization",
     "how busy each AI core was, over all of the collection, from counters sampled by time"},
    {"ai_cpu_pmu_events", "counters of the device's AI CPUs, summed"},
    {"ai_cpu_top_function", "functions that ran most on the device's AI CPUs"},
    {"ai_vector_core_utilization", "the same as ai_core_utilization, of vector cores"},
    {"agent_counter", "values that programs reported by name"},
    {"agent_memory", "allocations and copies of device memory that programs made"},
    {"agent_step", "steps that programs reported"},
    {"api_statistic", "calls of the CANN layers: how often and how long, by name"},
    {"ccu_channel", "delays of the collective units' channels"},
    {"ccu_mission", "missions of the collective units"},
    {"communication_statistic", "collectives: how often and how long, by type"},
    {"cpu_profile", "call chains of the process, for flame graphs"},
    {"cpu_usage", "use of the CPUs of the device's own system"},
    {"ctrl_cpu_pmu_events", "counters of the device's control CPUs, summed"},
    {"ctrl_cpu_top_function", "functions that ran most on the device's control CPUs"},
    {"ddr", "bandwidth of DDR memory: mean of the collection"},
    {"dvpp", "use of the media engines"},
    {"hbm", "bandwidth of HBM memory: mean of the collection"},
    {"hccs", "bandwidth of the links between devices: lowest, highest and mean"},
    {"host_cpu_usage", "CPUs that the process used, and how many it needs"},
    {"host_disk_usage", "what the process read from disks and wrote to them"},
    {"host_mem_usage", "memory of the process"},
    {"host_network_usage", "traffic of the host's network ports, against their speed"},
    {"host_port_usage", "traffic of ports whose speed nobody knows"},
    {"l2_cache", "hits of the L2 cache, by task"},
    {"llc_bandwidth", "bandwidth of the last-level cache"},
    {"llc_read_write", "hit rate and throughput of the last-level cache: mean of the collection"},
    {"msprof", "the timeline: host, devices, tasks and counters, one above the other"},
    {"msprof_slice", "a part of the timeline, by time"},
    {"msprof_tx", "ranges and marks that programs set"},
    {"netdev_stats", "pause frames, congestion and retries of the devices' network ports"},
    {"nic", "traffic and errors of the devices' network ports"},
    {"npu_mem", "memory of the device in use, by process and in all, over time"},
    {"npu_module_mem", "memory of the device that CANN's components hold, over time"},
    {"off_cpu", "call chains in which threads waited, for flame graphs"},
    {"op_statistic", "operators: how often and how long, by type"},
    {"op_summary", "every operator that ran on a device, with its counters"},
    {"os_runtime_statistic", "system calls and pthread calls: how often and how long, by name"},
    {"pcie", "traffic of the PCIe links: lowest, highest and mean"},
    {"process_cpu_usage", "CPU use of the processes on the device's own system, or on the host"},
    {"process_mem", "memory of the processes on the device's own system, or on the host"},
    {"roce", "traffic and errors of the devices' RoCE ports"},
    {"soc_pmu", "hits of cache and address translation, by task"},
    {"soc_pmu_events", "events of the chip, by task"},
    {"step_trace", "iterations of models: forward, backward, refresh"},
    {"sys_mem", "memory of the device's own system, or of the host"},
    {"task_time", "every task that ran on a device"},
    {"ts_cpu_pmu_events", "counters of the task scheduler's CPU, summed"},
    {"ts_cpu_top_function", "functions that ran most on the task scheduler's CPU"},
    {"ub", "traffic of the UB ports"},
};

std::string_view AboutOf(std::string_view kind) {
  constexpr std::string_view kSlice = "msprof_slice";
  if (kind.starts_with(kSlice)) kind = kSlice;
  const auto found = std::ranges::find(kAbout, kind, &About::kind);
  return found == std::end(kAbout) ? "see docs/export.md" : found->text;
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
