// aicpu.data: what the AI CPUs of a device report of the kernels that they ran.
#include <cstddef>

#include "format/decode/family.h"
#include "format/decode/fixed.h"
#include "format/decode/rows.h"
#include "format/decode/tasks/task_log.h"
#include "format/kind.h"
#include "format/records/device.h"
#include "format/series.h"

namespace profd::format {

namespace {

// Kernels on AI CPUs, from when they began to run. dispatch: until then, total: until after it, both since
// the kernel was handed to its CPU.
const Series kAiCpuKernelSeries = {"aicpu_kernel",
                                   Kind::kAiCpu,
                                   {"stream", "task"},
                                   {{"compute", Unit::kNs},
                                    {"copy", Unit::kNs},
                                    {"run", Unit::kNs},
                                    {"dispatch", Unit::kNs},
                                    {"total", Unit::kNs}}};

// **Thread:** one.
class AiCpuKernels : public Decoder {
 public:
  explicit AiCpuKernels(const DecodeContext& context)
      : Decoder(context),
        rows_(kAiCpuKernelSeries, context),
        plain_ids_(Is950(context.side->chip)),
        ns_per_tick_(context.side->counter_mhz > 0 ? 1000 / context.side->counter_mhz : kNoValue) {}

  void Take(std::span<const std::byte> whole) override {
    EachRecord<AiCpuRecord>(whole, [this](const AiCpuRecord& record) {
      ++records_;
      const auto type = static_cast<AiCpuReport>(uint32_t{record.type});
      if (record.level == kAiCpuLevel && IsOfCollective(type)) return;  // read with the tasks
      if (record.level != kAiCpuLevel || type != AiCpuReport::kKernel)
        return Ignore("that are not of kernels");
      const auto kernel = Load<AiCpuKernel>(reinterpret_cast<const std::byte*>(record.data));
      if (kernel.begin_ticks == 0 || kernel.end_ticks == 0) return Ignore("of kernels that did not run");
      Add(kernel);
    });
  }
  void Finish() override { rows_.Flush(); }

 private:
  // As the analyser makes them (msparser/add_info/aicpu_add_info_bean.py).
  void Add(const AiCpuKernel& kernel) {
    const StarsIds ids =
        plain_ids_ ? StarsIds{kernel.stream, kernel.task} : StarsIdsOf(kernel.stream, kernel.task);
    rows_.Add(context().DeviceTicksToWall(kernel.begin_ticks), {ids.stream, ids.task},
              {OfUs(kernel.compute_us, kernel.copy_us), OfUs(kernel.copy_us, kernel.copied_us),
               OfTicks(kernel.begin_ticks, kernel.end_ticks), kernel.dispatch_us * 1e3,
               OfTicks(kernel.submit_ticks, kernel.after_ticks)});
  }
  // NaN: the end is before the begin.
  static double OfUs(uint64_t begin, uint64_t end) {
    return end >= begin ? static_cast<double>(end - begin) * 1e3 : kNoValue;
  }
  double OfTicks(uint64_t begin, uint64_t end) const {
    return end >= begin ? static_cast<double>(end - begin) * ns_per_tick_ : kNoValue;
  }

  Rows rows_;
  const bool plain_ids_;
  const double ns_per_tick_;
};

std::unique_ptr<Decoder> MakeAiCpuKernels(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<AiCpuKernels>(context);
}

bool IsReport(const std::byte* bytes) {
  const auto length = Load<uint32_t>(bytes + offsetof(AiCpuRecord, data_len));
  return check::All(Load<uint16_t>(bytes) == kReportMagic, length <= sizeof(AiCpuRecord::data));
}

constexpr FramingRow AiCpuRow() {
  FramingRow entry = row::Fixed<AiCpuRecord, IsReport>(chips::kAll, file::kAiCpu, StampDomain::kDeviceTicks,
                                                       offsetof(AiCpuRecord, ticks), Combine::kNone, 0);
  entry.format.trailer = "###drv_hashdata###";
  return entry;
}

constexpr FramingRow kFramings[] = {AiCpuRow()};

constexpr DecoderEntry kDecoders[] = {{.file = file::kAiCpu,
                                       .kind = Kind::kAiCpu,
                                       .stamp = StampDomain::kDeviceTicks,
                                       .vendor_chips = ~Only({Chip::kMdcV2, Chip::kMdcLiteV2}),
                                       .make = MakeAiCpuKernels}};

constexpr const Series* kSeries[] = {&kAiCpuKernelSeries};

}  // namespace

namespace family {
Family AiCpu() { return {.framings = kFramings, .decoders = kDecoders, .series = kSeries}; }
}  // namespace family

}  // namespace profd::format
