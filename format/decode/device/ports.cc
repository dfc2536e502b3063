// nic.data, roce.data, netdev_stats.data: network ports.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "format/decode/family.h"
#include "format/decode/fixed.h"
#include "format/decode/framing.h"
#include "format/decode/line_decoder.h"
#include "format/decode/rows.h"
#include "format/decode/text_time.h"
#include "format/kind.h"
#include "format/records/device.h"
#include "format/series.h"

namespace profd::format {

namespace {

// speed: of the port. packets, bytes, errors, dropped: running totals; the rates are the driver's.
// efficiency: of the speed; error and dropped rate: of all packets so far.
Series PortSeries(Kind kind) {
  return {NameOf(kind),
          kind,
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
const Series kNicSeries = PortSeries(Kind::kNic);
const Series kRoceSeries = PortSeries(Kind::kRoce);
// Of the interval that ends at the stamp.
const Series kNetdevSeries = {"netdev",
                              Kind::kNetdev,
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

constexpr double kBytesPerMegabit = (1 << 20) / 8.0;

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

// **Thread:** one.
class Port : public TableDecoder {
 public:
  // `needs_port`: the vendor's parser leaves out lines without a port.
  Port(const DecodeContext& context, const Series& series, bool needs_port)
      : TableDecoder(context), needs_port_(needs_port && context.vendor_compatible), rows_(series, context) {}

  void Finish() override { rows_.Flush(); }

 protected:
  void Row(std::string_view line) override {
    Words words(line);
    const auto time_ns = TextTimeNs(words.Next());
    std::array<double, kNumbers> numbers{};
    for (double& number : numbers) {
      const auto value = ToDouble(words.Next());
      if (!value || !(*value >= 0 && *value < 1e20)) return Reject("line that is none of this kind");
      number = *value;
    }
    int64_t port = 0;
    size_t columns = 1 + kNumbers;
    if (const std::string_view word = words.Next(); !word.empty()) {
      const auto number = ToNumber<int64_t>(word);
      if (!number) return Reject("line that is none of this kind");
      port = *number;
      ++columns;
    } else if (needs_port_) {
      return Reject("line without a port");
    }
    columns += words.Next().empty() ? 0 : 1;  // the type of the port
    if (std::exchange(columns_, columns) > columns)
      return Reject("line with fewer columns than the one in front");
    if (!time_ns || !words.Next().empty()) return Reject("line that is none of this kind");
    if (Shrinks(port, numbers) && !context().vendor_compatible) {
      return Reject("total below that of the line in front");
    }
    Add(*time_ns, port, numbers);
  }

 private:
  // speed, then six of what came in and six of what went out: packets/s bytes/s packets bytes errors dropped.
  static constexpr size_t kNumbers = 13;
  static constexpr size_t kMostPorts = 256;

  // A counter began anew, or a digit is gone.
  bool Shrinks(int64_t port, const std::array<double, kNumbers>& numbers) {
    if (before_.size() >= kMostPorts && !before_.contains(port)) return false;
    const auto [found, fresh] = before_.try_emplace(port, numbers);
    const std::array<double, kNumbers> before = std::exchange(found->second, numbers);
    bool shrinks = false;
    for (const size_t total : {3, 4, 5, 6, 9, 10, 11, 12})
      shrinks = shrinks || numbers[total] < before[total];
    return shrinks;
  }

  void Add(uint64_t time_ns, int64_t port, const std::array<double, kNumbers>& numbers) {
    std::array<double, kNumbers + 6> values;
    std::copy(numbers.begin(), numbers.end(), values.begin());
    values[0] *= kBytesPerMegabit;
    for (size_t way = 0; way < 2; ++way) {
      const double* of_way = values.data() + 1 + way * 6;
      double* derived = values.data() + kNumbers + way * 3;
      derived[0] = Ratio(of_way[1], values[0]);
      derived[1] = Ratio(of_way[4], of_way[2]);
      derived[2] = Ratio(of_way[5], of_way[2]);
    }
    rows_.Add(context().DeviceNsToWall(time_ns), {port}, values);
  }

  const bool needs_port_;
  Rows rows_;
  size_t columns_ = 0;
  std::map<int64_t, std::array<double, kNumbers>> before_;
};

// Running totals on the host's clock. **Thread:** one.
class Netdev : public TableDecoder {
 public:
  explicit Netdev(const DecodeContext& context) : TableDecoder(context), rows_(kNetdevSeries, context) {}

  void Lost() override { has_before_ = false; }
  void Finish() override { rows_.Flush(); }

 protected:
  void Row(std::string_view line) override {
    Words words(line);
    Totals now;
    for (uint64_t& total : now) {
      const auto number = ToNumber<uint64_t>(words.Next());
      if (!number) return Reject("line that is none of this kind");
      total = *number;
    }
    if (!words.Next().empty()) return Reject("line that is none of this kind");
    if (std::exchange(has_before_, true)) Pair(now);
    before_ = now;
  }

 private:
  // The stamp, then 15 totals.
  using Totals = std::array<uint64_t, 16>;

  void Pair(const Totals& now) {
    if (now[0] <= before_[0]) return Reject("stamp not behind that of the line in front");
    const std::optional<uint64_t> ns = now[0] - before_[0];
    std::array<double, 19> values;
    size_t column = 0;
    for (size_t i = 1; i < now.size(); ++i) {
      if (now[i] < before_[i]) return Reject("total below that of the line in front");
      const double moved = static_cast<double>(now[i] - before_[i]);
      values[column++] = moved;
      if (HasRate(i)) values[column++] = PerSecond(moved, ns);
    }
    rows_.Add(context().HostRawToWall(now[0]), {}, values);
  }
  // Bytes of the MAC and of the NIC, both ways.
  static bool HasRate(size_t i) { return i == 3 || i == 4 || i >= 14; }

  Rows rows_;
  Totals before_{};
  bool has_before_ = false;
};

std::unique_ptr<Decoder> MakeNic(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<Port>(context, kNicSeries, false);
}
std::unique_ptr<Decoder> MakeRoce(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<Port>(context, kRoceSeries, true);
}
std::unique_ptr<Decoder> MakeNetdev(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<Netdev>(context);
}

constexpr FramingRow kFramings[] = {
    row::With(row::Timed(file::kNic, 14, 16, kNetHeader), {14, 1}, {chips::kAll, 1, 100}),
    row::With(row::Timed(file::kRoce, 15, 16, kNetHeader), {14, 1}, {chips::kAll, 1, 120}),
    row::With(row::Lines(chips::kAll, file::kNetdev, 16, 16), {}, {chips::kAll, 1, 150}),
};

constexpr DecoderEntry kDecoders[] = {
    {.file = file::kNic,
     .kind = Kind::kNic,
     .by = DecoderEntry::By::kLine,
     .stamp = StampDomain::kTextDeviceNs,
     .vendor_chips = chips::kVendorNic,
     .make = MakeNic},
    {.file = file::kRoce,
     .kind = Kind::kRoce,
     .by = DecoderEntry::By::kLine,
     .stamp = StampDomain::kTextDeviceNs,
     .vendor_chips = Only({Chip::k310, Chip::k910, Chip::k910B}),
     .vendor_reads_last_slice_only = true,
     .make = MakeRoce},
    {.file = file::kNetdev,
     .kind = Kind::kNetdev,
     .by = DecoderEntry::By::kLine,
     .vendor_chips = chips::kVendorNetdev,
     .make = MakeNetdev},
};

constexpr const Series* kSeries[] = {&kNicSeries, &kRoceSeries, &kNetdevSeries};

}  // namespace

namespace family {
Family Ports() { return {.framings = kFramings, .decoders = kDecoders, .series = kSeries}; }
}  // namespace family

}  // namespace profd::format
