// ddr.data: bytes per period; npu_mem.app, npu_mem.data, npu_module_mem.data: memory in use.
#include <utility>

#include "format/decode/device_decoders.h"
#include "format/decode/device_series.h"
#include "format/decode/fixed.h"
#include "format/decode/rows.h"
#include "format/records/device.h"

namespace profd::format {

namespace {

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

}  // namespace

std::unique_ptr<Decoder> MakeDdr(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<Ddr>(context);
}
std::unique_ptr<Decoder> MakeNpuMem(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<NpuMem>(context);
}
std::unique_ptr<Decoder> MakeNpuModuleMem(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<NpuModuleMem>(context);
}

}  // namespace profd::format
