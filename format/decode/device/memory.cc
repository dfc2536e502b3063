// ddr.data: bytes per period; npu_mem.app, npu_mem.data, npu_module_mem.data: memory in use.
#include <utility>

#include "format/decode/family.h"
#include "format/decode/fixed.h"
#include "format/decode/rows.h"
#include "format/kind.h"
#include "format/records/device.h"
#include "format/series.h"

namespace profd::format {

namespace {

const Series kDdrSeries = {
    "ddr", Kind::kDdr, {}, {{"read", Unit::kBytesPerSecond}, {"write", Unit::kBytesPerSecond}}};
// device: 0 of the application, 1 of the device.
const Series kNpuMemSeries = {
    "npu_mem", Kind::kNpuMem, {"device"}, {{"ddr", Unit::kBytes}, {"hbm", Unit::kBytes}}};
const Series kNpuModuleMemSeries = {
    "npu_module_mem", Kind::kNpuModuleMem, {"module"}, {{"reserved", Unit::kBytes}}};

// Adds up all controllers and masters of a period. **Thread:** one.
class Ddr : public Decoder {
 public:
  explicit Ddr(const DecodeContext& context)
      : Decoder(context),
        bytes_per_count_(TraitsOf(context.side->chip).ddr_count_bytes),
        rows_(kDdrSeries, context) {}

  // The period that is cut here has no right sums, neither of its parts.
  void Lost() override {
    whole_ = false;
    lost_ = true;
  }
  void Take(std::span<const std::byte> whole) override {
    EachRecord<DdrRecord>(whole, [this](const DdrRecord& record) {
      ++records_;
      const uint64_t time_us = stamps_.Next(record.time_us);
      if (time_us != time_us_) {
        EndPeriod();
        time_us_ = time_us;
        if (std::exchange(lost_, false)) known_begin_ = whole_ = false;
      }
      open_ = true;
      counts_[record.event != 0] += record.count;
    });
  }
  void Finish() override {
    EndPeriod();
    rows_.Flush();
  }

 private:
  void EndPeriod() {
    if (!open_) return;
    open_ = false;
    // The first period began with the channel, of which the stamps do not tell.
    const bool known = (known_begin_ || context().vendor_compatible) && time_us_ > before_us_;
    const std::optional<uint64_t> ns = known ? std::optional((time_us_ - before_us_) * 1000) : std::nullopt;
    double rates[2];
    for (size_t i = 0; i < 2; ++i) {
      rates[i] = PerSecond(static_cast<double>(counts_[i]) * bytes_per_count_, ns);
      counts_[i] = 0;
    }
    if (time_us_ < before_us_) {
      Reject("stamp before that of the period in front");
    } else if (whole_) {
      rows_.Add(context().StartUsToWall(time_us_), {}, rates);
    }
    before_us_ = time_us_;
    known_begin_ = whole_ = true;
  }

  const double bytes_per_count_;
  Rows rows_;
  Unwrapped stamps_;
  uint64_t time_us_ = 0, before_us_ = 0;
  uint64_t counts_[2] = {0, 0};
  bool open_ = false, known_begin_ = false, whole_ = true, lost_ = false;
};

// **Thread:** one.
class NpuMem : public Decoder {
 public:
  explicit NpuMem(const DecodeContext& context) : Decoder(context), rows_(kNpuMemSeries, context) {}

  void Take(std::span<const std::byte> whole) override {
    if (context().side->records_v2) {
      EachRecord<NpuMemRecordV2>(whole,
                                 [this](const NpuMemRecordV2& record) { Add(record, record.time_us); });
      return;
    }
    EachRecord<NpuMemRecord>(whole, [this](const NpuMemRecord& record) {
      // Some drivers put the whole stamp into the reserved field.
      const bool whole_stamp =
          record.reserved >> 32 != 0 && static_cast<uint32_t>(record.reserved) == record.time_us;
      const uint64_t unwrapped = stamps_.Next(record.time_us);
      Add(record, whole_stamp ? record.reserved : unwrapped);
    });
  }
  void Finish() override { rows_.Flush(); }

 private:
  template <typename Record>
  void Add(const Record& record, uint64_t time_us) {
    ++records_;
    rows_.Add(context().StartUsToWall(time_us), {record.event != 0},
              {static_cast<double>(record.ddr_bytes), static_cast<double>(record.hbm_bytes)});
  }

  Rows rows_;
  Unwrapped stamps_;
};

// **Thread:** one.
class NpuModuleMem : public Decoder {
 public:
  explicit NpuModuleMem(const DecodeContext& context)
      : Decoder(context), rows_(kNpuModuleMemSeries, context) {}

