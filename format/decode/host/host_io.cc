// host_mem.data, host_disk.data, host_network.data.
#include <algorithm>
#include <string>
#include <vector>

#include "format/decode/family.h"
#include "format/decode/line_decoder.h"
#include "format/decode/rows.h"
#include "format/kind.h"
#include "format/series.h"

namespace profd::format {

namespace {

// used: resident memory of the process; usage: its part of the machine's. `last`: the vendor leaves this
// sample out.
const Series kHostMemSeries{
    "host_mem", Kind::kHostMem, {}, {{"usage", Unit::kRatio}, {"used", Unit::kBytes}}};
const Series kHostDiskSeries{
    "host_disk",
    Kind::kHostDisk,
    {},
    {{"read", Unit::kBytesPerSecond}, {"write", Unit::kBytesPerSecond}, {"io", Unit::kRatio}}};
// speed: bytes moved; usage: of the port's speed. Stamped at the beginning of the interval.
const Series kHostNetworkSeries{
    "host_network", Kind::kHostNetwork, {}, {{"usage", Unit::kRatio}, {"speed", Unit::kBytesPerSecond}}};
// Of a port whose speed info.json does not have, so that host_network leaves it out. key port: a number whose
// label is its name. Stamped at the beginning of the interval.
const Series kHostPortSeries{"host_port",
                             Kind::kHostNetwork,
                             {"port"},
                             {{"rx", Unit::kBytesPerSecond}, {"tx", Unit::kBytesPerSecond}}};

constexpr double kPageBytes = 4096;  // as the vendor takes for granted; statm does not say
constexpr double kBytesPerMbit = 1e6 / 8;

// "<raw ns> <line of /proc/PID/statm>". **Thread:** one.
class HostMem : public LineDecoder {
 public:
  explicit HostMem(const DecodeContext& context) : LineDecoder(context), rows_(kHostMemSeries, context) {}
  void Finish() override { rows_.Flush(); }

 private:
  void Line(std::string_view line) override {
    Words words(line);
    const std::string_view stamp = words.Next();
    if (stamp.empty()) return;
    ++records_;
    words.Next();
    const auto raw_ns = ToNumber<uint64_t>(stamp), pages = ToNumber<uint64_t>(words.Next());
    if (!raw_ns || !pages) return Reject("not <time> and a line of statm");
    const double used = static_cast<double>(*pages) * kPageBytes;
    const double total = static_cast<double>(context().side->memory_total_kb) * 1024;
    const double usage = total > 0 ? used / total : kNoValue;
    if (!context().vendor_compatible) {
      rows_.Add(context().HostRawToWall(*raw_ns), {}, {usage, used});
    } else if (has_before_) {  // stamped with the sample before, so that there is one less
      rows_.Add(context().HostRawToWall(before_raw_ns_), {}, {usage, used});
    }
    before_raw_ns_ = *raw_ns;
    has_before_ = true;
  }

  Rows rows_;
  uint64_t before_raw_ns_ = 0;
  bool has_before_ = false;
};

// Lines of iotop; behind each piece a line says when it began. **Thread:** one.
class HostDisk : public LineDecoder {
 public:
  explicit HostDisk(const DecodeContext& context) : LineDecoder(context), rows_(kHostDiskSeries, context) {}
  void Finish() override {
    if (!piece_.empty()) Reject("lines of iotop without the time they began at", piece_.size());
    rows_.Flush();
  }

 private:
  static constexpr size_t kMaxPiece = 1 << 20;
  struct Rates {
    double read = 0, write = 0, io = 0;
  };

  void Line(std::string_view line) override {
    Words words(line);
    std::string_view word[12] = {};
    size_t count = 0;
    while (count < std::size(word) && !(word[count] = words.Next()).empty()) ++count;
    if (count >= 2 && word[0] == "start_time") {
      if (const auto raw_ns = ToNumber<uint64_t>(word[1])) return EndPiece(*raw_ns);
    }
    if (count == 0 || !ToNumber<uint64_t>(word[1])) return;  // headings and sums
    ++records_;
    const double read = Rate(word[4], word[5]), write = Rate(word[6], word[7]);
    if (count < 8 || read < 0 || write < 0) return Reject("no line of iotop");
    // A kernel that does not account delays has "?unavailable?" there, and the program's words follow at
    // once.
    const bool has_shares = word[9] == "%" && word[11] == "%";
    const auto io = has_shares ? ToDouble(word[10]) : std::nullopt;
    if (piece_.size() >= kMaxPiece) return Reject("more lines in one piece than there is room for");
    piece_.push_back({read, write, io.value_or(0) / 100});
  }

  // Bytes/s; negative when it is no rate.
  static double Rate(std::string_view number, std::string_view unit) {
    const auto value = ToDouble(number);
    if (!value || *value < 0) return -1;
    if (unit == "B/s") return *value;
    if (unit == "K/s") return *value * 1024;
    if (unit == "M/s") return *value * 1024 * 1024;
    if (unit == "G/s") return *value * 1024 * 1024 * 1024;
    return -1;
  }

  void EndPiece(uint64_t raw_ns) {
    const uint32_t hz = context().side->host_disk_hz;
    if (hz == 0) {
      if (!piece_.empty()) Reject("host_disk_freq is not in sample.json", piece_.size());
    } else {
      for (size_t i = 0; i < piece_.size(); ++i) {
        const Rates& rates = piece_[i];
        rows_.Add(context().HostRawToWall(raw_ns + i * 1'000'000'000 / hz), {},
                  {rates.read, rates.write, rates.io});
      }
    }
    piece_.clear();
  }

  Rows rows_;
  std::vector<Rates> piece_;
};

// "time <raw ns>" and the lines of /proc/net/dev. **Thread:** one.
class HostNetwork : public LineDecoder {
 public:
  explicit HostNetwork(const DecodeContext& context)
      : LineDecoder(context), rows_(kHostNetworkSeries, context), port_rows_(kHostPortSeries, context) {
    for (const HostFacts::NetCard& card : context.side->net_cards) {
      if (card.speed_mbps != 0)
        ports_.push_back({card.name, static_cast<double>(card.speed_mbps) * kBytesPerMbit});
    }
  }
  void Finish() override {
    EndSample();
    rows_.Flush();
    port_rows_.Flush();
  }

