// Series of what is sampled in /proc and by tools, on the host and on the device's own OS.
#pragma once

#include "format/series.h"

namespace profd::format {

// key cpu: -1 = the machine's average. Stamped at the beginning of the interval.
inline const Series kHostCpuSeries{"host_cpu", "host-cpu", {"cpu"}, {{"usage", Unit::kRatio}}};
// used: resident memory of the process; usage: its part of the machine's. `last`: the vendor leaves this
// sample out.
inline const Series kHostMemSeries{
    "host_mem", "host-mem", {}, {{"usage", Unit::kRatio}, {"used", Unit::kBytes}}};
inline const Series kHostDiskSeries{
    "host_disk",
    "host-disk",
    {},
    {{"read", Unit::kBytesPerSecond}, {"write", Unit::kBytesPerSecond}, {"io", Unit::kRatio}}};
// speed: bytes moved; usage: of the port's speed. Stamped at the beginning of the interval.
inline const Series kHostNetworkSeries{
    "host_network", "host-network", {}, {{"usage", Unit::kRatio}, {"speed", Unit::kBytesPerSecond}}};

// Of a port whose speed info.json does not have, so that host_network leaves it out. key port: a number whose
// label is its name. Stamped at the beginning of the interval.
inline const Series kHostPortSeries{
    "host_port", "host-network", {"port"}, {{"rx", Unit::kBytesPerSecond}, {"tx", Unit::kBytesPerSecond}}};

// Of profd's own kinds (format/decode/host/host_counters.cc). What is counted is a rate of the interval that
// ends at the stamp, what is a state is that of the stamp; of the first sample there are states only. key
// cgroup: a number whose label is its name. cpu, cpu_limit, throttled_cpu: in CPUs.
inline const Series kHostCgroupSeries{"host_cgroup",
                                      "host-cgroup",
                                      {"cgroup"},
                                      {{"cpu", Unit::kCount},
                                       {"cpu_limit", Unit::kCount},
                                       {"periods", Unit::kPerSecond},
                                       {"throttled", Unit::kPerSecond},
                                       {"throttled_cpu", Unit::kCount},
                                       {"memory", Unit::kBytes},
                                       {"memory_limit", Unit::kBytes},
                                       {"anonymous", Unit::kBytes},
                                       {"file", Unit::kBytes},
                                       {"major_faults", Unit::kPerSecond},
                                       {"read", Unit::kBytesPerSecond},
                                       {"write", Unit::kBytesPerSecond},
                                       {"reads", Unit::kPerSecond},
                                       {"writes", Unit::kPerSecond},
                                       {"pids", Unit::kCount},
                                       {"pids_limit", Unit::kCount}}};
// key device, port, node, function: numbers whose labels are their names.
inline const Series kHostNetDeviceSeries{"host_net_device",
                                         "host-net-devices",
                                         {"device"},
                                         {{"rx", Unit::kBytesPerSecond},
                                          {"tx", Unit::kBytesPerSecond},
                                          {"rx_packets", Unit::kPerSecond},
                                          {"tx_packets", Unit::kPerSecond},
                                          {"rx_errors", Unit::kPerSecond},
                                          {"tx_errors", Unit::kPerSecond},
                                          {"rx_dropped", Unit::kPerSecond},
                                          {"tx_dropped", Unit::kPerSecond},
                                          {"rx_crc_errors", Unit::kPerSecond},
                                          {"rx_missed", Unit::kPerSecond},
                                          {"carrier_changes", Unit::kCount},
                                          {"speed", Unit::kBytesPerSecond}}};
inline const Series kHostRdmaPortSeries{"host_rdma_port",
                                        "host-net-devices",
                                        {"port"},
                                        {{"rx", Unit::kBytesPerSecond},
                                         {"tx", Unit::kBytesPerSecond},
                                         {"rx_packets", Unit::kPerSecond},
                                         {"tx_packets", Unit::kPerSecond},
                                         {"tx_wait", Unit::kPerSecond},
                                         {"rx_errors", Unit::kPerSecond},
                                         {"tx_discards", Unit::kPerSecond},
                                         {"symbol_errors", Unit::kPerSecond},
                                         {"cnp_sent", Unit::kPerSecond},
                                         {"cnp_handled", Unit::kPerSecond},
                                         {"out_of_sequence", Unit::kPerSecond},
                                         {"sequence_errors", Unit::kPerSecond},
                                         {"ack_timeouts", Unit::kPerSecond},
                                         {"rnr_retries", Unit::kPerSecond}}};
// What the driver of an interface counts of pauses and congestion; of eight priorities.
inline const Series kHostPortPfcSeries{
    "host_port_pfc",
    "host-net-devices",
    {"device"},
    {{"rx_pause", Unit::kPerSecond},     {"tx_pause", Unit::kPerSecond},
     {"rx_pfc_0", Unit::kPerSecond},     {"rx_pfc_1", Unit::kPerSecond},
     {"rx_pfc_2", Unit::kPerSecond},     {"rx_pfc_3", Unit::kPerSecond},
     {"rx_pfc_4", Unit::kPerSecond},     {"rx_pfc_5", Unit::kPerSecond},
     {"rx_pfc_6", Unit::kPerSecond},     {"rx_pfc_7", Unit::kPerSecond},
     {"tx_pfc_0", Unit::kPerSecond},     {"tx_pfc_1", Unit::kPerSecond},
     {"tx_pfc_2", Unit::kPerSecond},     {"tx_pfc_3", Unit::kPerSecond},
     {"tx_pfc_4", Unit::kPerSecond},     {"tx_pfc_5", Unit::kPerSecond},
     {"tx_pfc_6", Unit::kPerSecond},     {"tx_pfc_7", Unit::kPerSecond},
     {"rx_discards", Unit::kPerSecond},  {"rx_no_buffer", Unit::kPerSecond},
     {"rx_ecn_marked", Unit::kPerSecond}}};
// Pages, of which `other` were for another node's processes.
inline const Series kHostNumaSeries{"host_numa",
                                    "host-hardware",
                                    {"node"},
                                    {{"hit", Unit::kPerSecond},
                                     {"miss", Unit::kPerSecond},
                                     {"foreign", Unit::kPerSecond},
                                     {"interleave_hit", Unit::kPerSecond},
                                     {"local", Unit::kPerSecond},
                                     {"other", Unit::kPerSecond},
                                     {"free", Unit::kBytes}}};
// Speeds in transfers/s of a lane.
inline const Series kHostPcieLinkSeries{
    "host_pcie_link",
    "host-hardware",
    {"function"},
    {{"speed", Unit::kHz}, {"width", Unit::kCount}, {"max_speed", Unit::kHz}, {"max_width", Unit::kCount}}};

// key class: CpuClass. Parts of the interval that ends at the stamp.
enum class CpuClass : int64_t { kHost = 0, kCtrlCpu = 1, kAiCpu = 2 };
inline const Series kCpuUsageSeries{"cpu_usage",
                                    "dev-cpu",
                                    {"class"},
                                    {{"user", Unit::kRatio},
                                     {"sys", Unit::kRatio},
                                     {"iowait", Unit::kRatio},
                                     {"irq", Unit::kRatio},
                                     {"soft", Unit::kRatio},
                                     {"idle", Unit::kRatio},
                                     // Weight of the row: ticks of the interval, all CPUs of the class.
                                     {"ticks", Unit::kCount}}};
inline const Series kProcessCpuSeries{
    "process_cpu", "dev-pid-cpu", {"pid"}, {{"usage", Unit::kRatio}, {"ticks", Unit::kCount}}};
inline const Series kSysMemSeries{"sys_mem",
                                  "dev-mem",
                                  {},
                                  {{"total", Unit::kBytes},
                                   {"free", Unit::kBytes},
                                   {"buffers", Unit::kBytes},
                                   {"cached", Unit::kBytes},
                                   {"shared", Unit::kBytes},
                                   {"commit_limit", Unit::kBytes},
                                   {"committed", Unit::kBytes},
                                   {"huge_total", Unit::kCount},
                                   {"huge_free", Unit::kCount}}};
inline const Series kProcessMemSeries{
    "process_mem",
    "dev-pid-mem",
    {"pid"},
    {{"size", Unit::kCount}, {"resident", Unit::kCount}, {"shared", Unit::kCount}}};

// Counters of a core's performance unit, summed up over the capture; one row each when the capture ends.
// key cpu: PmuCpu. key event: its number; keys function and module: numbers whose labels are their names.
enum class PmuCpu : int64_t { kHost = 0, kCtrlCpu = 1, kAiCpu = 2, kTsCpu = 3 };
inline const Series kPmuEventsSeries{"pmu_events", "ctrlcpu", {"cpu", "event"}, {{"count", Unit::kCount}}};
inline const Series kPmuFunctionsSeries{
    "pmu_functions", "ctrlcpu", {"cpu", "function", "module"}, {{"cycles", Unit::kCount}}};

}  // namespace profd::format