  void Take(std::span<const std::byte> whole) override {
    EachRecord<NpuModuleMemRecord>(whole, [this](const NpuModuleMemRecord& record) {
      ++records_;
      rows_.Add(context().HostCounterToWall(record.time), {record.module},
                {static_cast<double>(record.bytes)});
    });
  }
  void Finish() override { rows_.Flush(); }

 private:
  Rows rows_;
};

std::unique_ptr<Decoder> MakeDdr(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<Ddr>(context);
}
std::unique_ptr<Decoder> MakeNpuMem(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<NpuMem>(context);
}
std::unique_ptr<Decoder> MakeNpuModuleMem(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<NpuModuleMem>(context);
}

bool IsDdr(const std::byte* bytes) {
  const auto record = Load<DdrRecord>(bytes);
  return check::All(record.event <= 1, record.controller < check::kMostIds,
                    check::Any(record.master == check::kAllMasters, record.master < check::kMostPorts));
}

bool IsNpuMem(const std::byte* bytes) {
  const auto record = Load<NpuMemRecord>(bytes);
  // Record version 1 has its stamp in the first field and nothing, or the same stamp in full, in the third.
  const bool reserved =
      check::Any(record.reserved == 0, static_cast<uint32_t>(record.reserved) == record.time_us);
  return check::All(record.time_us != 0, record.event <= 1, reserved, record.ddr_bytes < check::kMostBytes,
                    record.hbm_bytes < check::kMostBytes);
}

bool IsNpuModuleMem(const std::byte* bytes) {
  const auto record = Load<NpuModuleMemRecord>(bytes);
  return check::All(record.module < check::kMostPorts, record.memory_type < check::kMostPorts,
                    check::IsTicks(record.time), record.bytes < check::kMostBytes);
}

constexpr StreamFormat kNpuMemV2 =
    v2::Format<NpuMemRecordV2>(file::kNpuMem, StampDomain::kStartUs64, offsetof(NpuMemRecordV2, time_us),
                               v2::Plausible<NpuMemRecordV2, nullptr>);

constexpr FramingRow kFramings[] = {
    row::With(row::Fixed<DdrRecord, IsDdr>(chips::kAll, file::kDdr, StampDomain::kStartUs32,
                                           offsetof(DdrRecord, time_us), Combine::kSum, 0),
              {offsetof(DdrRecord, event), 12, offsetof(DdrRecord, count), 4, 1}, {chips::kAll, 4}),
    row::With(row::Fixed<NpuMemRecord, IsNpuMem>(chips::kAll, file::kNpuMem, StampDomain::kStartUs32,
                                                 offsetof(NpuMemRecord, time_us), Combine::kThin, 1),
              {offsetof(NpuMemRecord, event), 4}),
    row::With(row::Fixed<NpuMemRecord, IsNpuMem>(chips::kAll, file::kNpuAppMem, StampDomain::kStartUs32,
                                                 offsetof(NpuMemRecord, time_us), Combine::kThin, 1),
              {offsetof(NpuMemRecord, event), 4}),
    row::With(row::Fixed<NpuModuleMemRecord, IsNpuModuleMem>(
                  chips::kAll, file::kNpuModuleMem, StampDomain::kHostCounter,
                  offsetof(NpuModuleMemRecord, time), Combine::kThin, 0),
              {0, 8}, {chips::kAll, 4}),
};

constexpr DecoderEntry kDecoders[] = {
    {.file = file::kDdr,
     .kind = Kind::kDdr,
     .stamp = StampDomain::kStartUs32,
     .vendor_chips = chips::kBeforeStars | chips::k310BLike,
     .in_order = true,
     .make = MakeDdr},
    {.file = file::kNpuAppMem,
     .kind = Kind::kNpuAppMem,
     .stamp = StampDomain::kStartUs32,
     .vendor_chips = (chips::kBeforeStars & ~Only({Chip::kMdc})) | chips::kWithBothCores,
     .format_v2 = &kNpuMemV2,
     .in_order = true,
     .make = MakeNpuMem},
    {.file = file::kNpuMem,
     .kind = Kind::kNpuMem,
     .stamp = StampDomain::kStartUs32,
     .vendor_chips = (chips::kBeforeStars & ~Only({Chip::kMdc})) | chips::kWithBothCores,
     .format_v2 = &kNpuMemV2,
     .in_order = true,
     .make = MakeNpuMem},
    {.file = file::kNpuModuleMem,
     .kind = Kind::kNpuModuleMem,
     .stamp = StampDomain::kHostCounter,
     .vendor_chips = ~chips::k310,
     .make = MakeNpuModuleMem},
};

constexpr const Series* kSeries[] = {&kDdrSeries, &kNpuMemSeries, &kNpuModuleMemSeries};

}  // namespace

namespace family {
Family Memory() { return {.framings = kFramings, .decoders = kDecoders, .series = kSeries}; }
}  // namespace family

}  // namespace profd::format
