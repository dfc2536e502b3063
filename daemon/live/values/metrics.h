// Every metric of profd. Names are for ever: dashboards and rules refer to them.
#pragma once

#include "daemon/live/values/metric.h"

namespace profd::live {

inline constexpr auto kCounter = Metric::Type::kCounter;

// -- device: from driver calls that hold no channel --
inline constexpr Metric kDeviceStatus = {
    "profd_device_status", "device", "1",
    "The driver's word on the device: 0 initialising, 1 working, 2 exception, 3 "
    "sleeping, 4 communication lost, -1 no answer"};
inline constexpr Metric kDeviceAiCore = {"profd_device_aicore_utilization_ratio", "device", "1",
                                         "How busy the AI cores are, as the driver says"};
inline constexpr Metric kDeviceAiCoreHertz = {"profd_device_aicore_frequency_hertz", "device", "Hz",
                                              "Clock of the AI cores at the moment"};
inline constexpr Metric kDeviceAiCoreRated = {"profd_device_aicore_rated_frequency_hertz", "device", "Hz",
                                              "Clock of the AI cores as rated"};
inline constexpr Metric kDeviceHeld = {"profd_device_kinds_held", "device", "1",
                                       "Kinds of the device that somebody samples"};

// -- health: by the vendor's card library --
inline constexpr Metric kHealthAlarm = {
    "profd_device_alarm", "health", "1",
    "The gravest alarm of the device: 0 none, 1 minor, 2 major, 3 critical"};
inline constexpr Metric kTemperature = {"profd_device_temperature_celsius", "health", "Cel",
                                        "Temperature of the chip or its memory"};
inline constexpr Metric kPower = {"profd_device_power_watts", "health", "W", "Power that the device takes"};
inline constexpr Metric kHbmBytes = {"profd_device_hbm_bytes", "health", "By",
                                     "High bandwidth memory of the device: total and used"};
inline constexpr Metric kEccErrors = {"profd_device_ecc_errors_total", "health", "1",
                                      "ECC errors of the device's memory since its reset", kCounter};
inline constexpr Metric kIsolatedPages = {
    "profd_device_isolated_pages", "health", "1",
    "Pages of the device's memory that are isolated after uncorrected errors"};
inline constexpr Metric kDeviceFaults = {"profd_device_faults", "health", "1",
                                         "Fault codes of the device that hold now"};
inline constexpr Metric kNetworkHealth = {
    "profd_device_network_status", "health", "1",
    "Whether the address that the RoCE port is to reach answers: 0 yes, 3 unreachable, 6 not asked yet, "
    "others as dcmi_rdfx_detect_result"};

// -- device: while a session, or live.channels, samples the kind --
inline constexpr Metric kHbmRate = {"profd_device_hbm_bytes_per_second", "hbm", "By/s",
                                    "High bandwidth memory traffic, all stacks"};
inline constexpr Metric kDdrRate = {"profd_device_ddr_bytes_per_second", "ddr", "By/s", "DDR memory traffic"};
inline constexpr Metric kLlcRate = {"profd_device_llc_bytes_per_second", "llc", "By/s",
                                    "Last level cache throughput, all slices"};
inline constexpr Metric kLlcHits = {"profd_device_llc_hit_ratio", "llc", "1",
                                    "Last level cache hits of what was asked for, mean of the slices"};
inline constexpr Metric kPcieRate = {"profd_device_pcie_bytes_per_second", "pcie", "By/s",
                                     "PCIe traffic by transaction, average of the period"};
inline constexpr Metric kPcieLatency = {"profd_device_pcie_nonposted_latency_seconds", "pcie", "s",
                                        "Latency of non-posted PCIe requests, average of the period"};
inline constexpr Metric kHccsRate = {"profd_device_hccs_bytes_per_second", "hccs", "By/s",
                                     "HCCS traffic, all links"};
inline constexpr Metric kUbRate = {"profd_device_ub_bytes_per_second", "ub", "By/s", "UB traffic, all ports"};
inline constexpr Metric kNicRate = {"profd_device_nic_bytes_per_second", "nic", "By/s",
                                    "NIC traffic, all ports"};
inline constexpr Metric kNicErrors = {"profd_device_nic_errors_total", "nic", "1", "Errors of the NIC ports",
                                      kCounter};
inline constexpr Metric kNicDropped = {"profd_device_nic_dropped_total", "nic", "1",
                                       "Packets dropped by the NIC ports", kCounter};
inline constexpr Metric kRoceRate = {"profd_device_roce_bytes_per_second", "roce", "By/s",
                                     "RoCE traffic, all ports"};
inline constexpr Metric kRoceErrors = {"profd_device_roce_errors_total", "roce", "1",
                                       "Errors of the RoCE ports", kCounter};
inline constexpr Metric kRoceDropped = {"profd_device_roce_dropped_total", "roce", "1",
                                        "Packets dropped by the RoCE ports", kCounter};
inline constexpr Metric kDvpp = {"profd_device_dvpp_utilization_ratio", "dvpp", "1",
                                 "How busy the media engines of a type are, mean of them"};
inline constexpr Metric kNpuMem = {"profd_device_memory_used_bytes", "npu-mem", "By",
                                   "Device memory in use, of the device or of the application"};
inline constexpr Metric kModuleMem = {"profd_device_module_memory_bytes", "npu-module-mem", "By",
                                      "Device memory reserved by the driver's modules together"};
inline constexpr Metric kQos = {"profd_device_qos_bytes_per_second", "qos", "By/s",
                                "Traffic of a memory bandwidth partition (MPAM)"};
inline constexpr Metric kSioRate = {"profd_device_sio_bytes_per_second", "soc-profile", "By/s",
                                    "Traffic between the dies of the device"};
inline constexpr Metric kCoreUse = {"profd_device_core_utilization_ratio", "aicore", "1",
                                    "Cycles of the cores of what they could have run, mean of the cores"};
inline constexpr Metric kVoltage = {"profd_device_voltage_volts", "low-power", "V", "Supply voltage"};

// -- host --
inline constexpr Metric kHostCpu = {"profd_host_cpu_seconds_total", "host-cpu", "s",
                                    "CPU time of all CPUs of the host, by what it went to", kCounter};
inline constexpr Metric kHostCpuUse = {"profd_host_cpu_utilization_ratio", "host-cpu", "1",
                                       "CPU time of the last period that was neither idle nor waiting"};
inline constexpr Metric kHostCpus = {"profd_host_cpus", "host-cpu", "1", "CPUs of the host"};
inline constexpr Metric kHostMemory = {"profd_host_memory_bytes", "host-mem", "By",
                                       "Memory of the host: total, available, free, cached, dirty"};
inline constexpr Metric kHostSwap = {"profd_host_swap_bytes", "host-mem", "By",
                                     "Swap of the host: total, free"};
inline constexpr Metric kHostLoad = {"profd_host_load", "host-load", "1",
                                     "Load average over so many minutes"};
inline constexpr Metric kDiskRead = {"profd_host_disk_read_bytes_total", "host-disk", "By",
                                     "Read from the disk", kCounter};
inline constexpr Metric kDiskWritten = {"profd_host_disk_written_bytes_total", "host-disk", "By",
                                        "Written to the disk", kCounter};
inline constexpr Metric kDiskBusy = {"profd_host_disk_busy_seconds_total", "host-disk", "s",
                                     "Time in which the disk had something to do", kCounter};
inline constexpr Metric kNetBytes = {"profd_host_network_bytes_total", "host-network", "By",
                                     "Bytes through the interface", kCounter};
inline constexpr Metric kNetPackets = {"profd_host_network_packets_total", "host-network", "1",
                                       "Packets through the interface", kCounter};
inline constexpr Metric kNetErrors = {"profd_host_network_errors_total", "host-network", "1",
                                      "Errors of the interface", kCounter};
inline constexpr Metric kNetDropped = {"profd_host_network_dropped_total", "host-network", "1",
                                       "Packets that the interface dropped", kCounter};

// -- processes with an agent --
inline constexpr Metric kProcessCpu = {"profd_process_cpu_seconds_total", "process", "s",
                                       "CPU time of the process", kCounter};
inline constexpr Metric kProcessCpuUse = {"profd_process_cpu_utilization_ratio", "process", "1",
                                          "CPUs that the process kept busy in the last period"};
inline constexpr Metric kProcessRss = {"profd_process_resident_memory_bytes", "process", "By",
                                       "Resident memory of the process"};
inline constexpr Metric kProcessThreads = {"profd_process_threads", "process", "1", "Threads of the process"};
inline constexpr Metric kProcessSteps = {"profd_process_steps_total", "process", "1",
                                         "Steps of its loop that the process has ended", kCounter};
inline constexpr Metric kProcessStepSeconds = {
    "profd_process_step_seconds", "process", "s",
    "How long a step of the process takes: mean of those that ended in the last period, or how long the "
    "one that runs has taken, if that is more"};
inline constexpr Metric kStepSeconds = {"profd_step_seconds", "step", "s",
                                        "How long a step takes of the program on the device, of several the "
                                        "slowest"};

// -- sessions --
inline constexpr Metric kSessionBytes = {"profd_session_stored_bytes", "session", "By",
                                         "What the session has stored so far"};
inline constexpr Metric kSessionLost = {"profd_session_lost_records", "session", "1",
                                        "Records of the session that were due and are not stored"};
inline constexpr Metric kSessionKinds = {"profd_session_kinds", "session", "1",
                                         "Kinds that the session samples"};
inline constexpr Metric kSessionElapsed = {"profd_session_elapsed_seconds", "session", "s",
                                           "How long the session has run"};

// -- profd itself --
inline constexpr Metric kBuildInfo = {"profd_build_info", "profd", "1", "Always 1; its label is the version"};
inline constexpr Metric kSelfCpu = {"profd_self_cpu_seconds_total", "profd", "s", "CPU time of profd",
                                    kCounter};
inline constexpr Metric kSelfRss = {"profd_self_resident_memory_bytes", "profd", "By",
                                    "Resident memory of profd"};
inline constexpr Metric kSessions = {"profd_sessions", "profd", "1",
                                     "Sessions that have not ended, by state"};
inline constexpr Metric kAgents = {"profd_agents", "profd", "1", "Processes with an agent"};
inline constexpr Metric kAgentsTurnedAway = {"profd_agents_turned_away_total", "profd", "1",
                                             "Agents that found no room", kCounter};
inline constexpr Metric kStored = {"profd_stored_bytes_total", "profd", "By",
                                   "What all sessions have stored, by where it came from", kCounter};
inline constexpr Metric kLost = {
    "profd_lost_records_total", "profd", "1",
    "Records of all sessions that were due and are not stored, by where they came from", kCounter};
inline constexpr Metric kQueued = {"profd_queue_chunks", "profd", "1",
                                   "Chunks on their way from a source to the disk"};
inline constexpr Metric kQueueRoom = {"profd_queue_chunks_limit", "profd", "1",
                                      "Chunks that fit on that way before data is dropped"};
inline constexpr Metric kQueueBytes = {"profd_queue_bytes", "profd", "By",
                                       "Memory of the chunks on their way"};
inline constexpr Metric kMissedTicks = {"profd_sampler_missed_ticks_total", "profd", "1",
                                        "Deadlines of the host sampler that had passed before it began",
                                        kCounter};
inline constexpr Metric kLiveValues = {"profd_live_values", "profd", "1", "Values of the last period"};
inline constexpr Metric kLiveLeftOut = {"profd_live_values_left_out", "profd", "1",
                                        "Values beyond metrics.max_series, which are not shown"};
inline constexpr Metric kLivePeriod = {"profd_live_period_seconds", "profd", "s", "Time between two values"};
inline constexpr Metric kUnanswered = {"profd_driver_unanswered_calls", "profd", "1",
                                       "Devices whose driver has not answered the last call for values"};
inline constexpr Metric kOtlpExports = {"profd_otlp_exports_total", "profd", "1",
                                        "Sets of values that the collector took", kCounter};
inline constexpr Metric kOtlpFailed = {"profd_otlp_failed_exports_total", "profd", "1",
                                       "Sets of values that the collector did not take, or not whole",
                                       kCounter};
inline constexpr Metric kBudget = {
    "profd_limits_level", "profd", "1",
    "What profd does without to keep within limits: 0 nothing, 1 live rates lower, "
    "2 live values off, 3 and 4 host samples thinned"};

}  // namespace profd::live
