// qos.data and stars_soc_profile.data: what the chip samples of itself.
#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include "format/decode/device/core_freq.h"
#include "format/decode/family.h"
#include "format/decode/fixed.h"
#include "format/decode/rows.h"
#include "format/kind.h"
#include "format/records/device.h"
#include "format/records/tasks.h"
#include "format/series.h"

namespace profd::format {

namespace {

// stream: place in the list of what was asked for; its label is the name.
const Series kQosSeries = {"qos", Kind::kQos, {"stream", "die"}, {{"bandwidth", Unit::kBytesPerSecond}}};
const Series kSioSeries = {"sio",
                           Kind::kSocProfile,
                           {"die"},
                           {{"req_rx", Unit::kBytesPerSecond},
                            {"rsp_rx", Unit::kBytesPerSecond},
                            {"snp_rx", Unit::kBytesPerSecond},
                            {"dat_rx", Unit::kBytesPerSecond},
                            {"req_tx", Unit::kBytesPerSecond},
                            {"rsp_tx", Unit::kBytesPerSecond},
                            {"snp_tx", Unit::kBytesPerSecond},
                            {"dat_tx", Unit::kBytesPerSecond}}};
const Series kAccPmuSeries = {"acc_pmu",
                              Kind::kSocProfile,
                              {"unit"},
                              {{"read_bandwidth", Unit::kNone},
                               {"write_bandwidth", Unit::kNone},
                               {"read_ost", Unit::kNone},
                               {"write_ost", Unit::kNone}}};
const Series kPaLinkSeries = {
    "pa_link", Kind::kSocProfile, {"link"}, {{"rx", Unit::kNone}, {"tx", Unit::kNone}}};
const Series kPcieLinkSeries = {
    "pcie_link", Kind::kSocProfile, {"link"}, {{"write", Unit::kNone}, {"read", Unit::kNone}}};
const Series kSocInfoSeries = {
    "soc_info", Kind::kSocProfile, {}, {{"l2_buffer", Unit::kNone}, {"mata", Unit::kNone}}};

constexpr double kMb = 1 << 20;
constexpr double kHzPerMhz = 1e6;
constexpr size_t kQosStreams = 10;
constexpr int64_t kNoDie = -1;
constexpr int64_t kLastComputeDie = 1;  // of a 950; behind them are dies without cores

// What a die is called.
std::string_view DieName(bool is_950, int64_t die) {
  constexpr std::string_view kNames[] = {"die 0", "die 1"}, k950[] = {"D-DIE0", "D-DIE1", "U-DIE0", "U-DIE1"};
  const std::span<const std::string_view> names =
      is_950 ? std::span<const std::string_view>(k950) : std::span<const std::string_view>(kNames);
  return die >= 0 && static_cast<size_t>(die) < names.size() ? names[static_cast<size_t>(die)]
                                                             : std::string_view();
}

// Bandwidths in the order of the names in sample.json. **Thread:** one.
class QosRows {
 public:
  explicit QosRows(const DecodeContext& context) : rows_(kQosSeries, context) {
    const auto& names = context.side->qos_events;
    streams_ =
        names.empty() && !context.vendor_compatible ? kQosStreams : std::min(names.size(), kQosStreams);
    for (size_t i = 0; i < std::min(names.size(), streams_); ++i) {
      rows_.Label(0, static_cast<int64_t>(i), names[i]);
    }
  }
  template <size_t kStreams>
  void Add(uint64_t wall_ns, int64_t die, std::array<uint32_t, kStreams> mb_s) {
    for (size_t i = 0; i < std::min(streams_, kStreams); ++i) {
      rows_.Add(wall_ns, {static_cast<int64_t>(i), die}, {mb_s[i] * kMb});
    }
  }
  void Flush() { rows_.Flush(); }

 private:
  Rows rows_;
  size_t streams_ = 0;
};

// **Thread:** one.
class Qos : public Decoder {
 public:
  explicit Qos(const DecodeContext& context) : Decoder(context), rows_(context) {}

