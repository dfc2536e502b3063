// PCIe, HCCS, NIC, RoCE, UB and the media engines.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <iterator>

#include "format/records/device.h"
#include "sim/scenario/producers/channel_ids.h"
#include "sim/scenario/producers/producer.h"

namespace profd::sim {
namespace {

constexpr uint64_t kMs = 1'000'000;

// A line of a text channel: "<seconds>:<nanoseconds, 9 digits>" and numbers, one blank between.
class Line {
 public:
  explicit Line(uint64_t device_ns) {
    const int written = std::snprintf(text_, sizeof text_, "%llu:%09llu",
                                      static_cast<unsigned long long>(device_ns / 1'000'000'000),
                                      static_cast<unsigned long long>(device_ns % 1'000'000'000));
    end_ = text_ + written;
  }
  Line& operator<<(uint64_t value) {
    *end_++ = ' ';
    end_ = std::to_chars(end_, std::end(text_), value).ptr;
    return *this;
  }
  Line& Percent(uint64_t value) {
    *this << value;
    *end_++ = '%';
    return *this;
  }
  std::string_view Finish() {
    *end_++ = '\n';
    return {text_, static_cast<size_t>(end_ - text_)};
  }

 private:
  char text_[24 + 16 * 21];  // the time and at most 15 numbers
  char* end_;
};

uint64_t PerSecond(uint64_t units, double seconds) {
  return static_cast<uint64_t>(static_cast<double>(units) / seconds);
}

class PcieProducer : public PeriodicProducer {
 public:
  PcieProducer(const Environment& env, const StartRequest& request)
      : PeriodicProducer(env, request, request.period_ms * kMs) {}

 protected:
  static constexpr uint32_t kNoValue = 0xFFFFF;  // as the minimum of a period without traffic
  static constexpr uint32_t kParts = 4;  // minimum and maximum are those of this many parts of the period

  // Bytes per µs of a share of a flow.
  format::PcieTriple Bandwidth(Flow flow, uint32_t percent, const Tick& tick) const {
    std::array<uint64_t, kParts + 1> total;
    for (uint32_t i = 0; i <= kParts; ++i) {
      total[i] = Share(env_.load->Total(flow, tick.from_ns + (tick.to_ns - tick.from_ns) * i / kParts),
                       percent, 100);
    }
    const double us = tick.seconds * 1e6;
    format::PcieTriple triple{.min = UINT32_MAX, .max = 0, .avg = 0};
    for (uint32_t i = 0; i < kParts; ++i) {
      const auto rate = static_cast<uint32_t>(static_cast<double>(total[i + 1] - total[i]) * kParts / us);
      triple.min = std::min(triple.min, rate);
      triple.max = std::max(triple.max, rate);
    }
    triple.avg = static_cast<uint32_t>(static_cast<double>(total[kParts] - total[0]) / us);
    return triple;
  }

  uint64_t Encode(const Tick& tick, Sample& sample) override {
    format::PcieRecord record{};
    record.time_ns = tick.device_ns;
    record.device = env_.device;
    record.tx_posted = Bandwidth(Flow::kPcieTx, 80, tick);
    record.tx_nonposted = Bandwidth(Flow::kPcieTx, 5, tick);
    record.tx_completion = Bandwidth(Flow::kPcieTx, 15, tick);
    record.rx_posted = Bandwidth(Flow::kPcieRx, 20, tick);
    record.rx_nonposted = Bandwidth(Flow::kPcieRx, 5, tick);
    record.rx_completion = Bandwidth(Flow::kPcieRx, 75, tick);
    const uint32_t load = record.tx_nonposted.avg;
    record.tx_nonposted_latency = {.min = 400 + load / 8, .max = 900 + load, .avg = 550 + load / 2};
    if (record.tx_nonposted.max == 0) {
      record.tx_nonposted.min = kNoValue;
      record.tx_nonposted_latency = {.min = kNoValue, .max = 0, .avg = 0};
    }
    sample.Append(record);
    Report("tx_posted", record.tx_posted, sample);
    Report("tx_nonposted", record.tx_nonposted, sample);
    Report("tx_completion", record.tx_completion, sample);
    Report("rx_posted", record.rx_posted, sample);
    Report("rx_nonposted", record.rx_nonposted, sample);
    Report("rx_completion", record.rx_completion, sample);
    const format::PcieTriple& latency = record.tx_nonposted_latency;
    sample.Values(
        "tx_nonposted_latency_ns",
        std::array<uint64_t, 3>{latency.min == kNoValue ? 0 : latency.min, latency.max, latency.avg});
    return tick.device_ns;
  }

 private:
  // min, max, avg as bytes per µs, a minimum of "no value" as 0.
  static void Report(const char* name, const format::PcieTriple& triple, Sample& sample) {
    if (!sample.wants_values()) return;
    sample.Values(std::string(name) + "_bytes_us",
                  std::array<uint64_t, 3>{triple.min == kNoValue ? 0 : triple.min, triple.max, triple.avg});
  }
};

class HccsProducer : public PeriodicProducer {
 public:
  HccsProducer(const Environment& env, const StartRequest& request)
      : PeriodicProducer(env, request, request.period_ms * kMs) {}

 protected:
  uint64_t Encode(const Tick& tick, Sample& sample) override {
    if (tick.number == 1) sample.AppendHeader(format::kHccsHeader);
    const uint64_t tx = env_.load->Total(Flow::kHccsTx, tick.to_ns);
    const uint64_t rx = env_.load->Total(Flow::kHccsRx, tick.to_ns);
    sample.AppendRaw((Line(tick.device_ns) << tx << rx).Finish());
    sample.Value("tx_bytes_total", tx);
    sample.Value("rx_bytes_total", rx);
    return tick.device_ns;
  }
};

// NIC and RoCE: one port, 15 columns.
class PortProducer : public PeriodicProducer {
 public:
  struct Port {
    Flow tx, rx;
    uint64_t bandwidth_mbit_s;
    uint64_t packet_bytes;
  };
  PortProducer(const Environment& env, const StartRequest& request, const Port& port)
      : PeriodicProducer(env, request, request.period_ms * kMs), port_(port) {}

 protected:
  static constexpr uint64_t kPacketsPerError = 1'000'000;
  static constexpr uint64_t kPacketsPerDrop = 5'000'000;

  struct Direction {
    uint64_t packets_s, bytes_s, packets, bytes, errors, dropped;
  };
  Direction Measure(Flow flow, const Tick& tick) const {
    const uint64_t from = env_.load->Total(flow, tick.from_ns);
    const uint64_t to = env_.load->Total(flow, tick.to_ns);
    const uint64_t packets = to / port_.packet_bytes;
    return {.packets_s = PerSecond(packets - from / port_.packet_bytes, tick.seconds),
            .bytes_s = PerSecond(to - from, tick.seconds),
            .packets = packets,
            .bytes = to,
            .errors = packets / kPacketsPerError,
            .dropped = packets / kPacketsPerDrop};
  }

  uint64_t Encode(const Tick& tick, Sample& sample) override {
    constexpr uint64_t kFunction = 0;
    if (tick.number == 1) sample.AppendHeader(format::kNetHeader);
    const Direction rx = Measure(port_.rx, tick);
    const Direction tx = Measure(port_.tx, tick);
    Line line(tick.device_ns);
    line << port_.bandwidth_mbit_s;
    for (const Direction& d : {rx, tx})
      line << d.packets_s << d.bytes_s << d.packets << d.bytes << d.errors << d.dropped;
    sample.AppendRaw((line << kFunction).Finish());
    sample.Value("bandwidth_mbit_s", port_.bandwidth_mbit_s);
    Report(rx, "rx_packets_s", "rx_bytes_s", "rx_packets", "rx_bytes_total", "rx_errors", "rx_dropped",
           sample);
    Report(tx, "tx_packets_s", "tx_bytes_s", "tx_packets", "tx_bytes_total", "tx_errors", "tx_dropped",
           sample);
    return tick.device_ns;
  }

 private:
  static void Report(const Direction& d, std::string_view packets_s, std::string_view bytes_s,
                     std::string_view packets, std::string_view bytes, std::string_view errors,
                     std::string_view dropped, Sample& sample) {
    sample.Value(packets_s, d.packets_s);
    sample.Value(bytes_s, d.bytes_s);
    sample.Value(packets, d.packets);
    sample.Value(bytes, d.bytes);
    sample.Value(errors, d.errors);
    sample.Value(dropped, d.dropped);
  }

  Port port_;
};

class UbProducer : public PeriodicProducer {
 public:
  UbProducer(const Environment& env, const StartRequest& request)
      : PeriodicProducer(env, request, request.period_ms * kMs) {}

 protected:
  static constexpr uint32_t kPorts = 2;
  static constexpr uint16_t kUbMark = 0x5A5A;  // any: the vendor's parser passes over it

  uint64_t Encode(const Tick& tick, Sample& sample) override {
    std::array<uint64_t, kPorts> rx_mb_s;
    std::array<uint64_t, kPorts> tx_mb_s;
    const uint64_t rx = Flowed(Flow::kUbRx, tick);
    const uint64_t tx = Flowed(Flow::kUbTx, tick);
    for (uint32_t port = 0; port < kPorts; ++port) {
      rx_mb_s[port] = PerSecond(Share(rx, 3 - port, 5), tick.seconds) / (1 << 20);
      tx_mb_s[port] = PerSecond(Share(tx, 3 - port, 5), tick.seconds) / (1 << 20);
      format::UbRecord record{};
      record.magic = kUbMark;
      record.port = static_cast<uint16_t>(port);
      record.time_us = tick.since_start_us;
      record.rx_mb_s = rx_mb_s[port];
      record.tx_mb_s = tx_mb_s[port];
      sample.Append(record);
    }
    sample.Values("rx_mb_s", rx_mb_s);
    sample.Values("tx_mb_s", tx_mb_s);
    return tick.since_start_us;
  }
};

// Channel 6: every engine, one line each; channels 135–141: the lines of one kind of engine.
class DvppProducer : public PeriodicProducer {
 public:
  DvppProducer(const Environment& env, const StartRequest& request, std::vector<int> engines)
      : PeriodicProducer(env, request, request.period_ms * kMs), engines_(std::move(engines)) {}

 protected:
  uint64_t Encode(const Tick& tick, Sample& sample) override {
    if (tick.number == 1) {
      sample.AppendHeader(env_.chip->dvpp_id_column ? format::kDvppHeader : format::kDvppHeaderNoId);
    }
    std::vector<uint64_t> types;
    std::vector<uint64_t> all_time;
    std::vector<uint64_t> all_frame;
    std::vector<uint64_t> utilization;
    for (const int engine : engines_) {
      constexpr uint64_t kDvppId = 0, kEngineId = 0;
      const uint64_t frame_us = 400 + 150 * static_cast<uint64_t>(engine);
      const uint64_t last_us = env_.load->Total(DvppBusy(engine), tick.from_ns) / 1000;
      const uint64_t time_us = env_.load->Total(DvppBusy(engine), tick.to_ns) / 1000;
      const uint64_t percent =
          static_cast<uint64_t>(static_cast<double>(time_us - last_us) / (tick.seconds * 1e4));
      const uint64_t frames = time_us / frame_us;
      const uint64_t last_frames = frames - last_us / frame_us;
      Line line(tick.device_ns);
      if (env_.chip->dvpp_id_column) line << kDvppId;
      line << static_cast<uint64_t>(engine) << kEngineId << time_us << frames;
      line.Percent(percent) << time_us << frames;
      line.Percent(percent) << time_us - last_us << last_frames;
      sample.AppendRaw(line.Finish());
      if (!sample.wants_values()) continue;
      types.push_back(static_cast<uint64_t>(engine));
      all_time.push_back(time_us);
      all_frame.push_back(frames);
      utilization.push_back(percent);
    }
    sample.Values("engine_type", types);
    sample.Values("all_time_us", all_time);
    sample.Values("all_frame", all_frame);
    sample.Values("utilization_percent", utilization);
    return tick.device_ns;
  }

 private:
  std::vector<int> engines_;
};

// Engine numbers of channels 135…141: VENC JPEGE VDEC JPEGD VPC PNGD SCD.
constexpr int kEngineOfChannel[] = {5, 3, 0, 1, 4, 2, 6};

}  // namespace

std::unique_ptr<Producer> MakeLinkProducer(const Environment& env, const StartRequest& request) {
  const uint32_t id = request.channel;
  if (id >= channel::kDvppVenc && id <= channel::kDvppScd) {
    return std::make_unique<DvppProducer>(env, request,
                                          std::vector<int>{kEngineOfChannel[id - channel::kDvppVenc]});
  }
  switch (id) {
    case channel::kPcie:
      return std::make_unique<PcieProducer>(env, request);
    case channel::kHccs:
      return std::make_unique<HccsProducer>(env, request);
    case channel::kNic:
      return std::make_unique<PortProducer>(
          env, request,
          PortProducer::Port{
              .tx = Flow::kNicTx, .rx = Flow::kNicRx, .bandwidth_mbit_s = 25000, .packet_bytes = 1400});
    case channel::kRoce:
      return std::make_unique<PortProducer>(
          env, request,
          PortProducer::Port{
              .tx = Flow::kRoceTx, .rx = Flow::kRoceRx, .bandwidth_mbit_s = 200000, .packet_bytes = 4096});
    case channel::kUb:
      return std::make_unique<UbProducer>(env, request);
    case channel::kDvpp:
      return std::make_unique<DvppProducer>(env, request, std::vector<int>{0, 1, 2, 3, 4, 5, 6});
    default:
      return nullptr;
  }
}

}  // namespace profd::sim