 private:
  static constexpr size_t kMostPorts = 1024;
  struct Port {
    std::string name;
    double speed = 0;  // bytes/s; 0: nobody knows it
    uint64_t received = 0, sent = 0, received_before = 0, sent_before = 0;
    bool here = false, here_before = false;
  };

  void Line(std::string_view line) override {
    if (line.starts_with("time ")) {
      EndSample();
      ++records_;
      const auto raw_ns = ToNumber<uint64_t>(line.substr(5));
      if (!raw_ns) Reject("no time in the sample's first line");
      raw_ns_ = raw_ns.value_or(0);
      open_ = raw_ns.has_value();
      return;
    }
    const size_t colon = line.find(':');
    if (!open_ || colon == std::string_view::npos) return;
    const std::string_view name = Words(line.substr(0, colon)).Next();
    auto port = std::find_if(ports_.begin(), ports_.end(), [&](const Port& p) { return p.name == name; });
    if (port == ports_.end()) {
      if (context().vendor_compatible) return;  // which knows the ports with a speed only
      if (ports_.size() >= kMostPorts) return Reject("lines of more ports than there is room for");
      port = ports_.insert(port, Port{std::string(name)});
      port_rows_.Label(0, port - ports_.begin(), name);
    }
    Words words(line.substr(colon + 1));
    const auto received = ToNumber<uint64_t>(words.Next());
    for (int i = 0; i < 7; ++i) words.Next();
    const auto sent = ToNumber<uint64_t>(words.Next());
    if (!received || !sent) return Reject("no line of /proc/net/dev");
    port->received = *received;
    port->sent = *sent;
    port->here = true;
  }

  void EndSample() {
    if (!open_) return;
    if (has_before_) Usage();
    if (has_before_ && raw_ns_ > before_raw_ns_) OthersUsage();
    for (Port& port : ports_) {
      port.received_before = port.received;
      port.sent_before = port.sent;
      port.here_before = std::exchange(port.here, false);
    }
    before_raw_ns_ = raw_ns_;
    has_before_ = true;
    open_ = false;
  }

  void Usage() {
    double moved = 0, speed = 0, last_speed = 0, ports = 0;
    for (const Port& port : ports_) {
      if (!port.here || !port.here_before || port.speed == 0) continue;
      last_speed = port.speed;
      if (port.received < port.received_before || port.sent < port.sent_before) continue;
      moved += static_cast<double>(port.received - port.received_before + (port.sent - port.sent_before));
      speed += port.speed;
      ++ports;
    }
    if (ports == 0) return;
    if (raw_ns_ <= before_raw_ns_) return Reject("time does not pass between two samples");
    const uint64_t wall_ns = context().HostRawToWall(before_raw_ns_);
    if (context().vendor_compatible) {  // in seconds since boot, which are less exact, and of the last port's
                                        // speed
      const double seconds = static_cast<double>(raw_ns_) / 1e9 - static_cast<double>(before_raw_ns_) / 1e9;
      const double rate = seconds > 0 ? moved / seconds : 0;
      rows_.Add(wall_ns, {}, {rate / ports / last_speed, rate});
    } else {
      const double rate = moved / (static_cast<double>(raw_ns_ - before_raw_ns_) / 1e9);
      rows_.Add(wall_ns, {}, {rate / speed, rate});
    }
  }

  // Without a speed there is no load that ports could share, so each is by itself.
  void OthersUsage() {
    const double seconds = static_cast<double>(raw_ns_ - before_raw_ns_) / 1e9;
    const uint64_t wall_ns = context().HostRawToWall(before_raw_ns_);
    for (size_t i = 0; i < ports_.size(); ++i) {
      const Port& port = ports_[i];
      if (!port.here || !port.here_before || port.speed != 0) continue;
      if (port.received < port.received_before || port.sent < port.sent_before) continue;
      port_rows_.Add(wall_ns, {static_cast<int64_t>(i)},
                     {static_cast<double>(port.received - port.received_before) / seconds,
                      static_cast<double>(port.sent - port.sent_before) / seconds});
    }
  }

  Rows rows_, port_rows_;
  std::vector<Port> ports_;
  uint64_t raw_ns_ = 0, before_raw_ns_ = 0;
  bool open_ = false, has_before_ = false;
};

std::unique_ptr<Decoder> MakeHostMem(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<HostMem>(context);
}
std::unique_ptr<Decoder> MakeHostDisk(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<HostDisk>(context);
}
std::unique_ptr<Decoder> MakeHostNetwork(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<HostNetwork>(context);
}

constexpr DecoderEntry kDecoders[] = {
    row::OfHost(file::kHostMem, Kind::kHostMem, MakeHostMem),
    row::OfHost(file::kHostDisk, Kind::kHostDisk, MakeHostDisk),
    row::OfHost(file::kHostNetwork, Kind::kHostNetwork, MakeHostNetwork, "time "),
};

constexpr const Series* kSeries[] = {&kHostMemSeries, &kHostDiskSeries, &kHostNetworkSeries,
                                     &kHostPortSeries};

}  // namespace

namespace family {
Family HostIo() { return {.decoders = kDecoders, .series = kSeries}; }
}  // namespace family

}  // namespace profd::format