  void Take(std::span<const std::byte> whole) override {
    EachRecord<QosRecord>(whole, [this](const QosRecord& record) {
      ++records_;
      rows_.Add(context().DeviceTicksToWall(record.ticks), kNoDie, std::to_array(record.bandwidth_mb_s));
    });
  }
  void Finish() override { rows_.Flush(); }

 private:
  QosRows rows_;
};

// Six types of records in one stream. **Thread:** one.
class Stars : public Decoder {
 public:
  explicit Stars(const DecodeContext& context)
      : Decoder(context),
        is_950_(Is950(context.side->chip)),
        qos_(context),
        sio_(kSioSeries, context),
        acc_pmu_(kAccPmuSeries, context),
        pa_link_(kPaLinkSeries, context),
        pcie_link_(kPcieLinkSeries, context),
        soc_info_(kSocInfoSeries, context),
        core_freq_(kCoreFreqSeries, context) {}

  void Lost() override { sio_before_.clear(); }
  void Take(std::span<const std::byte> whole) override {
    for (; whole.size() >= sizeof(StarsSioRecord); whole = whole.subspan(sizeof(StarsSioRecord))) {
      ++records_;
      One(whole.data());
    }
  }
  void Finish() override {
    qos_.Flush();
    for (Rows* rows : {&sio_, &acc_pmu_, &pa_link_, &pcie_link_, &soc_info_, &core_freq_}) rows->Flush();
  }

 private:
  void One(const std::byte* bytes) {
    const auto head = Load<StarsHeader>(bytes);
    if (head.magic != kStarsMagic) return Reject("without the mark of its kind");
    const uint64_t wall_ns = context().DeviceTicksToWall(head.ticks);
    const int64_t tag = head.header >> 10;
    switch (static_cast<StarsType>(head.header & 0x3F)) {
      case StarsType::kQos: {
        const auto record = Load<StarsQosRecord>(bytes);
        return qos_.Add(wall_ns, tag, std::to_array(record.bandwidth_mb_s));
      }
      case StarsType::kSio:
        return Sio(bytes, wall_ns, tag);
      case StarsType::kAccPmu: {
        const auto record = Load<StarsAccPmuRecord>(bytes);
        return acc_pmu_.Add(
            wall_ns, {record.unit},
            {static_cast<double>(record.read_bandwidth), static_cast<double>(record.write_bandwidth),
             static_cast<double>(record.read_outstanding), static_cast<double>(record.write_outstanding)});
      }
      case StarsType::kChipTrans:
        return ChipTrans(bytes, wall_ns, tag);
      case StarsType::kSocInfo: {
        const uint16_t levels = Load<StarsSocInfoRecord>(bytes).levels;
        constexpr uint16_t kL2Bits = 0x7, kMataBits = 0xFF;
        return soc_info_.Add(
            wall_ns, {},
            {static_cast<double>(levels & kL2Bits), static_cast<double>(levels >> 3 & kMataBits)});
      }
      case StarsType::kLowPower: {
        if (tag > kLastComputeDie) return Ignore("of the power of a die without cores");
        const uint16_t mhz = Load<StarsLowPowerRecord>(bytes).info[kLowPowerAicMhz ^ 1];
        return core_freq_.Add(wall_ns, {tag}, {mhz * kHzPerMhz});
      }
    }
    Ignore("of a type whose meaning is not known");
  }

  // Bytes of the period; a die's first record only starts the clock.
  void Sio(const std::byte* bytes, uint64_t wall_ns, int64_t tag) {
    double moved[8];
    int64_t die = tag;
    if (is_950_) {
      const auto record = Load<StarsSioRecord950>(bytes);
      for (size_t i = 0; i < 4; ++i) {
        moved[i] = record.value[1 + i];
        moved[4 + i] = record.value[6 + i];
      }
    } else {
      const auto record = Load<StarsSioRecord>(bytes);
      die = record.die;
      const uint32_t all[] = {record.rx_req, record.rx_rsp, record.rx_snp, record.rx_dat,
                              record.tx_req, record.tx_rsp, record.tx_snp, record.tx_dat};
      std::copy(std::begin(all), std::end(all), moved);
    }
    if (sio_before_.size() >= kMostDies && !sio_before_.contains(die))
      return Reject("of more dies than any chip has");
    const auto [before, fresh] = sio_before_.try_emplace(die);
    if (const auto name = DieName(is_950_, die); fresh && !name.empty()) sio_.Label(0, die, name);
    const auto ns = before->second.Next(wall_ns);
    if (!ns) return;
    if (*ns == 0) return Reject("stamp not behind that of the record in front");
    for (double& value : moved) value = PerSecond(value, ns);
    sio_.Add(wall_ns, {die}, moved);
  }

