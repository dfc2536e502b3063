#include "daemon/live/values/host_values.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "daemon/live/values/metrics.h"

namespace profd::live {

namespace {

constexpr const char* kLoadMinutes[] = {"1", "5", "15"};
constexpr size_t kIdle = 3, kIoWait = 4;  // of kCpuModes

double TickSeconds() {
  static const double kSeconds = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return kSeconds;
}

double Seconds(const host::HostReading& from, const host::HostReading& to) {
  return static_cast<double>(to.mono_ns - from.mono_ns) / 1e9;
}

double Number(uint64_t value) { return static_cast<double>(value); }

}  // namespace

void HostValues::Add(const host::HostReading& reading, const std::map<pid_t, ProcessLabels>& processes,
                     std::vector<Sample>& samples) {
  if (reading.cpus != 0) AddCpu(reading, samples);
  if (reading.memory_total != 0) {
    const std::pair<const char*, uint64_t> parts[] = {{"total", reading.memory_total},
                                                      {"available", reading.memory_available},
                                                      {"free", reading.memory_free},
                                                      {"cached", reading.memory_cached},
                                                      {"dirty", reading.memory_dirty}};
    for (const auto& [part, bytes] : parts)
      samples.push_back({&kHostMemory, {{"part", part}}, Number(bytes)});
    samples.push_back({&kHostSwap, {{"part", "total"}}, Number(reading.swap_total)});
    samples.push_back({&kHostSwap, {{"part", "free"}}, Number(reading.swap_free)});
  }
  if (std::ranges::any_of(reading.load, [](double load) { return load > 0; })) {
    for (size_t i = 0; i < std::size(kLoadMinutes); ++i) {
      samples.push_back({&kHostLoad, {{"minutes", kLoadMinutes[i]}}, reading.load[i]});
    }
  }
  for (const auto& disk : reading.disks) {
    const std::vector<Label> labels = {{"disk", disk.name}};
    samples.push_back({&kDiskRead, labels, Number(disk.read_bytes)});
    samples.push_back({&kDiskWritten, labels, Number(disk.written_bytes)});
    samples.push_back({&kDiskBusy, labels, Number(disk.busy_ms) / 1000});
  }
  for (const auto& network : reading.networks) {
    const auto both = [&](const Metric& metric, uint64_t rx, uint64_t tx) {
      samples.push_back(
          {&metric, {{"interface", base::OneLine(network.name)}, {"direction", "rx"}}, Number(rx)});
      samples.push_back(
          {&metric, {{"interface", base::OneLine(network.name)}, {"direction", "tx"}}, Number(tx)});
    };
    both(kNetBytes, network.rx_bytes, network.tx_bytes);
    both(kNetPackets, network.rx_packets, network.tx_packets);
    both(kNetErrors, network.rx_errors, network.tx_errors);
    both(kNetDropped, network.rx_dropped, network.tx_dropped);
  }
  AddProcesses(reading, processes, samples);
  samples.push_back({&kSelfCpu, {}, Number(reading.self.cpu_ticks) / 1e9});
  samples.push_back({&kSelfRss, {}, Number(reading.self.rss_bytes)});
  before_ = reading;
}

void HostValues::AddCpu(const host::HostReading& reading, std::vector<Sample>& samples) const {
  uint64_t all = 0, idle = 0;
  for (size_t mode = 0; mode < host::kCpuModes.size(); ++mode) {
    samples.push_back(
        {&kHostCpu, {{"mode", host::kCpuModes[mode]}}, Number(reading.cpu_ticks[mode]) * TickSeconds()});
    if (!before_) continue;
    // The kernel lets some of them fall back by a tick.
    const uint64_t before = before_->cpu_ticks[mode];
    const uint64_t passed = reading.cpu_ticks[mode] - std::min(before, reading.cpu_ticks[mode]);
    all += passed;
    if (mode == kIdle || mode == kIoWait) idle += passed;
  }
  samples.push_back({&kHostCpus, {}, Number(reading.cpus)});
  if (all > 0 && before_->cpus != 0) samples.push_back({&kHostCpuUse, {}, Number(all - idle) / Number(all)});
}

void HostValues::AddProcesses(const host::HostReading& reading,
                              const std::map<pid_t, ProcessLabels>& processes,
                              std::vector<Sample>& samples) const {
  for (const auto& process : reading.processes) {
    const auto known = processes.find(process.pid);
    if (known == processes.end()) continue;
    const auto add = [&](const Metric& metric, double value) {
      samples.push_back(
          {&metric, known->second.labels, value, auth::Action::kSeeProcess, {.owner = known->second.uid}});
    };
    add(kProcessCpu, Number(process.cpu_ticks) * TickSeconds());
    add(kProcessRss, Number(process.rss_bytes));
    add(kProcessThreads, Number(process.threads));
    if (!before_) continue;
    for (const auto& before : before_->processes) {
      const double seconds = Seconds(*before_, reading);
      if (before.pid != process.pid || before.cpu_ticks > process.cpu_ticks || seconds <= 0) continue;
      add(kProcessCpuUse, Number(process.cpu_ticks - before.cpu_ticks) * TickSeconds() / seconds);
    }
  }
}

}  // namespace profd::live
