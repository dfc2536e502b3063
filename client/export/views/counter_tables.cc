#include "client/export/views/counter_tables.h"

namespace profd::client {
namespace {

constexpr double kMb = 1.0 / (1 << 20);  // of bytes
constexpr double kKb = 1.0 / (1 << 10);
constexpr double kPercent = 100;
constexpr double kUs = 1e-3;   // of ns
constexpr double kMhz = 1e-6;  // of Hz
constexpr auto kInteger = CounterArg::Form::kInteger;
constexpr auto kRounded = CounterArg::Form::kRounded;

std::vector<CounterEvent> PortEvents() {
  return {{"Port {port}/Rx",
           {{"Rx Bandwidth Efficiency", "rx_efficiency", 1, kRounded},
            {"Rx Packets", "rx_packet_rate"},
            {"Rx Error Rate", "rx_error_rate", 1, kRounded},
            {"Rx Dropped Rate", "rx_dropped_rate", 1, kRounded}}},
          {"Port {port}/Tx",
           {{"Tx Bandwidth Efficiency", "tx_efficiency", 1, kRounded},
            {"Tx Packets", "tx_packet_rate"},
            {"Tx Error Rate", "tx_error_rate", 1, kRounded},
            {"Tx Dropped Rate", "tx_dropped_rate", 1, kRounded}}}};
}

// The eight counters of one die, each its own event.
std::vector<CounterEvent> SioEvents() {
  std::vector<CounterEvent> events;
  for (const std::string_view name :
       {"req_rx", "rsp_rx", "snp_rx", "dat_rx", "req_tx", "rsp_tx", "snp_tx", "dat_tx"})
    events.push_back({.name = name, .args = {{"{die}", name, kMb}}, .joined = true});
  return events;
}

// The units of one moment; the vendor shows the largest of them.
std::vector<CounterEvent> AccPmuEvents() {
  std::vector<CounterEvent> events;
  for (const std::string_view name : {"read_bandwidth", "read_ost", "write_bandwidth", "write_ost"}) {
    CounterArg arg{.name = "unit {unit}", .source = name, .form = kInteger};
    arg.vendor_name = "value";
    events.push_back({.name = name, .args = {arg}, .joined = true});
  }
  return events;
}

const CounterTable kTables[] = {
    {"hbm", Layer::kHbm, {{"HBM {id}/{write:Read|Write}", {{"{write:Read|Write}(MB/s)", "bandwidth", kMb}}}}},
    {"ddr",
     Layer::kDdr,
     {{.name = "DDR/Read",
       .args = {{"Read(MB/s)", "read", kMb}},
       .vendor_copies = 2,
       .copies_of_older = true},
      {"DDR/Write", {{"Write(MB/s)", "write", kMb}}}}},
    {"llc",
     Layer::kLlc,
     {{"LLC {id} {write:Read|Write}/Hit Rate",
       {{.name = "Hit Rate(%)", .source = "hit_rate", .scale = kPercent, .vendor_scale = 1}}},
      {"LLC {id} {write:Read|Write}/Throughput",
       {{.name = "Throughput(MB/s)", .source = "throughput", .scale = kMb, .vendor_scale = 64 * kMb}}}}},
    {"llc_capacity", Layer::kLlc, {{"Core {cpu}", {{"Capacity(MB)", "capacity", kMb}}}}},
    {"pcie",
     Layer::kPcie,
     {{"PCIe_post", {{"Tx", "tx_post_avg", kMb}, {"Rx", "rx_post_avg", kMb}}},
      {"PCIe_nonpost", {{"Tx", "tx_nonpost_avg", kMb}, {"Rx", "rx_nonpost_avg", kMb}}},
      {"PCIe_cpl", {{"Tx", "tx_cpl_avg", kMb}, {"Rx", "rx_cpl_avg", kMb}}},
      {"PCIe_nonpost_latency",
       {{"Tx", "tx_nonpost_latency_avg", kUs}, {"Rx", "tx_nonpost_latency_avg", 0}}}}},
    {"hccs", Layer::kHccs, {{"Rx", {{"Rx(MB/s)", "rx", kMb}}}, {"Tx", {{"Tx(MB/s)", "tx", kMb}}}}},
    {"nic", Layer::kNic, PortEvents()},
    {"roce", Layer::kRoce, PortEvents()},
    {"npu_mem",
     Layer::kNpuMemory,
     {{"{device:APP|Device}/DDR", {{"KB", "ddr", kKb}}},
      {"{device:APP|Device}/HBM", {{"KB", "hbm", kKb}}},
      {"{device:APP|Device}/Memory", {{"KB", "ddr+hbm", kKb}}}}},
    {"core_freq",
     Layer::kCoreFrequency,
     {{.name = "AI Core Freq{die? Die #}",
       .args = {{"MHz", "freq", kMhz, kInteger}},
       .vendor_copies = 4,
       .vendor_ends = 2}}},
    {"voltage",
     Layer::kVoltage,
     {{"{type:|Aicore Voltage|Bus Voltage}", {{"mV", "millivolts", 1, kInteger}}}}},
    {"qos",
     Layer::kQos,
     {{"QoS {stream}{die? Die #}",
       {{.name = "value",
         .source = "bandwidth",
         .scale = kMb,
         .form = kInteger,
         .older_name = "bandwidth(MB/s)"}}}}},
    {"sio", Layer::kSio, SioEvents()},
    {"acc_pmu", Layer::kAccPmu, AccPmuEvents()},
    {"pa_link",
     Layer::kChipTransfer,
     {{"PA Link Rx", {{"PA Link Rx", "rx", 1, kInteger}, {"PA Link ID", "@link", 1, kInteger}}, 111111},
      {"PA Link Tx", {{"PA Link Tx", "tx", 1, kInteger}, {"PA Link ID", "@link", 1, kInteger}}, 111111}}},
    {"pcie_link",
     Layer::kChipTransfer,
     {{"PCIE Read Bandwidth",
       {{"PCIE Read Bandwidth", "read", 1, kInteger}, {"PCIE ID", "@link", 1, kInteger}},
       100010},
      {"PCIE Write Bandwidth",
       {{"PCIE Write Bandwidth", "write", 1, kInteger}, {"PCIE ID", "@link", 1, kInteger}},
       100010}}},
    {"soc_info",
     Layer::kSocInfo,
     {{"L2 Buffer Bw Level", {{"L2 Buffer Bw Level", "l2_buffer", 1, kInteger}}},
      {"Mata Bw Level", {{"Mata Bw Level", "mata", 1, kInteger}}}}},
    {"ub",
     Layer::kUb,
     {{"UB Port{port%3}", {{"bandwidth_rx(MB/s)", "rx", kMb}, {"bandwidth_tx(MB/s)", "tx", kMb}}}}},
    {"core_sample",
     Layer::kCoreUtilization,
     {{.name = "{core?Core #|Average}",
       .args = {{"Utilization(%)", "usage", kPercent}},
       .when = "vector=0"}}},
    {"host_cpu", Layer::kCpuUsage, {{"CPU {cpu!Avg}", {{"Usage(%)", "usage", kPercent}}}}},
    {"host_mem", Layer::kMemoryUsage, {{"Memory Usage", {{"Usage(%)", "usage", kPercent}}}}},
    {"host_disk", Layer::kDiskUsage, {{"Disk Usage", {{"Usage(%)", "io", kPercent}}}}},
    {"host_network", Layer::kNetworkUsage, {{"Network Usage", {{"Usage(%)", "usage", kPercent}}}}},
    // The vendor has no ports without a speed, so its decoding makes no rows of them.
    {"host_port", Layer::kNetworkUsage, {{"{port}", {{"Rx(MB/s)", "rx", kMb}, {"Tx(MB/s)", "tx", kMb}}}}},
    // Nor has it these, which are profd's own.
    {"host_cgroup",
     Layer::kCpuUsage,
     {{"Cgroup {cgroup} CPUs", {{"Used", "cpu"}, {"Limit", "cpu_limit"}, {"Throttled", "throttled_cpu"}}}}},
    {"host_cgroup",
     Layer::kMemoryUsage,
     {{"Cgroup {cgroup}",
       {{"KB", "memory", kKb},
        {"Limit(KB)", "memory_limit", kKb},
        {"Anonymous(KB)", "anonymous", kKb},
        {"File(KB)", "file", kKb}}},
      {"Cgroup {cgroup} major faults", {{"1/s", "major_faults"}}},
      {"Cgroup {cgroup} processes", {{"Number", "pids"}, {"Limit", "pids_limit"}}}}},
    {"host_cgroup",
     Layer::kDiskUsage,
     {{"Cgroup {cgroup}", {{"Read(MB/s)", "read", kMb}, {"Write(MB/s)", "write", kMb}}}}},
    {"host_net_device",
     Layer::kNetworkUsage,
     {{"Device {device}", {{"Rx(MB/s)", "rx", kMb}, {"Tx(MB/s)", "tx", kMb}}},
      {"Device {device} packets", {{"Rx(1/s)", "rx_packets"}, {"Tx(1/s)", "tx_packets"}}},
      {"Device {device} faults",
       {{"Rx errors(1/s)", "rx_errors"},
        {"Tx errors(1/s)", "tx_errors"},
        {"Rx dropped(1/s)", "rx_dropped"},
        {"Tx dropped(1/s)", "tx_dropped"}}}}},
    {"host_rdma_port",
     Layer::kNetworkUsage,
     {{"RDMA {port}", {{"Rx(MB/s)", "rx", kMb}, {"Tx(MB/s)", "tx", kMb}}},
      {"RDMA {port} congestion",
       {{"CNP sent(1/s)", "cnp_sent"}, {"CNP handled(1/s)", "cnp_handled"}, {"Waits(1/s)", "tx_wait"}}},
      {"RDMA {port} faults",
       {{"Rx errors(1/s)", "rx_errors"},
        {"Tx discards(1/s)", "tx_discards"},
        {"Out of sequence(1/s)", "out_of_sequence"},
        {"ACK timeouts(1/s)", "ack_timeouts"}}}}},
    {"host_port_pfc",
     Layer::kNetworkUsage,
     {{"Device {device} pauses",
       {{"Rx pause(1/s)", "rx_pause"},
        {"Tx pause(1/s)", "tx_pause"},
        {"Rx PFC 0(1/s)", "rx_pfc_0"},
        {"Tx PFC 0(1/s)", "tx_pfc_0"},
        {"Rx PFC 1(1/s)", "rx_pfc_1"},
        {"Tx PFC 1(1/s)", "tx_pfc_1"},
        {"Rx PFC 2(1/s)", "rx_pfc_2"},
        {"Tx PFC 2(1/s)", "tx_pfc_2"},
        {"Rx PFC 3(1/s)", "rx_pfc_3"},
        {"Tx PFC 3(1/s)", "tx_pfc_3"},
        {"Rx PFC 4(1/s)", "rx_pfc_4"},
        {"Tx PFC 4(1/s)", "tx_pfc_4"},
        {"Rx PFC 5(1/s)", "rx_pfc_5"},
        {"Tx PFC 5(1/s)", "tx_pfc_5"},
        {"Rx PFC 6(1/s)", "rx_pfc_6"},
        {"Tx PFC 6(1/s)", "tx_pfc_6"},
        {"Rx PFC 7(1/s)", "rx_pfc_7"},
        {"Tx PFC 7(1/s)", "tx_pfc_7"}}},
      {"Device {device} congestion",
       {{"Rx discards(1/s)", "rx_discards"},
        {"Rx without buffer(1/s)", "rx_no_buffer"},
        {"Rx ECN marked(1/s)", "rx_ecn_marked"}}}}},
    {"host_numa",
     Layer::kMemoryUsage,
     {{"NUMA {node}",
       {{"Local(pages/s)", "local"}, {"Other(pages/s)", "other"}, {"Missed(pages/s)", "miss"}}},
      {"NUMA {node} free", {{"KB", "free", kKb}}}}},
    {"host_pcie_link",
     Layer::kOther,
     {{"PCIe link {function}", {{"MT/s", "speed", kMhz}, {"Lanes", "width"}}}}},
    // What the vendor's timeline leaves out.
    {"core_sample",
     Layer::kCoreUtilization,
     {{.name = "Vector {core?core #|average}",
       .args = {{"Utilization(%)", "usage", kPercent}},
       .when = "vector=1"}},
     true},
    {"instr_busy",
     Layer::kOther,
     {{"Group{group}-{core:aic|aiv0|aiv1} {pipe}", {{"Busy(%)", "busy", kPercent}}}}},
    {"instr_flow",
     Layer::kOther,
     {{"biu_group{group} Latency", {{"Read", "read_latency"}, {"Write", "write_latency"}}},
      {"biu_group{group} Bandwidth", {{"Read", "read_bandwidth"}, {"Write", "write_bandwidth"}}}}},
    {"npu_module_mem", Layer::kOther, {{"Module {module}", {{"KB", "reserved", kKb}}}}, true},
    {"netdev",
     Layer::kOther,
     {{"MAC", {{"Tx(MB/s)", "mac_tx_rate", kMb}, {"Rx(MB/s)", "mac_rx_rate", kMb}}},
      {"NIC", {{"Tx(MB/s)", "nic_tx_rate", kMb}, {"Rx(MB/s)", "nic_rx_rate", kMb}}},
      {"RoCE packets", {{"Tx", "roce_tx_packets"}, {"Rx", "roce_rx_packets"}}}},
     true},
    {"dvpp",
     Layer::kOther,
     {{"{type:VDEC|JPEGD|PNGD|JPEGE|VPC|VENC|SCD} {engine}",
       {{"Utilization(%)", "all_utilization", kPercent}}}},
     true},
    {"llc_bandwidth",
     Layer::kOther,
     {{"LLC {id} hits", {{"Read", "read_hit"}, {"Write", "write_hit"}}}},
     true},
    {"cpu_usage",
     Layer::kOther,
     {{"{class:OS|Control CPU|AI CPU} usage",
       {{"User(%)", "user", kPercent},
        {"Sys(%)", "sys", kPercent},
        {"IoWait(%)", "iowait", kPercent},
        {"Idle(%)", "idle", kPercent}}}},
     true},
    {"process_cpu", Layer::kOther, {{"CPU of {pid}", {{"Usage(%)", "usage", kPercent}}}}, true},
    {"sys_mem",
     Layer::kOther,
     {{"Memory", {{"Free(KB)", "free", kKb}, {"Cached(KB)", "cached", kKb}}}},
     true},
    {"process_mem", Layer::kOther, {{"Memory of {pid}", {{"Resident(pages)", "resident"}}}}, true},
};

}  // namespace

std::span<const CounterTable> CounterTables() { return kTables; }

std::vector<const CounterTable*> FindCounterTables(std::string_view series, bool all) {
  std::vector<const CounterTable*> tables;
  for (const CounterTable& table : kTables)
    if (table.series == series && (all || !table.extra)) tables.push_back(&table);
  return tables;
}

}  // namespace profd::client