  void ChipTrans(const std::byte* bytes, uint64_t wall_ns, int64_t tag) {
    constexpr int64_t kPaLink = 0b111111, kPcie = 0b100010;
    constexpr uint16_t kLinkBits = 0x3F;
    constexpr uint64_t kNoBandwidth = UINT64_MAX;
    if (is_950_) {
      const auto record = Load<StarsChipTransRecord950>(bytes);
      if (record.write == kNoBandwidth || record.read == kNoBandwidth)
        return Ignore("of a link without a value");
      return pcie_link_.Add(wall_ns, {tag},
                            {static_cast<double>(record.write), static_cast<double>(record.read)});
    }
    const auto record = Load<StarsChipTransRecord>(bytes);
    const int64_t link = record.link & kLinkBits;
    const double first = static_cast<double>(record.rx_or_write);
    const double second = static_cast<double>(record.tx_or_read);
    if (tag == kPaLink) return pa_link_.Add(wall_ns, {link}, {first, second});
    if (tag == kPcie) return pcie_link_.Add(wall_ns, {link}, {first, second});
    Ignore("of a link whose meaning is not known");
  }

  static constexpr size_t kMostDies = 64;

  const bool is_950_;
  QosRows qos_;
  Rows sio_, acc_pmu_, pa_link_, pcie_link_, soc_info_, core_freq_;
  std::map<int64_t, Elapsed> sio_before_;
};

std::unique_ptr<Decoder> MakeQos(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<Qos>(context);
}
std::unique_ptr<Decoder> MakeStars(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<Stars>(context);
}

bool IsQos(const std::byte* bytes) {
  const auto other_time = Load<uint64_t>(bytes + offsetof(QosRecord, reserved_time));
  constexpr size_t kValues = std::size(QosRecord{}.bandwidth_mb_s);
  const uint32_t all =
      check::AnyBits<2>(bytes) | check::AnyBits<kValues>(bytes + offsetof(QosRecord, bandwidth_mb_s));
  return check::All(check::IsTicks(Load<uint64_t>(bytes + offsetof(QosRecord, ticks))),
                    all < check::kMostMbPerS, check::Any(other_time == 0, check::IsTicks(other_time)));
}

constexpr FramingRow kFramings[] = {
    row::Fixed<QosRecord, IsQos>(chips::kAll, file::kQos, StampDomain::kDeviceTicks,
                                 offsetof(QosRecord, ticks), Combine::kThin, 1),
    // Types with different meanings share the stream (counts of a period, levels): no single way to combine
    // them.
    row::With(
        row::Fixed<StarsSioRecord, row::IsStars>(chips::kAll, file::kSocProfile, StampDomain::kDeviceTicks,
                                                 offsetof(StarsHeader, ticks), Combine::kNone, 0),
        {}, {chips::k950, 15}, {Only({Chip::k310B}), 5}, {chips::kAll, 9}),
};

constexpr DecoderEntry kDecoders[] = {
    {.file = file::kQos,
     .kind = Kind::kQos,
     .stamp = StampDomain::kDeviceTicks,
     .vendor_chips = chips::k910B,
     .in_order = true,
     .make = MakeQos},
    {.file = file::kSocProfile,
     .kind = Kind::kSocProfile,
     .stamp = StampDomain::kDeviceTicks,
     .vendor_chips = chips::kWithBothCores,
     .make = MakeStars},
};

constexpr const Series* kSeries[] = {&kQosSeries,    &kSioSeries,      &kAccPmuSeries,
                                     &kPaLinkSeries, &kPcieLinkSeries, &kSocInfoSeries};

}  // namespace

namespace family {
Family Soc() { return {.framings = kFramings, .decoders = kDecoders, .series = kSeries}; }
}  // namespace family

}  // namespace profd::format
