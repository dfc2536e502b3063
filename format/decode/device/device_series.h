// The series of what is sampled on a device. Names are for ever: outputs refer to them.
#pragma once

#include "format/series.h"

namespace profd::format {

// write: 0 read, 1 write.
inline const Series kHbmSeries = {"hbm", "hbm", {"id", "write"}, {{"bandwidth", Unit::kBytesPerSecond}}};
inline const Series kDdrSeries = {
    "ddr", "ddr", {}, {{"read", Unit::kBytesPerSecond}, {"write", Unit::kBytesPerSecond}}};
// write: the mode, read or write, that was sampled. The vendor's throughput is 64 times this one.
inline const Series kLlcSeries = {
    "llc", "llc", {"id", "write"}, {{"hit_rate", Unit::kRatio}, {"throughput", Unit::kBytesPerSecond}}};
// 310. ai: 1 AI CPU, 0 control CPU.
inline const Series kLlcCapacitySeries = {"llc_capacity", "llc", {"cpu", "ai"}, {{"capacity", Unit::kBytes}}};
inline const Series kLlcBandwidthSeries = {"llc_bandwidth",
                                           "llc",
                                           {"id"},
                                           {{"read_allocate", Unit::kCount},
                                            {"read_noallocate", Unit::kCount},
                                            {"read_hit", Unit::kCount},
                                            {"write_allocate", Unit::kCount},
                                            {"write_noallocate", Unit::kCount},
                                            {"write_hit", Unit::kCount}}};
// device: 0 of the application, 1 of the device.
inline const Series kNpuMemSeries = {
    "npu_mem", "npu-mem", {"device"}, {{"ddr", Unit::kBytes}, {"hbm", Unit::kBytes}}};
inline const Series kNpuModuleMemSeries = {
    "npu_module_mem", "npu-module-mem", {"module"}, {{"reserved", Unit::kBytes}}};

inline const Series kPcieSeries = {
    "pcie", "pcie", {}, {{"tx_post_min", Unit::kBytesPerSecond},    {"tx_post_max", Unit::kBytesPerSecond},
                         {"tx_post_avg", Unit::kBytesPerSecond},    {"tx_nonpost_min", Unit::kBytesPerSecond},
                         {"tx_nonpost_max", Unit::kBytesPerSecond}, {"tx_nonpost_avg", Unit::kBytesPerSecond},
                         {"tx_cpl_min", Unit::kBytesPerSecond},     {"tx_cpl_max", Unit::kBytesPerSecond},
                         {"tx_cpl_avg", Unit::kBytesPerSecond},     {"tx_nonpost_latency_min", Unit::kNs},
                         {"tx_nonpost_latency_max", Unit::kNs},     {"tx_nonpost_latency_avg", Unit::kNs},
                         {"rx_post_min", Unit::kBytesPerSecond},    {"rx_post_max", Unit::kBytesPerSecond},
                         {"rx_post_avg", Unit::kBytesPerSecond},    {"rx_nonpost_min", Unit::kBytesPerSecond},
                         {"rx_nonpost_max", Unit::kBytesPerSecond}, {"rx_nonpost_avg", Unit::kBytesPerSecond},
                         {"rx_cpl_min", Unit::kBytesPerSecond},     {"rx_cpl_max", Unit::kBytesPerSecond},
                         {"rx_cpl_avg", Unit::kBytesPerSecond}}};
// Of the interval that ends at the stamp.
inline const Series kHccsSeries = {
    "hccs", "hccs", {}, {{"tx", Unit::kBytesPerSecond}, {"rx", Unit::kBytesPerSecond}}};
inline const Series kUbSeries = {
    "ub", "ub", {"port"}, {{"rx", Unit::kBytesPerSecond}, {"tx", Unit::kBytesPerSecond}}};

// speed: of the port. packets, bytes, errors, dropped: running totals; the rates are the driver's.
// efficiency: of the speed; error and dropped rate: of all packets so far.
inline Series PortSeries(std::string_view name) {
  return {name,
          name,
          {"port"},
          {{"speed", Unit::kBytesPerSecond},
           {"rx_packet_rate", Unit::kPerSecond},
           {"rx_byte_rate", Unit::kBytesPerSecond},
           {"rx_packets", Unit::kCount},
           {"rx_bytes", Unit::kBytes},
           {"rx_errors", Unit::kCount},
           {"rx_dropped", Unit::kCount},
           {"tx_packet_rate", Unit::kPerSecond},
           {"tx_byte_rate", Unit::kBytesPerSecond},
           {"tx_packets", Unit::kCount},
           {"tx_bytes", Unit::kBytes},
           {"tx_errors", Unit::kCount},
           {"tx_dropped", Unit::kCount},
           {"rx_efficiency", Unit::kRatio},
           {"rx_error_rate", Unit::kRatio},
           {"rx_dropped_rate", Unit::kRatio},
           {"tx_efficiency", Unit::kRatio},
           {"tx_error_rate", Unit::kRatio},
           {"tx_dropped_rate", Unit::kRatio}}};
}
inline const Series kNicSeries = PortSeries("nic");
inline const Series kRoceSeries = PortSeries("roce");

// Of the interval that ends at the stamp.
inline const Series kNetdevSeries = {"netdev",
                                     "netdev",
                                     {},
                                     {{"mac_tx_pfc", Unit::kCount},
                                      {"mac_rx_pfc", Unit::kCount},
                                      {"mac_tx_bytes", Unit::kBytes},
                                      {"mac_tx_rate", Unit::kBytesPerSecond},
                                      {"mac_rx_bytes", Unit::kBytes},
                                      {"mac_rx_rate", Unit::kBytesPerSecond},
                                      {"mac_tx_bad_bytes", Unit::kBytes},
                                      {"mac_rx_bad_bytes", Unit::kBytes},
                                      {"roce_tx_packets", Unit::kCount},
                                      {"roce_rx_packets", Unit::kCount},
                                      {"roce_tx_errors", Unit::kCount},
                                      {"roce_rx_errors", Unit::kCount},
                                      {"roce_tx_cnp", Unit::kCount},
                                      {"roce_rx_cnp", Unit::kCount},
                                      {"roce_retries", Unit::kCount},
                                      {"nic_tx_bytes", Unit::kBytes},
                                      {"nic_tx_rate", Unit::kBytesPerSecond},
                                      {"nic_rx_bytes", Unit::kBytes},
                                      {"nic_rx_rate", Unit::kBytesPerSecond}}};

// type: DvppEngine. all_time, all_frame: running totals.
inline const Series kDvppSeries = {"dvpp",
                                   "dvpp",
                                   {"dvpp_id", "type", "engine"},
                                   {{"all_time", Unit::kNs},
                                    {"all_frames", Unit::kCount},
                                    {"all_utilization", Unit::kRatio},
                                    {"proc_time", Unit::kNs},
                                    {"proc_frames", Unit::kCount},
                                    {"proc_utilization", Unit::kRatio},
                                    {"last_time", Unit::kNs},
                                    {"last_frames", Unit::kCount}}};

// die: -1 where there is but one. The first row is the value at the collection's start, the others are
// changes.
inline const Series kCoreFreqSeries = {"core_freq", "low-power", {"die"}, {{"freq", Unit::kHz}}};
// type: 1 core, 2 bus.
inline const Series kVoltageSeries = {"voltage", "low-power", {"type"}, {{"millivolts", Unit::kNone}}};

// stream: place in the list of what was asked for; its label is the name.
inline const Series kQosSeries = {"qos", "qos", {"stream", "die"}, {{"bandwidth", Unit::kBytesPerSecond}}};
inline const Series kSioSeries = {"sio",
                                  "soc-profile",
                                  {"die"},
                                  {{"req_rx", Unit::kBytesPerSecond},
                                   {"rsp_rx", Unit::kBytesPerSecond},
                                   {"snp_rx", Unit::kBytesPerSecond},
                                   {"dat_rx", Unit::kBytesPerSecond},
                                   {"req_tx", Unit::kBytesPerSecond},
                                   {"rsp_tx", Unit::kBytesPerSecond},
                                   {"snp_tx", Unit::kBytesPerSecond},
                                   {"dat_tx", Unit::kBytesPerSecond}}};
inline const Series kAccPmuSeries = {"acc_pmu",
                                     "soc-profile",
                                     {"unit"},
                                     {{"read_bandwidth", Unit::kNone},
                                      {"write_bandwidth", Unit::kNone},
                                      {"read_ost", Unit::kNone},
                                      {"write_ost", Unit::kNone}}};
inline const Series kPaLinkSeries = {
    "pa_link", "soc-profile", {"link"}, {{"rx", Unit::kNone}, {"tx", Unit::kNone}}};
inline const Series kPcieLinkSeries = {
    "pcie_link", "soc-profile", {"link"}, {{"write", Unit::kNone}, {"read", Unit::kNone}}};
inline const Series kSocInfoSeries = {
    "soc_info", "soc-profile", {}, {{"l2_buffer", Unit::kNone}, {"mata", Unit::kNone}}};

// Counted from one task to the next, by stream and task id; their records carry no time, so all are at the
// collection's begin. NaN: of no requests.
inline const Series kL2CacheSeries = {
    "l2_cache", "l2", {"stream", "task"}, {{"hit_rate", Unit::kRatio}, {"victim_rate", Unit::kRatio}}};
inline const Series kSocPmuSeries = {"soc_pmu",
                                     "soc-pmu",
                                     {"stream", "task"},
                                     {{"tlb_hit_rate", Unit::kRatio}, {"tlb_miss_rate", Unit::kRatio}}};
// Of what no rate is made: event is unit << 16 | its number; units as SocPmuType.
inline const Series kSocEventsSeries = {
    "soc_events", "soc-pmu", {"stream", "task", "event"}, {{"count", Unit::kCount}}};

// Instructions of a 950's collective units, from their stamp on; task: its id. notify: the number of an
// instruction that waited meanwhile, once for each rank it waited for, and how long; none: it has no value.
inline const Series kCcuMissionSeries = {
    "ccu_mission",
    "ccu-task",
    {"die", "task", "instruction"},
    {{"duration", Unit::kNs}, {"notify", Unit::kNone}, {"notify_duration", Unit::kNs}}};
// Kernels on AI CPUs, from when they began to run. dispatch: until then, total: until after it, both since
// the kernel was handed to its CPU.
inline const Series kAiCpuKernelSeries = {"aicpu_kernel",
                                          "aicpu",
                                          {"stream", "task"},
                                          {{"compute", Unit::kNs},
                                           {"copy", Unit::kNs},
                                           {"run", Unit::kNs},
                                           {"dispatch", Unit::kNs},
                                           {"total", Unit::kNs}}};
inline const Series kCcuChannelSeries = {
    "ccu_channel",
    "ccu",
    {"die", "channel"},
    {{"max", Unit::kBytesPerSecond}, {"min", Unit::kBytesPerSecond}, {"average", Unit::kBytesPerSecond}}};

// By groups of cores, core: 0 the AI core, 1 and 2 its vector cores; pipe: its label is the name. Of the time
// since the row before, or on a 950, whose rows are changes, from now on.
inline const Series kInstrBusySeries = {
    "instr_busy", "instr", {"group", "core", "pipe"}, {{"busy", Unit::kRatio}}};
// Of an AI core's bus unit, as it counts them.
inline const Series kInstrFlowSeries = {"instr_flow",
                                        "instr",
                                        {"group"},
                                        {{"read_latency", Unit::kNone},
                                         {"write_latency", Unit::kNone},
                                         {"read_bandwidth", Unit::kNone},
                                         {"write_bandwidth", Unit::kNone}}};

// core -1: the average of those sampled at one moment, the usage only. vector: 1 a vector core. usage: cycles
// of what the core could have run in the period. event0…: counts of the period, of the events in the order in
// which sample.json names them.
inline const Series kCoreSeries = {"core_sample",
                                   "aicore",
                                   {"core", "vector"},
                                   {{"cycles", Unit::kCount},
                                    {"usage", Unit::kRatio},
                                    {"freq", Unit::kHz},
                                    {"event0", Unit::kCount},
                                    {"event1", Unit::kCount},
                                    {"event2", Unit::kCount},
                                    {"event3", Unit::kCount},
                                    {"event4", Unit::kCount},
                                    {"event5", Unit::kCount},
                                    {"event6", Unit::kCount},
                                    {"event7", Unit::kCount},
                                    {"event8", Unit::kCount},
                                    {"event9", Unit::kCount}}};

}  // namespace profd::format
